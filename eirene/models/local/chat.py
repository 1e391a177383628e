"""A local model as a LangChain chat model, so that what asks a chat model can ask one that runs in this process."""

from __future__ import annotations

import math
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from pydantic import PrivateAttr

from eirene.core.loop_settings import Structured
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel
from eirene.models.costs import Price
from eirene.models.gguf.chat import ROLES, ChatInProcess, chat_result
from eirene.models.local.model import LocalModel
from eirene.models.replies import Reply, Tokens
from eirene.models.structured import ReplyForm
from eirene.prompts import Message

_TOKENS = 1024


class ChatLocal(ChatInProcess):
    """A loaded model by its chat template, or as plain text where it has none. `n` replies have one reading.

    The same seed gives the same replies; reply i of a request has seed + i. Token probabilities are those of the first
    token, and are given where `max_tokens` is 1.
    """

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

    async def _answered(self, messages: list[BaseMessage], stop: list[str] | None) -> ChatResult:
        ids = self._local.encode_messages([Message(ROLES[m.type], str(m.text)) for m in messages])
        meter, found = Meter(), None
        if self.top_logprobs and self.max_tokens == 1:
            found = await self._local.next_tokens(ids, top=self.top_logprobs, meter=meter)
            replies = [Reply(found[0][0], "length")]
        else:
            first = self.seed or 0
            seeds = range(first, first + (self.n or 1))
            replies = await self._local.draw(ids, seeds, sampling=self._sampling(), meter=meter)
        used = meter.total
        logprobs = {} if found is None else {"logprobs": {"content": [_first_token(found)]}}
        told = [AIMessage(r.text, response_metadata={"finish_reason": r.finish_reason, **logprobs}) for r in replies]
        return chat_result(told, Tokens(used.input_tokens, used.output_tokens, used.cached_tokens))

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


def chat_of(local: LocalModel, *, structured: Structured = "auto") -> ChatModel:
    """The call layer around a local model: it costs nothing, and has no time limit, as a next attempt takes as long."""
    return ChatModel(
        ChatLocal(local), name=local.name, timeout_s=math.inf, price=Price(0.0, 0.0), structured=structured
    )
