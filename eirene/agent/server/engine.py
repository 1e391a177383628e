"""The engine: one chat, from what was asked to what may be shown, with its draft, its loop and its records."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from eirene.agent.loop import Loop
from eirene.agent.server.drafts import Drafts, ModelDraft, Upstream
from eirene.agent.server.errors import ApiError, from_input, from_upstream, timed_out
from eirene.agent.server.protocol import ChatRequest, ServedMode
from eirene.agent.server.result import OnRunEvent, RunReporter
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.agent.wrappers.conversation import Given, conversation_item, refinable_text, why_untouched, with_text
from eirene.core.concurrency import off_loop
from eirene.core.errors import BackendError, EireneError, InputError
from eirene.core.logs import get_logger
from eirene.core.records import Item, Perspective, Record
from eirene.core.usage import Usage
from eirene.models.address import private_addresses
from eirene.models.gguf.spec import parse_gguf
from eirene.text.cancellation import cancel_scope

logger = get_logger(__name__)

WriteDraft = Callable[[str, list[Perspective], int], str]
"""Writes a response from a question and the arguments of each side, with a seed; raises `InputError`."""
MAX_REFINED_CHARACTERS = 50_000
"""Longer replies pass unrefined: the detectors would hold up everyone else's."""
MAX_ASKED_CHARACTERS = 200_000
"""With a longer conversation before them replies pass unrefined as well."""
_CUT_OFF = {"length": "was cut off at the token limit", "content_filter": "was filtered"}


@dataclass(frozen=True, slots=True)
class ChatTask:
    """What one request asks for. `draft` None: the server is to have one written. `given`: what it is compared with.

    Without `refines` the drafts are the answer.
    """

    messages: tuple[BaseMessage, ...]
    mode: ServedMode
    draft: AIMessage | None = None
    given: Given | None = None
    n: int = 1
    seed: int | None = None
    request: ChatRequest | None = None
    refines: bool = True


@dataclass(frozen=True, slots=True)
class Choice:
    """One reply that may be shown; `record` None where it was not refined, and `why` says why not."""

    message: AIMessage
    finish_reason: str
    item: Item | None = None
    record: Record | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """All choices of a request, what drafts and loop cost together, and further fields of the model's reply."""

    choices: tuple[Choice, ...]
    usage: Usage
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Progress:
    """How far a task has come, for who does not wait for its end: the drafts, and the choices that are made of them."""

    drawn: Drafts = field(default_factory=Drafts)
    choices: dict[int, Choice] = field(default_factory=dict)


class Engine:
    """Answers tasks with one set of models. `upstream` None: there is no model to write drafts of conversations.

    `fill` gives an item that brings no given text of its own a context, as `eirene.retrieval.with_context` does.
    """

    def __init__(
        self,
        parts: Parts,
        settings: Settings,
        *,
        upstream: Upstream | None = None,
        write_draft: WriteDraft | None = None,
        fill: Callable[[Item], Item] | None = None,
    ) -> None:
        if settings.mode == "human":
            raise InputError("mode 'human' needs a person's notes in a row; a chat has none", field="mode")
        self.parts = parts
        self.settings = settings
        self.upstream = upstream
        self._write_draft = write_draft
        self._fill = fill
        self._loops: dict[ServedMode, Loop] = {}

    @property
    def full_name(self) -> str:
        """The name of the model that answers, with the provider."""
        return self.parts.backend if self.upstream is None else self.upstream.name

    @property
    def model(self) -> str:
        """What clients call the model: its name without the provider."""
        name = self.full_name
        if name.startswith("gguf:"):  # clients need not know where the file lies
            return Path(parse_gguf(name).path).stem
        return name if name.startswith("hf:") else name.partition(":")[2] or name

    async def answer(
        self, task: ChatTask, *, deadline: float, timeout_s: float, progress: Progress, tell: OnRunEvent | None = None
    ) -> Answer:
        """The choices of a task. `deadline` is on the loop's clock: past it the drafts, if any, are the answer.

        Raises `ApiError` where there is none. Neither it nor a record tells the address of a model's server.
        """
        with private_addresses():
            try:
                with cancel_scope():
                    async with asyncio.timeout_at(deadline):
                        progress.drawn = await self._drafts(task)
            except TimeoutError:
                raise timed_out(timeout_s) from None
            for n, draft in enumerate(progress.drawn.drafts):
                if tell is not None:
                    tell({"kind": "draft", "choice": n, "text": str(draft.message.text)})
            numbers = range(len(progress.drawn.drafts))
            await asyncio.gather(*(self._choose(task, n, progress, deadline, tell) for n in numbers))
            return _answer(progress)

    def overdue(self, task: ChatTask, progress: Progress, *, timeout_s: float) -> Answer:
        """The answer where nobody waits any more: what is not refined yet is its draft, and failed at the deadline.

        Raises `ApiError` where there is no draft.
        """
        if not progress.drawn.drafts:
            raise timed_out(timeout_s)
        choices = dict(progress.choices)
        for n, draft in enumerate(progress.drawn.drafts):
            if n not in choices:
                choices[n] = self._left(task, n, draft, timeout_s)
        return _answer(Progress(progress.drawn, choices))

    def _left(self, task: ChatTask, n: int, draft: ModelDraft, timeout_s: float) -> Choice:
        item = _item(task, draft)
        if isinstance(item, str):
            return Choice(draft.message, _finish(draft), why=item)
        record = self._loop(task.mode).late(item, deadline_s=timeout_s, seed=self._seed(task, n))
        return Choice(draft.message, _finish(draft), item, record, record.why)

    async def _drafts(self, task: ChatTask) -> Drafts:
        if task.draft is not None:
            return Drafts((ModelDraft(task.draft, "stop"),) * task.n)
        if self.upstream is not None:
            try:
                return await self.upstream.draw(task.messages, task.request, n=task.n)
            except BackendError as error:
                raise from_upstream(error) from error
        sides = [] if task.given is None else task.given.get("perspectives") or []
        if not sides or self._write_draft is None:
            raise ApiError(
                400,
                f"the server's model {self.model} refines answers and writes none: end messages with the assistant's "
                "answer, give 'perspectives' (at least two) to have one written from their arguments, or start the "
                "server with a chat model for drafts, for example --upstream openai:NAME --base-url http://127.0.0.1:8080/v1",
                param="messages",
                code="no_draft",
            )
        perspectives = [Perspective.model_validate(side) for side in sides]
        question = _last_question(task.messages)
        write = functools.partial(self._write_draft, question, perspectives)
        try:
            texts = [await asyncio.to_thread(write, self._seed(task, n)) for n in range(task.n)]
        except InputError as error:
            raise from_input(error) from None
        return Drafts(tuple(ModelDraft(AIMessage(content=text), "stop") for text in texts))

    def _seed(self, task: ChatTask, n: int) -> int:
        first = self.settings.seed if task.seed is None else abs(task.seed) % 2**62
        return first + n if task.draft is not None or self.upstream is None else first

    async def _choose(
        self, task: ChatTask, n: int, progress: Progress, deadline: float, tell: OnRunEvent | None
    ) -> None:
        """Adds the choice that is made of a draft."""
        draft = progress.drawn.drafts[n]
        finish = _finish(draft)
        item = await off_loop(lambda: _item(task, draft), characters=_characters(task))
        if isinstance(item, Item) and self._fill is not None:
            item = await asyncio.to_thread(_filled, item, self._fill)
        if isinstance(item, str):
            progress.choices[n] = Choice(draft.message, finish, why=item)
            return
        reporter = None if tell is None else RunReporter(tell, n, advisory=self.parts.advisory)
        left_s = max(0.001, deadline - asyncio.get_running_loop().time())
        record = await self._loop(task.mode).arun(
            item,
            on_event=None if reporter is None else reporter.on_event,
            on_state=None if reporter is None else reporter.on_state,
            seed=self._seed(task, n),
            deadline_s=min(left_s, self.settings.deadline_s),
        )
        message = with_text(draft.message, record.answer) if record.status == "accepted" else draft.message
        progress.choices[n] = Choice(message, finish, item, record, record.why)

    def _loop(self, mode: ServedMode) -> Loop:
        if mode not in self._loops:
            self._loops[mode] = Loop(self.parts, self.settings.model_copy(update={"mode": mode}))
        return self._loops[mode]


