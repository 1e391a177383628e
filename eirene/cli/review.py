"""`eirene refine --interactive`: a person edits the critique in $VISUAL or $EDITOR, and the run goes on with that."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from eirene.cli.progress import watch
from eirene.cli.review_file import read_review, with_problem, write_review
from eirene.cli.terminal import say
from eirene.core.critique import Review, parse_review
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from eirene.agent.session import Found, ReviewedRun
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
_EDITORS = ("sensible-editor", "vim", "nano", "vi", "notepad")
"""What is looked for where neither VISUAL nor EDITOR is set."""


class LeftError(Exception):
    """The person left without deciding: an empty file, an editor that failed, a text that stayed unreadable."""


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
    with _told_how_to_go_on(checkpoint):
        return asyncio.run(_refine_all(items, settings, backend, checkpoint, show))


async def _refine_all(
    items: Sequence[Item], settings: Settings, parts: Parts, checkpoint: str | None, show: Show
) -> list[str]:
    from eirene.agent.session import ReviewedRun

    errors = []
    async with _checkpointer(checkpoint) as saver:
        for n, item in enumerate(items, start=1):
            run = ReviewedRun(item, parts=parts, settings=settings, checkpointer=saver)
            await _finish(run, item, parts, place=f"{n} of {len(items)}: {item.id}" if len(items) > 1 else "")
            errors += [run.record.error.kind] if run.record.error is not None else []
            show(run.record, item, n)
    return errors


@contextlib.contextmanager
def _told_how_to_go_on(checkpoint: str | None) -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, LeftError) as error:
        is_left = isinstance(error, LeftError)
        where = "comes back to this question" if is_left else "goes on after the last step that was finished"
        if checkpoint is None:
            say("stopped; nothing was kept (with --checkpoint FILE.sqlite the same command would come back to it)")
        else:
            say(f"stopped; the same command {where}")
        raise typer.Exit(130) from None


def _checkpointer(file: str | None) -> contextlib.AbstractAsyncContextManager[BaseCheckpointSaver[Any]]:
    from langgraph.checkpoint.memory import InMemorySaver

    from eirene.agent.session import checkpoint_file

    return contextlib.nullcontext(InMemorySaver()) if file is None else checkpoint_file(file)


async def _finish(run: ReviewedRun, item: Item, parts: Parts, *, place: str) -> None:
    """Brings a row from wherever its thread stands to its end. While an editor is open the event loop stands still."""
    found = await run.look()
    if found != "nothing":
        say(f"{item.id}: {_RESUMED[found]}")
    with watch(1) as progress:
        await run.begin(on_event=progress.on_event)
    while run.question is not None:
        if place:
            say(place)
        decision = ask(run.question, item, hint=_EMBEDDED if parts.backend == "embedded" else "")
        with watch(1) as progress:
            await run.answer(decision, on_event=progress.on_event)


def check_terminal() -> None:
    """Raises `InputError` unless a person can be asked: a terminal for standard input and error, and an editor."""
    for name, stream in (("input", sys.stdin), ("error", sys.stderr)):
        if stream is None or not stream.isatty():
            raise InputError(
                f"--interactive asks at a terminal, and standard {name} is none; leave the flag out, or give the notes "
                'in the row (--mode human, "feedback")',
                field="interactive",
            )
    _editor()


def _editor() -> str:
    """The command of VISUAL or EDITOR, else an editor that is there; raises `InputError` where there is none."""
    named = os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip()
    with contextlib.suppress(ValueError):  # an odd quotation mark
        if named and shutil.which(shlex.split(named)[0]) is not None:
            return named
    if named:
        raise InputError(f"the editor {named!r} of VISUAL or EDITOR is not found; name another", field="interactive")
    found = next((name for name in _EDITORS if shutil.which(name)), None)
    if found is None:
        raise InputError("--interactive needs an editor: set EDITOR, such as EDITOR=nano", field="interactive")
    return found


def ask(question: dict[str, Any], item: Item, *, hint: str = "") -> Review:
    """A person's answer to the question of a run; `hint` stands above the critique.

    What cannot be read is opened again with the reason in its first line. Raises `LeftError` where the person leaves
    without deciding, and says where text that was not read is kept.
    """
    from eirene.agent.review import critique_in, reviewed

    critique = critique_in(question)
    draft = parse_review(question["draft"]) if question.get("draft") else Review(action="go on")
    shown = first = write_review(reviewed(critique, draft), item, asked=question, hint=hint)
    file = Path(tempfile.mkdtemp(prefix="eirene-review-")) / "review.txt"
    while True:
        file.write_text(shown, encoding="utf-8")
        text = _edited(file, first)
        try:
            review = read_review(text, critique)
        except InputError as error:
            if text == shown:  # it was opened with what is wrong with it, and left so
                say(f"not read: {error}; your text is in {file}")
                raise LeftError from None
            shown = with_problem(text, critique)
        else:
            shutil.rmtree(file.parent, ignore_errors=True)
            return review


def _edited(file: Path, first: str) -> str:
    """The text of the file after an editor had it; `first` is what nobody has changed. Raises `LeftError`."""
    import click

    problem, text = "", ""
    try:
        with _editor_at_terminal():
            click.edit(filename=str(file), editor=_editor())
    except click.ClickException as error:
        problem = f"the editor failed: {error.message}"
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
    except UnicodeDecodeError:
        text, problem = "?", "the file is not UTF-8; save it as UTF-8"
    if not problem and text.strip():
        return text
    if text.strip() and text != first:
        say(f"{problem}; your text is in {file}")
    else:
        say(problem or "the file is empty: nothing was decided")
        shutil.rmtree(file.parent, ignore_errors=True)
    raise LeftError


@contextlib.contextmanager
def _editor_at_terminal() -> Iterator[None]:
    """Lets the editor have the terminal: Ctrl-C is its own, and a redirected standard output is not its screen."""
    before = signal.signal(signal.SIGINT, lambda *_: None)  # a handler is not inherited, as ignoring would be
    kept = None
    if sys.stdout is None or not sys.stdout.isatty():
        kept = os.dup(1)
        os.dup2(2, 1)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if kept is not None:
            os.dup2(kept, 1)
            os.close(kept)
