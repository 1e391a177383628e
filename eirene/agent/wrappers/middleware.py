"""`RefineMiddleware`: the loop around the final answers of an agent made by `langchain.agents.create_agent`."""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, NotRequired, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langgraph.types import Command

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.loop import Loop
from eirene.agent.record import record_outcome
from eirene.agent.run import SettingsLike, make_settings
from eirene.agent.state import Parts
from eirene.agent.wrappers.conversation import (
    GivenFor,
    NothingGivenNotice,
    When,
    arun_isolated,
    refined_reply,
    reply_item,
    run_isolated,
)
from eirene.core.errors import InputError
from eirene.core.extras import importing
from eirene.core.logs import get_logger
from eirene.core.records import Item, Record
from eirene.core.tracing import Tracing
from eirene.models.chat import NOSTREAM

with importing("langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import ExtendedModelResponse

logger = get_logger(__name__)
_HOW = "pass given=, such as tool_results; or no backend=, so that the agent's own model judges"


class RefineState(AgentState[Any]):
    """An agent's state with the traces of what was refined in it: one a final answer, oldest first."""

    eirene: NotRequired[Annotated[list[dict[str, Any]], operator.add]]


class RefineMiddleware(AgentMiddleware[RefineState, Any, Any]):
    """Refines an agent's final text answers; turns with tool calls and structured answers pass through untouched.

    The draft is never streamed: the user sees the answer that stands at the end. The agent's state gets a trace under
    `eirene`, the record without its rounds (`full_trace=True`: with them). If refining fails, the draft is
    the answer.

    `backend`: who critiques and rewrites (default: the agent's own model). `given` tells from the messages what an
    answer is compared with, such as `tool_results`. `when(messages, answer)` says whether to refine it, see
    `eirene.agent.wrappers.conversation`. `max_refined`: answers refined at most in one thread of the agent. `tracing`:
    as in `refine`.
    """

    state_schema = RefineState

    def __init__(
        self,
        *,
        backend: Any = None,
        backend_options: BackendOptions | None = None,
        settings: SettingsLike | None = None,
        given: GivenFor | None = None,
        when: When | None = None,
        max_refined: int | None = None,
        full_trace: bool = False,
        tracing: Tracing | bool = False,
    ) -> None:
        super().__init__()
        if max_refined is not None and max_refined < 0:
            raise InputError(f"max_refined must be at least 0, got {max_refined}", field="max_refined")
        self._settings = make_settings(settings, {})
        if self._settings.mode == "human":
            raise InputError("mode 'human' needs a person's notes in a row; an agent has none", field="mode")
        self._options = backend_options
        self._tracing = tracing
        self._own = None if backend is None else self._made(resolve_backend(backend, backend_options))
        self._of_models: list[tuple[BaseChatModel, Loop]] = []
        self._given = given
        self._when = when
        self._max_refined = max_refined
        self._full_trace = full_trace
        self._notice = NothingGivenNotice(_HOW)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Refines what the model answers, if it is final."""
        response = handler(_unstreamed(request))
        item = self._item(request, response)
        if item is None:
            return response
        run = partial(self._loop(request.model).run, item)
        return self._refined(response, run_isolated(run, keep_callbacks=True))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Refines what the model answers, if it is final."""
        response = await handler(_unstreamed(request))
        item = self._item(request, response)
        if item is None:
            return response
        run = self._loop(request.model).arun(item)
        return self._refined(response, await arun_isolated(run, keep_callbacks=True))

    def _item(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> Item | None:
        """The item to refine; None where the reply is to stay as it is."""
        messages = [*([request.system_message] if request.system_message is not None else []), *request.messages]
        done = len(cast("list[Any]", request.state.get("eirene") or []))
        is_final = response.structured_response is None and bool(response.result)
        if not is_final or (self._max_refined is not None and done >= self._max_refined):
            return None
        return reply_item(messages, response.result[-1], when=self._when, given=self._given)

    def _loop(self, model: BaseChatModel) -> Loop:
        """The loop of the backend given, else one of the agent's model, made once a model."""
        if self._own is not None:
            return self._own
        for known, loop in self._of_models:
            if known is model:
                return loop
        loop = self._made(resolve_backend(model, self._options))
        self._of_models = [*self._of_models[-7:], (model, loop)]
        return loop

    def _made(self, parts: Parts) -> Loop:
        return Loop(parts, self._settings, tracing=self._tracing)

    def _refined(self, response: ModelResponse[Any], record: Record) -> ExtendedModelResponse[Any]:
        self._notice.check(record)
        *before, draft = cast("list[AIMessage]", response.result)
        # Without an id of its own the message is new to the graph, which then shows it to whoever streams.
        message = refined_reply(draft, record).model_copy(update={"id": None})
        trace = record.model_dump(mode="json") if self._full_trace else record_outcome(record)
        return ExtendedModelResponse(
            ModelResponse(result=[*before, message], structured_response=response.structured_response),
            Command(update={"eirene": [trace]}),
        )


def _unstreamed(request: ModelRequest[Any]) -> ModelRequest[Any]:
    """The request with a model that answers in one piece, so that no stream of events has its tokens either; the tag
    keeps the piece out of `stream_mode="messages"`."""
    quiet = {"streaming": False} if "streaming" in type(request.model).model_fields else {}
    tags = [*(request.model.tags or []), NOSTREAM]
    return request.override(model=request.model.model_copy(update={"tags": tags, "disable_streaming": True, **quiet}))