def _answer(progress: Progress) -> Answer:
    drawn = progress.drawn
    choices = tuple(progress.choices[n] for n in range(len(drawn.drafts)))
    spent = sum((c.record.usage for c in choices if c.record is not None), drawn.usage)
    return Answer(choices, spent, drawn.fields)


def _finish(draft: ModelDraft) -> str:
    return "tool_calls" if draft.message.tool_calls else draft.finish_reason or "stop"


def _characters(task: ChatTask) -> int:
    return sum(len(str(message.content)) for message in task.messages)


def _item(task: ChatTask, draft: ModelDraft) -> Item | str:
    """The item to refine, or why the reply stays as it is."""
    if not task.refines or draft.finish_reason in _CUT_OFF:
        cut_off = f"the reply {_CUT_OFF.get(draft.finish_reason or '')}, so it is passed on as it is"
        return cut_off if task.refines else "the draft was asked for as it is"
    if task.request is not None and task.request.wants_object:
        return "a JSON object was asked for, which is passed on as it is"
    text = refinable_text(draft.message)
    if text is None:
        return why_untouched(draft.message)
    if len(text) > MAX_REFINED_CHARACTERS or _characters(task) > MAX_ASKED_CHARACTERS:
        is_reply = len(text) > MAX_REFINED_CHARACTERS
        what, most = ("the reply", MAX_REFINED_CHARACTERS) if is_reply else ("what was asked", MAX_ASKED_CHARACTERS)
        return f"{what} has more than {most} characters, so the reply is passed on as it is"
    try:
        return conversation_item(task.messages, text, given=task.given)
    except EireneError as error:  # no question, or a NUL in the reply: it is passed on, not lost
        logger.info("a reply is passed on unrefined: %s", error.kind)
        return f"the reply cannot be refined: {error}"


def _filled(item: Item, fill: Callable[[Item], Item]) -> Item | str:
    """The item with the passages that bear on it, or why the reply stays as it is."""
    try:
        return fill(item)
    except (EireneError, OSError) as error:  # the index was taken away, say: the reply is passed on, not lost
        logger.warning("no passages could be found: %s", type(error).__name__)
        return "passages could not be looked up, so the reply is passed on as it is"


def _last_question(messages: tuple[BaseMessage, ...]) -> str:
    asked: list[Any] = [str(m.text).strip() for m in messages if isinstance(m, HumanMessage)]
    if not asked or not asked[-1]:
        raise ApiError(400, "messages hold no question of the user", param="messages", code="no_question")
    return str(asked[-1])
