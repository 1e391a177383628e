"""The prompt of `eirene refine --interactive`: shows a critique, opens it in $VISUAL or $EDITOR, asks what to do."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eirene.cli.terminal import console, say
from eirene.core.critique import Review, parse_review
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eirene.core.critique import Critique, TaggedSentence
    from eirene.core.records import Item

_EDITORS = ("sensible-editor", "vim", "nano", "vi", "notepad")
"""What is looked for where neither VISUAL nor EDITOR is set."""
_CHOICES = "Enter goes on, e edits, s shows it again, k keeps the original, q leaves"


class LeftError(Exception):
    """The person went away without an answer: q, Ctrl-C, Ctrl-D, a terminal that was closed."""


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


class Dialogue:
    """One question, asked until it is decided. `save` is told each review that was read; `hint` is shown at first."""

    def __init__(self, question: dict[str, Any], item: Item, *, save: Callable[[Review], None], hint: str = "") -> None:
        from eirene.agent.review import critique_in

        self._question, self._item, self._save, self._hint = question, item, save, hint
        self._critique: Critique = critique_in(question)
        draft = parse_review(question["draft"]) if question.get("draft") else Review(action="go on")
        self._review = draft.model_copy(update={"action": "go on"})
        self._file = Path(tempfile.mkdtemp(prefix="eirene-review-")) / "review.txt"
        self._problem = ""
        """What is wrong with the text in the file; nothing where it has been read."""

    def ask(self) -> Review:
        """The decision; raises `LeftError` when the person goes away instead, and says where unread text is kept."""
        self._open()
        _forget_typed_ahead()
        try:
            while True:
                decision = self._obey(self._prompt())
                if decision is not None:
                    self._problem = ""
                    return decision
        except (EOFError, KeyboardInterrupt, OSError):
            with contextlib.suppress(OSError):  # what is said next begins a line; a terminal that is gone hears nothing
                sys.stderr.write("\n")
            raise LeftError from None
        finally:
            if self._problem:
                say(f"what you wrote and was not read is in {self._file}")
            else:
                shutil.rmtree(self._file.parent, ignore_errors=True)

    def _prompt(self) -> str:
        from rich.prompt import Prompt

        choices = ["", "e", "s", "k", "q", *(["d"] if self._problem else [])]
        drop = ", d drops the text that was not read" if self._problem else ""
        self._print(_text(f"{_CHOICES}{drop}."))
        return Prompt.ask("review", console=console(stderr=True), choices=choices, show_choices=False, default="",
                          show_default=False, case_sensitive=False).strip().lower()  # fmt: skip

    def _obey(self, word: str) -> Review | None:
        """Does what was chosen; returns the decision, if it was one."""
        match word:
            case "e":
                self._edit()
            case "s":
                self._open()
            case "d":
                self._problem = ""
                say("dropped; the critique stands as it was before")
            case "q":
                raise LeftError
            case _ if self._problem:
                say(f"your text was not read: {self._problem}; e opens it again, d drops it")
            case "k" if self._review.has_edits and not self._confirmed():
                pass
            case "k":
                return Review(action="stop")
            case _:
                return self._review
        return None

    def _confirmed(self) -> bool:
        from rich.prompt import Confirm

        return Confirm.ask("your changes will not be used; keep the original", console=console(stderr=True))

    def _edit(self) -> None:
        """Opens the critique in the editor, and reads it; what cannot be read stays in the file for another try."""
        from eirene.cli.review_file import read_review, write_review

        if not self._problem:
            self._file.write_text(write_review(self._now, self._item), encoding="utf-8")
        before, written = self._now, self._file.read_bytes()
        try:
            review = read_review(self._edited_text(written), self._critique)
        except InputError as error:
            if self._problem or self._file.read_bytes() != written:
                self._problem = str(error)
            say(f"not read: {error}")
            return
        self._problem = ""
        if review == self._review:
            say("nothing was changed")
            return
        self._review = review
        self._save(review)
        for sentence, old in zip(self._now.sentences, before.sentences, strict=True):
            if sentence != old:
                self._print(_one(sentence))
        self._print(_text(self._what_enter_does()))

    def _edited_text(self, written: bytes) -> str:
        import click

        try:
            with _editor_at_terminal():
                click.edit(filename=str(self._file), editor=editor_command())
        except click.ClickException as error:
            raise InputError(f"the editor failed: {error.message}") from None
        except BaseException:
            if self._file.read_bytes() != written:
                self._problem = "the editor was left"
            raise
        try:
            return self._file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError("the file is not UTF-8; save it as UTF-8") from None

    @property
    def _now(self) -> Critique:
        """The critique as it stands after the edits."""
        from eirene.agent.review import reviewed

        return reviewed(self._critique, self._review)

    def _open(self) -> None:
        from eirene.views.terminal import FRACTION, history_lines

        asked = self._question
        if self._item.history:
            self._print(_text("Conversation before", style="bold cyan"), indent=0)
            for line in history_lines(self._item.history):
                self._print(line)
        self._print(_text("Question", style="bold cyan"), indent=0)
        self._print(_text(asked["question"]))
        title = (
            "Critique" if asked["round"] == 1 else f"Critique of the rewrite accepted so far (round {asked['round']})"
        )
        self._print(_text(f"\n{title}", style="bold cyan"), indent=0)
        self._print(_critique(self._now, self._counts))
        if self._counts:
            self._print(_text(FRACTION, style="dim"))
        self._print(_text("\nYour review", style="bold cyan"), indent=0)
        if self._review.has_edits:
            self._print(_text("The changes that you made before are in it."))
        self._print(_text(self._why()))
        if self._hint:
            self._print(_text(self._hint))
        self._print(_text(self._what_enter_does()))

    def _why(self) -> str:
        asked = self._question
        if asked["otherwise"] == "refine":
            return "The answer has not been rewritten yet. You can change the critique first."
        if asked["mode"] == "human":
            return "Nobody has judged these sentences yet. Give a reason for each that lacks something."
        if asked["otherwise"] == "complete":
            beside = self._critique.unchecked
            but = "" if beside is None else f" {_sentence_case(beside)} was not checked."
            return f"Nothing was found incomplete.{but} If something is, name it; else nothing will be rewritten."
        if asked["otherwise"] == "abstained":
            return f"No usable critique: {asked['why']}. You can give the reasons yourself; else nothing is rewritten."
        return f"{_sentence_case(asked['why'])}. You can give the reasons yourself; else nothing will be rewritten."

    def _what_enter_does(self) -> str:
        n = len(self._now.incomplete)
        if n:
            return f"Enter rewrites the answer: {n} sentence{'' if n == 1 else 's'} with faults."
        return "Enter ends here: no sentence is incomplete, so the text stays as it is."

    @property
    def _counts(self) -> list[tuple[int, int]]:
        votes = [s["votes"] for s in self._question["critique"]["sentences"]]
        return [(v["incomplete"], v["drawn"]) for v in votes if v is not None]

    def _print(self, what: RenderableType, *, indent: int = 2) -> None:
        from rich.padding import Padding

        console(stderr=True).print(Padding(what, (0, 0, 0, indent)))


def _text(text: str, *, style: str = "") -> RenderableType:
    from rich.text import Text

    from eirene.views.facts import visible

    return Text(visible(text), style=style)


def _critique(critique: Critique, counts: list[tuple[int, int]]) -> RenderableType:
    from eirene.views.terminal import critique_table

    return critique_table(critique, counts, every=True)


def _one(sentence: TaggedSentence) -> RenderableType:
    from rich.text import Text

    from eirene.views.faults import verdict_of
    from eirene.views.terminal import sentence_text

    return Text(f"{sentence.n}  {verdict_of(sentence).word}  ").append_text(sentence_text(sentence))


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")


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


def _forget_typed_ahead() -> None:
    """Drops what was typed until now: an impatient Enter is no answer to a question that was not yet to be seen."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
