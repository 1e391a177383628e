"""`RefiningChatModel`: any LangChain chat model, with the loop around its final text replies."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, LLMResult
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig
from pydantic import ConfigDict, Field, PrivateAttr

from eirene.agent.backends import resolve_backend
from eirene.agent.loop import Loop
from eirene.agent.record import record_outcome
from eirene.agent.run import SettingsLike, make_settings
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.agent.wrappers.conversation import (
    GIVEN_KEYS,
    GivenFor,
    NothingGivenNotice,
    When,
    arun_isolated,
    child_manager,
    refined_reply,
    reply_item,
    run_isolated,
)
from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.core.records import Item, Record
from eirene.core.validation import described, form_errors
from eirene.models.chat import NOSTREAM, model_name

logger = get_logger(__name__)

TRACE = "eirene"
"""The key of the record in a message's `response_metadata`."""
_HOW = "pass perspectives= or context= in a call, or given= for all; or no backend=, so that the wrapped model judges"


class RefiningChatModel(BaseChatModel):
    """A chat model whose final text replies go through the loop before anyone sees them.

    Tool calls, structured output, refusals and what is not text pass through untouched. `response_metadata["eirene"]`
    of a reply holds the record (`trace="full"`), its outcome (`"short"`) or nothing (`"none"`); its usage is that of
    the draft and of everything spent on refining it. If refining fails, the caller gets the draft.

    `backend`: who critiques and rewrites (default: the wrapped model itself; see `eirene.refine`). `given` tells from
    the messages what a reply is to be compared with; a call may bring it as well, as `perspectives=` or `context=`.
    `when(messages, reply)` says whether to refine at all. With `inner_callbacks` the draft and the loop report to the
    callbacks of a call, as its children: what adds up tokens then counts them there and in the reply. A stream has the
    reply in one piece. `tracing`: as in `refine`.

    Examples:
        >>> import eirene
        >>> inner = eirene.ScriptedChatModel(["Zoos teach children."])
        >>> sides = {"pro": "Zoos teach children about animals.", "con": ["Cages make animals suffer."]}
        >>> model = eirene.RefiningChatModel(inner, backend="embedded")
        >>> reply = model.invoke("Should zoos be closed?", perspectives=sides)
        >>> reply.response_metadata["eirene"]["status"], "suffer" in reply.text
        ('accepted', True)
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    inner: BaseChatModel
    backend: Any = None
    settings: Settings = Field(default_factory=Settings)
    backend_options: Any = None
    given: GivenFor | None = None
    when: When | None = None
    trace: str = "full"
    tracing: Any = False
    inner_callbacks: bool = False
    _loop: Loop | None = PrivateAttr(default=None)
    _notice: NothingGivenNotice = PrivateAttr(default_factory=lambda: NothingGivenNotice(_HOW))

    def __init__(
        self, inner: BaseChatModel | None = None, *, settings: SettingsLike | None = None, **fields: Any
    ) -> None:
        if not isinstance(inner, BaseChatModel):
            how = "langchain.chat_models.init_chat_model('provider:model') makes one"
            raise InputError(f"inner must be a LangChain chat model, got {described(inner)}; {how}", field="inner")
        with form_errors(type(self), fields):
            super().__init__(**{"inner": inner, "settings": make_settings(settings, {}), **fields})

    def model_post_init(self, context: Any, /) -> None:
        """Checks what pydantic does not; `InputError` for a backend that cannot be used comes here, not mid-chat."""
        if self.trace not in ("full", "short", "none"):
            raise InputError(f"trace must be one of full, short, none, got {self.trace!r}", field="trace")
        if self.settings.mode == "human":
            raise InputError("mode 'human' needs a person's notes in a row; a chat has none", field="mode")
        backend = self.inner if self.backend is None else self.backend
        self._loop = Loop(resolve_backend(backend, self.backend_options), self.settings, tracing=self.tracing)

    @property
    def _llm_type(self) -> str:
        return "eirene-refining"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        inner = cast("dict[str, Any]", getattr(self.inner, "_identifying_params", {}))
        return {**inner, "eirene_mode": self.settings.mode, "eirene_backend": self.parts.backend}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = dict(super()._get_ls_params(stop=stop, **kwargs))
        params |= {"ls_provider": "eirene", "ls_model_name": kwargs.get("model") or model_name(self.inner)}
        return cast(LangSmithParams, params)

    @property
    def parts(self) -> Parts:
        """The models of the loop."""
        return self.loop.parts

    @property
    def loop(self) -> Loop:
        """The loop around the replies."""
        assert self._loop is not None
        return self._loop

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: Any = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The tools in the form that the wrapped model takes; its tool calls come back as they are."""
        chosen = {} if tool_choice is None else {"tool_choice": tool_choice}
        bound: Any = self.inner.bind_tools(tools, **chosen, **kwargs)
        if isinstance(bound, RunnableBinding) and bound.bound is self.inner:
            return cast("Runnable[LanguageModelInput, AIMessage]", self.bind(**bound.kwargs))
        if isinstance(bound, BaseChatModel):  # some models keep their tools in themselves
            return self.model_copy(update={"inner": bound})
        raise NotImplementedError(f"{type(self.inner).__name__} binds tools in a way that cannot be wrapped")

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Runnable[LanguageModelInput, Any]:
        """The wrapped model's own: an object is no answer to be refined."""
        return cast("Runnable[LanguageModelInput, Any]", self.inner.with_structured_output(schema, **kwargs))

    def get_num_tokens(self, text: str) -> int:
        """As the wrapped model counts."""
        return self.inner.get_num_tokens(text)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        given = self._given_for(kwargs)
        config = self._config(run_manager)
        ask = functools.partial(self.inner.generate, [messages], stop=stop, **config, **self._quiet(kwargs))
        drafts = _drafts(run_isolated(ask))
        tasks = [reply_item(messages, draft, when=self.when, given=given) for draft in drafts]
        refine = functools.partial(self.loop.run, config=config)
        records = [None if item is None else run_isolated(functools.partial(refine, item)) for item in tasks]
        return self._result(drafts, records)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        given = self._given_for(kwargs)
        config = self._config(run_manager)
        asked = self.inner.agenerate([messages], stop=stop, **config, **self._quiet(kwargs))
        drafts = _drafts(await arun_isolated(asked))
        tasks = [reply_item(messages, draft, when=self.when, given=given) for draft in drafts]
        records = await asyncio.gather(*(self._refined(item, config) for item in tasks))
        return self._result(drafts, records)

    async def _refined(self, item: Item | None, config: RunnableConfig) -> Record | None:
        if item is None:
            return None
        return await arun_isolated(self.loop.arun(item, config=config))

    def _config(self, run_manager: CallbackManagerForLLMRun | AsyncCallbackManagerForLLMRun | None) -> RunnableConfig:
        """What the calls inside report to; the tag keeps drafts out of LangGraph's streams of messages."""
        if run_manager is None or not self.inner_callbacks:
            return {}
        return {"callbacks": child_manager(run_manager), "tags": [NOSTREAM]}

    def _should_stream(self, *, async_api: bool, run_manager: Any = None, **kwargs: Any) -> bool:
        """Not where the calls inside report: LangChain does not tell `_stream` whose run it belongs to."""
        return not self.inner_callbacks and super()._should_stream(
            async_api=async_api, run_manager=run_manager, **kwargs
        )

    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        yield _in_one_piece(self._generate(messages, stop, **kwargs))

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        yield _in_one_piece(await self._agenerate(messages, stop, **kwargs))

    def _quiet(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """What goes on to the wrapped model: it answers in one piece, whatever the caller wants to see."""
        return {name: value for name, value in kwargs.items() if name not in ("stream", "stream_usage")}

    def _given_for(self, kwargs: dict[str, Any]) -> GivenFor | None:
        """What replies are compared with: what a call brings, taken out of its other arguments, else as for all."""
        found = {key: kwargs.pop(key) for key in GIVEN_KEYS if key in kwargs}
        return (lambda _: found) if found else self.given

    def _result(self, drafts: Sequence[AIMessage], records: Sequence[Record | None]) -> ChatResult:
        refined = [self._message(draft, record) for draft, record in zip(drafts, records, strict=True)]
        return ChatResult(generations=[ChatGeneration(message=message) for message in refined])

    def _message(self, draft: AIMessage, record: Record | None) -> AIMessage:
        if record is None:
            return draft
        self._notice.check(record)
        message = refined_reply(draft, record)
        if self.trace == "none":
            return message
        trace = record.model_dump(mode="json") if self.trace == "full" else record_outcome(record)
        return message.model_copy(update={"response_metadata": {**message.response_metadata, TRACE: trace}})


def _drafts(result: LLMResult) -> list[AIMessage]:
    return [cast(AIMessage, cast(ChatGeneration, g).message) for g in result.generations[0]]


def _in_one_piece(result: ChatResult) -> ChatGenerationChunk:
    said = result.generations[0].message.model_dump(exclude={"type"})
    return ChatGenerationChunk(message=AIMessageChunk(**{**said, "chunk_position": "last"}))
