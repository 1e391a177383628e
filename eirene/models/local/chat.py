"""A local model as a LangChain chat model, so that what asks a chat model can ask one that runs in this process."""

from __future__ import annotations

import math
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from eirene.core.loop_settings import Structured
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel
from eirene.models.costs import Price
from eirene.models.local.model import LocalModel
from eirene.models.replies import Reply
from eirene.models.structured import ReplyForm
from eirene.prompts import Message

_ROLES: Any = {"system": "system", "human": "user", "ai": "assistant"}
_TOKENS = 1024


class ChatLocal(BaseChatModel):
    """A loaded model by its chat template, or as plain text where it has none. `n` replies have one reading.

    The same seed gives the same replies; reply i of a request has seed + i. Token probabilities are those of the first
    token, and are given where `max_tokens` is 1.
    """

    model: str
    n: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    response_format: dict[str, Any] | None = None
    max_tokens: int | None = None
    _local: LocalModel = PrivateAttr()

    def __init__(self, local: LocalModel, **settings: Any) -> None:
        fields: dict[str, Any] = {"model": local.name, **settings}
        super().__init__(**fields)
        self._local = local

    @property
    def digest(self) -> str | None:
        """What stands for the weights."""
        return self._local.version

    @property
    def _llm_type(self) -> str:
        return "hf"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "digest": self._local.version}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("a local model is asked by `ainvoke`")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        ids = self._local.encode_messages([Message(_ROLES[m.type], str(m.text)) for m in messages])
        meter, found = Meter(), None
        if self.top_logprobs and self.max_tokens == 1:
            found = await self._local.next_tokens(ids, top=self.top_logprobs, meter=meter)
            replies = [Reply(found[0][0], "length")]
        else:
            first = self.seed or 0
            seeds = range(first, first + (self.n or 1))
            replies = await self._local.draw(ids, seeds, sampling=self._sampling(), meter=meter)
        used = meter.total
        usage = {
            "input_tokens": used.input_tokens, "output_tokens": used.output_tokens,
            "total_tokens": used.input_tokens + used.output_tokens,
            "input_token_details": {"cache_read": used.cached_tokens},
        }  # fmt: skip
        logprobs = None if found is None else {"content": [_first_token(found)]}
        return ChatResult(generations=[_generation(reply, usage, logprobs) for reply in replies])

    def _sampling(self) -> Any:
        from eirene.models.local.sampling import LocalSampling

        grammar = None
        if self.response_format is not None:
            form = self.response_format["json_schema"]
            grammar = ReplyForm.of(form["name"], form["schema"]).grammar
        temperature, top_p = (1.0 if value is None else value for value in (self.temperature, self.top_p))
        return LocalSampling(
            max_new_tokens=self.max_tokens or _TOKENS, temperature=temperature, top_p=top_p, grammar=grammar
        )


def _first_token(found: list[tuple[str, float]]) -> dict[str, Any]:
    """The likeliest token with those after it, in OpenAI's form."""
    top = [{"token": text, "logprob": logprob} for text, logprob in found]
    return {**top[0], "top_logprobs": top}


def _generation(reply: Reply, usage: dict[str, Any], logprobs: object) -> ChatGeneration:
    metadata = {"finish_reason": reply.finish_reason, **({} if logprobs is None else {"logprobs": logprobs})}
    message: Any = AIMessage(reply.text, response_metadata=metadata, usage_metadata=usage)
    return ChatGeneration(message=message)


def chat_of(local: LocalModel, *, structured: Structured = "auto") -> ChatModel:
    """The call layer around a local model: it costs nothing, and has no time limit, as a next attempt takes as long."""
    return ChatModel(
        ChatLocal(local), name=local.name, timeout_s=math.inf, price=Price(0.0, 0.0), structured=structured
    )
