"""The editor of `eirene refine --interactive`: opens a critique in $VISUAL or $EDITOR until it can be read."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eirene.cli.terminal import say
from eirene.core.critique import Review, parse_review
from eirene.core.errors import InputError
from eirene.core.records import Item

_EDITORS = ("sensible-editor", "vim", "nano", "vi", "notepad")
"""What is looked for where neither VISUAL nor EDITOR is set."""


class LeftError(Exception):
    """The person left without deciding: an empty file, an editor that failed, a text that stayed unreadable."""


def check_terminal() -> None:
    """Raises `InputError` unless a person can be asked: a terminal for standard input and error, and an editor."""
    for name, stream in (("input", sys.stdin), ("error", sys.stderr)):
        if stream is None or not stream.isatty():
            raise InputError(
                f"--interactive asks at a terminal, and standard {name} is none; leave the flag out, or give the notes "
                'in the row (--mode human, "feedback")',
                field="interactive",
            )
    editor_command()


def editor_command() -> str:
    """The command of VISUAL or EDITOR, else of an editor that is there; raises `InputError` where there is none."""
    named = os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip()
    if not named:
        found = next((name for name in _EDITORS if shutil.which(name)), None)
        if found is None:
            raise InputError("--interactive needs an editor: set EDITOR, such as EDITOR=nano", field="interactive")
        return found
    try:
        program = shlex.split(named)[0]
    except ValueError:
        program = named
    if shutil.which(program) is None:
        raise InputError(f"the editor {named!r} of VISUAL or EDITOR is not found; name another", field="interactive")
    return named


def ask(question: dict[str, Any], item: Item, *, hint: str = "") -> Review:
    """A person's answer to the question of a run; `hint` stands above the critique.

    What cannot be read is opened again with the reason in its first line. Raises `LeftError` where the person leaves
    without deciding, and says where text that was not read is kept.
    """
    from eirene.agent.review import critique_in, reviewed
    from eirene.cli.review_file import read_review, with_problem, write_review

    critique = critique_in(question)
    draft = parse_review(question["draft"]) if question.get("draft") else Review(action="go on")
    shown = first = write_review(reviewed(critique, draft), item, asked=question, hint=hint)
    with _text_file() as file:
        while True:
            file.write_text(shown, encoding="utf-8")
            text = _edited(file, first)
            try:
                return read_review(text, critique)
            except InputError as error:
                if text == shown:  # it was opened with what is wrong with it, and left so
                    say(f"not read: {error}; your text is in {file}")
                    raise LeftError from None
            shown = with_problem(text, critique)


@contextlib.contextmanager
def _text_file() -> Iterator[Path]:
    """A file for a text, gone at the end but where the person leaves with text in it."""
    file = Path(tempfile.mkdtemp(prefix="eirene-review-")) / "review.txt"
    yield file
    shutil.rmtree(file.parent, ignore_errors=True)


def _edited(file: Path, first: str) -> str:
    """The text of the file after an editor had it; `first` is what nobody has changed. Raises `LeftError`."""
    import click

    problem = ""
    try:
        with _editor_at_terminal():
            click.edit(filename=str(file), editor=editor_command())
    except click.ClickException as error:
        problem = f"the editor failed: {error.message}"
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
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
