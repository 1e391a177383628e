"""Scripted chat model: a LangChain chat model with replies from a script, for tests and dry runs."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from eirene.core.errors import InputError, ScriptExhaustedError
from eirene.core.validation import described as shown
from eirene.core.validation import form_errors

Step = str | AIMessage | Exception
Script = Sequence[Step] | Callable[[list[BaseMessage]], Step]


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One request that came: its messages, how many replies it asked for, and the settings that came with it."""

    messages: tuple[BaseMessage, ...]
    n: int
    settings: dict[str, Any]

    @property
    def text(self) -> str:
        """The messages' texts, one under the other."""
        return "\n".join(str(m.text) for m in self.messages)


class ScriptedChatModel(BaseChatModel):
    """Gives the scripted replies one after the other, or what a function makes of the messages.

    A step is a text, an `AIMessage` (whose `response_metadata` may hold a `finish_reason`) or an exception, which is
    raised and ends the request. `n` steps are taken for a request with `n`. All copies share script and `calls`.
    Tokens are counted as words, and like OpenAI's the whole request's usage stands on each of its replies.
    Raises `ScriptExhaustedError` when the list runs out: it never starts again from the top.
    """

    script: Any
    n: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    _left: deque[Step] = PrivateAttr(default_factory=deque)
    _calls: list[ScriptedCall] = PrivateAttr(default_factory=list)

    def __init__(self, script: Script, **settings: Any) -> None:
        fields: dict[str, Any] = {"script": script, **settings}
        if not callable(script) and (isinstance(script, str) or not isinstance(script, Sequence)):
            raise InputError(f"script must be a list of replies or a function, got {shown(script)}", field="script")
        with form_errors(type(self), fields):
            super().__init__(**fields)
        if not callable(script):
            self._left.extend(script)

    def bind_tools(self, tools: Sequence[Any], **settings: Any) -> Runnable[Any, AIMessage]:
        """The model with tools, which `calls` then shows in OpenAI's form; what is called with them the script says."""
        described = [convert_to_openai_tool(tool) for tool in tools]
        return cast("Runnable[Any, AIMessage]", self.bind(tools=described, **settings))

    @property
    def calls(self) -> list[ScriptedCall]:
        """Every request so far, in the order in which they came."""
        return self._calls

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        replies = self._replies(messages, kwargs)
        usage = {"input_tokens": _words(messages), "output_tokens": _words(replies)}
        usage["total_tokens"] = usage["input_tokens"] + usage["output_tokens"]
        counted = [r.model_copy(update={"usage_metadata": usage}) for r in replies]
        return ChatResult(generations=[ChatGeneration(message=r) for r in counted])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, **kwargs)  # nothing here waits

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        """The reply word by word; its usage and its tool calls come with the last word."""
        message = self._generate(messages, stop, **{**kwargs, "n": 1}).generations[0].message
        assert isinstance(message, AIMessage)
        words = str(message.text).split(" ")
        for at, word in enumerate(words):
            is_last = at == len(words) - 1
            chunk = ChatGenerationChunk(
                message=AIMessageChunk(
                    content=word if is_last else word + " ",
                    usage_metadata=message.usage_metadata if is_last else None,
                    response_metadata=message.response_metadata if is_last else {},
                    tool_call_chunks=_call_chunks(message) if is_last else [],
                )
            )
            if run_manager is not None:
                run_manager.on_llm_new_token(str(chunk.message.text), chunk=chunk)
            yield chunk

    def _replies(self, messages: list[BaseMessage], kwargs: dict[str, Any]) -> list[AIMessage]:
        n = kwargs.get("n", self.n) or 1
        own = {"temperature": self.temperature, "top_p": self.top_p, "seed": self.seed}
        settings = {k: v for k, v in {**own, **kwargs}.items() if v is not None and k != "n"}
        self._calls.append(ScriptedCall(tuple(messages), n, settings))
        return [self._reply(messages) for _ in range(n)]

    def _reply(self, messages: list[BaseMessage]) -> AIMessage:
        if callable(self.script):
            step = self.script(messages)
        elif self._left:
            step = self._left.popleft()
        else:
            raise ScriptExhaustedError(
                f"the script of {len(self.script)} replies is used up at call {len(self._calls)}"
            )
        if isinstance(step, Exception):
            raise step
        if isinstance(step, AIMessage):
            return step
        return AIMessage(content=step, response_metadata={"finish_reason": "stop"})


def _call_chunks(message: AIMessage) -> list[ToolCallChunk]:
    return [
        tool_call_chunk(name=call["name"], args=json.dumps(call["args"], ensure_ascii=False), id=call["id"], index=n)
        for n, call in enumerate(message.tool_calls)
    ]


def _words(messages: Sequence[BaseMessage]) -> int:
    return sum(len(str(m.text).split()) for m in messages)
