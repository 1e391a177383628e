"""A GGUF model as a LangChain chat model, so that every role that calls one can be given it."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from eirene.models.gguf.engine import Choice, Completion, GgufEngine, load_engine
from eirene.models.gguf.spec import PREFIX, parse_gguf
from eirene.models.gguf.trial import SLOTS
from eirene.models.structured import ReplyForm, most_tokens

_ROLES = {"system": "system", "human": "user", "ai": "assistant"}


class ChatGguf(BaseChatModel):
    """Any GGUF file in this process, with its own chat template; `n` replies come from one reading of the prompt.

    `model` is `PATH[?threads=N&context=N&tokens=N][#TEMPLATE]`. The same seed gives the same replies; reply i of a
    request has seed + i. `max_tokens` bounds a reply in text; one that is held to a schema (`response_format`, as
    OpenAI has it) has what its longest form takes. Raises `MissingExtraError`, and `InputError` for a file that
    cannot be used.
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
    _engine: GgufEngine = PrivateAttr()
    _tokens: int = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Loads the file, or finds it loaded."""
        super().model_post_init(context)
        spec = parse_gguf(PREFIX + self.model)
        self._tokens = spec.tokens
        self._engine = load_engine(replace(spec, tokens=0))  # which is nothing of the engine's

    @property
    def digest(self) -> str:
        """What stands for the weights."""
        return self._engine.digest

    @property
    def _llm_type(self) -> str:
        return "gguf"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "digest": self._engine.digest}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        never = threading.Event()
        return _result([self._engine.submit(body, never)() for body in self._bodies(messages, stop)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        stopped = threading.Event()
        try:
            waits = [self._engine.submit(body, stopped) for body in self._bodies(messages, stop)]
            return _result([await asyncio.to_thread(wait) for wait in waits])
        finally:
            stopped.set()  # one that is cancelled must not write on

    def _bodies(self, messages: list[BaseMessage], stop: list[str] | None) -> list[dict[str, Any]]:
        """The requests: one, or as many as it takes for so many replies to have room in the context."""
        longest = self.max_tokens or self._tokens
        if self.response_format is not None:
            longest = most_tokens(self.response_format["json_schema"]["schema"])
        # A token has two bytes or more in any text worth reading; the context must not run over, which ends all.
        prompt = sum(len(str(m.text).encode()) for m in messages) // 2
        at_once = max(1, min(SLOTS, (self._engine.context - prompt) // longest))
        fields = {
            "messages": [{"role": _ROLES.get(m.type, m.type), "content": str(m.text)} for m in messages],
            "temperature": self.temperature,
            "top_p": self.top_p,
            "stop": stop,
            "logprobs": True,  # they are the count of tokens
            "top_logprobs": max(1, self.top_logprobs or 0),
            "max_tokens": longest,
            "chat_template_kwargs": {"enable_thinking": False},
            **self._held_to(),
        }
        body = {name: value for name, value in fields.items() if value is not None}
        first, wanted = self.seed or 0, self.n or 1
        return [
            {**body, "n": min(at_once, wanted - at), "seed": (first + at) % 2**32} for at in range(0, wanted, at_once)
        ]

    def _held_to(self) -> dict[str, Any]:
        if self.response_format is None:
            return {}
        form = self.response_format["json_schema"]
        if not self._engine.takes_llguidance:
            return {"response_format": self.response_format}
        return {"grammar": ReplyForm(form["name"], json.dumps(form["schema"])).grammar}


def _result(completions: list[Completion]) -> ChatResult:
    """What LangChain makes of the replies; the usage of the whole request stands on each of them, as OpenAI's does."""
    choices = [choice for completion in completions for choice in completion.choices]
    read = sum(completion.input_tokens for completion in completions)
    written = sum(len(choice.tokens) for choice in choices)
    usage = {
        "input_tokens": read,
        "output_tokens": written,
        "total_tokens": read + written,
        "input_token_details": {"cache_read": sum(completion.cached_tokens for completion in completions)},
    }
    return ChatResult(generations=[_generation(choice, usage) for choice in choices])


def _generation(choice: Choice, usage: dict[str, Any]) -> ChatGeneration:
    metadata = {"finish_reason": choice.finish_reason, "logprobs": {"content": choice.tokens}}
    message = AIMessage("".join(choice.text), response_metadata=metadata, usage_metadata=usage)
    return ChatGeneration(message=message)
