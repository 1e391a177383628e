"""`eirene refine --interactive`: a person edits the critique in $VISUAL or $EDITOR, and the run goes on with that."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from eirene.cli.progress import watch
from eirene.cli.review_editor import LeftError, ask
from eirene.cli.terminal import say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from eirene.agent.session import Found
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.core.records import Item, Record

Show = Callable[["Record", "Item", int], None]

_RESUMED: dict[Found, str] = {
    "question": "was left at this question; nothing is drawn or paid again",
    "unfinished": "was left on its way, and goes on after its last step",
    "failed": "failed before; the step that failed is tried again",
    "finished": "was finished before, and its record is shown again (with another --checkpoint file it starts anew)",
}

_EMBEDDED = (
    "The embedded refiner follows a reason that names a given argument (it is added), or that says: remove this (the "
    "sentence goes). For reasons in free words take --backend provider:model."
)
"""It reads no other words; a person who does not know would write reasons that change nothing."""


def refine_items(
    items: Sequence[Item], settings: Settings, *, backend: Parts, checkpoint: str | None, show: Show
) -> list[str]:
    """Refines the rows in turn with a person in it, shows each when it is done; returns the kinds of their errors.

    Raises `InputError` before anything is spent for a mode without a critique, and for notes that do not fit.
    """
    from eirene.agent.critics import critique_from_notes
    from eirene.core.records import CRITIQUED_MODES
    from eirene.text.sentences import split_sentences

    if settings.mode not in CRITIQUED_MODES:
        raise InputError(
            f"--interactive shows a critique, and mode {settings.mode} has none; take fine-grained or human",
            field="mode",
        )
    for item in items:
        critique_from_notes(item, split_sentences(item.answer), needed=False)
    errors = []
    with _ReviewSession(settings, backend, checkpoint) as runs:
        for n, item in enumerate(items, start=1):
            record = runs.refine(item, n, len(items))
            if record.error is not None:
                errors.append(record.error.kind)
            show(record, item, n)
    return errors


class _ReviewSession:
    """An event loop and a checkpointer that live as long as the command; questions are asked between their work.

    While an editor is open the loop stands still.
    """

    def __init__(self, settings: Settings, parts: Parts, checkpoint: str | None) -> None:
        self._settings, self._parts, self._checkpoint = settings, parts, checkpoint
        self._runner = asyncio.Runner()
        self._open = contextlib.AsyncExitStack()
        self._saver: BaseCheckpointSaver[Any]

    def __enter__(self) -> _ReviewSession:
        self._runner.__enter__()
        try:
            self._saver = self._runner.run(self._opened())
        except BaseException:
            self._runner.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._runner.run(self._open.aclose())
        finally:
            self._runner.close()
        if isinstance(error[1], (KeyboardInterrupt, LeftError)):
            say(self._farewell(at_question=isinstance(error[1], LeftError)))
            raise typer.Exit(130)

    async def _opened(self) -> BaseCheckpointSaver[Any]:
        from langgraph.checkpoint.memory import InMemorySaver

        if self._checkpoint is None:
            return InMemorySaver()
        from eirene.agent.session import checkpoint_file

        return await self._open.enter_async_context(checkpoint_file(self._checkpoint))

    def refine(self, item: Item, n: int, total: int) -> Record:
        """Row `n`, from wherever its thread stands to its end."""
        from eirene.agent.session import ReviewedRun

        run = ReviewedRun(item, parts=self._parts, settings=self._settings, checkpointer=self._saver)
        found = self._runner.run(run.look())
        if found != "nothing":
            say(f"{item.id}: {_RESUMED[found]}")
        with watch(total) as progress:
            progress.next_item(n)
            self._runner.run(run.begin(on_event=progress.on_event))
        while run.question is not None:
            if total > 1:
                say(f"{n} of {total}: {item.id}")
            decision = ask(run.question, item, hint=_EMBEDDED if self._parts.backend == "embedded" else "")
            with watch(total) as progress:
                progress.next_item(n)
                self._runner.run(run.answer(decision, on_event=progress.on_event))
        return run.record

    def _farewell(self, *, at_question: bool) -> str:
        if self._checkpoint is None:
            return "stopped; nothing was kept (with --checkpoint FILE.sqlite the same command would come back to it)"
        where = "comes back to this question" if at_question else "goes on after the last step that was finished"
        return f"stopped; the same command {where}"
