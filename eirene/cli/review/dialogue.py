"""The lines that a person types at the question of `eirene refine --interactive`, and what becomes of the critique.

Lines that a person types at a terminal, with line editing where there is any; standard output may be a file.
"""

from __future__ import annotations

import contextlib
import re
import sys
import unicodedata
from dataclasses import dataclass
from typing import Literal

from eirene.core.critique import Critique, FeedbackNote, Review
from eirene.core.errors import InputError

Word = Literal["go on", "set", "add", "drop", "all complete", "show", "given", "undo", "stop", "help"]

_WORDS: dict[str, Word] = {
    "": "go on",
    "go on": "go on",
    "all complete": "all complete",
    "show": "show",
    "given": "given",
    "undo": "undo",
    "q": "stop",
    "?": "help",
    "help": "help",
}
_LEAVING = {"quit", "exit", ":q", "bye"}
# A dash that a word processor or a web page has made of a minus is a minus.
_SENTENCE = re.compile(r"(?P<sign>[+\-\u2212\u2013]?)\s*(?P<n>[0-9]{1,9})[.:)]?(?:\s+(?P<text>\S.*))?", re.DOTALL)
_NUMBERS = re.compile(r"[0-9]{1,9}(?:[\s,]+[0-9]{1,9})*")


@dataclass(frozen=True, slots=True)
class Command:
    """One line, understood: what to do, with which sentences (from 1), and the reason that goes with it."""

    word: Word
    sentences: tuple[int, ...] = ()
    text: str = ""


def parse(line: str) -> Command:
    """What a line means; raises `InputError` that says what was not understood and what may be typed instead.

    White space in a reason is evened out; whatever else it holds stays, quotes and brackets included.
    """
    hidden = sorted({f"U+{ord(c):04X}" for c in line if unicodedata.category(c) == "Cc" and not c.isspace()})
    if hidden:
        raise InputError(f"the line holds a control character ({hidden[0]}), of an arrow key perhaps; type it again")
    if any("\ud800" <= c <= "\udfff" for c in line):  # what Python makes of bytes that are no text
        raise InputError("the line is not in the terminal's encoding; type it again")
    text = " ".join(line.split())
    word = _WORDS.get(text.casefold())
    if word is not None:
        return Command(word)
    if text.casefold() in _LEAVING:
        raise InputError("q keeps the original and ends here; Ctrl-C leaves without deciding")
    match = _SENTENCE.fullmatch(text)
    if match is None:
        raise InputError(
            f"not understood: {_short(text)!r}; a reason begins with the number of its sentence, such as: "
            "2 The price is missing. (? shows all commands)"
        )
    n, said = int(match["n"]), match["text"] or ""
    if match["sign"] == "":
        return Command("set" if said else "show", (n,), said)
    if match["sign"] == "+":
        if not said:
            raise InputError(f"+{n} adds to a reason; say what: +{n} TEXT")
        return Command("add", (n,), said)
    if said and not _NUMBERS.fullmatch(said):
        raise InputError(f"-{n} drops a reason and takes no text; for another reason: {n} TEXT")
    return Command("drop", (n, *(int(number) for number in re.findall(r"[0-9]+", said))))


def edited(critique: Critique, review: Review, command: Command) -> Review:
    """The review after one more edit (`set`, `add`, `drop`) of the critique that was selected.

    Raises `InputError` for a sentence that is not there, and for a reason to be dropped where there is none.
    """
    for n in command.sentences:
        check_sentence(critique, n)
    if command.word == "drop":
        for n in dict.fromkeys(command.sentences):
            review = _dropped(critique, review, n)
        return review
    (n,) = command.sentences
    note = FeedbackNote(sentence=n, reason=command.text)
    if command.word == "add" and n not in review.drop:
        return _review((*review.replace,), (*review.add, note), review.drop)
    rest = _without(review, n)
    return _review((*rest.replace, note), rest.add, rest.drop)


def check_sentence(critique: Critique, n: int) -> None:
    """Raises `InputError` unless the critique has a sentence of that number."""
    count = len(critique.sentences)
    if not 1 <= n <= count:
        known = "only sentence 1" if count == 1 else f"sentences 1 to {count}"
        raise InputError(f"there is no sentence {n}: the answer has {known}")


def _dropped(critique: Critique, review: Review, n: int) -> Review:
    rest = _without(review, n)
    was_incomplete = critique.sentences[n - 1].tag == "Incomplete"
    if n in review.drop or (rest == review and not was_incomplete):
        raise InputError(f"sentence {n} is complete already, so there is nothing to drop")
    return _review(rest.replace, rest.add, (*rest.drop, n)) if was_incomplete else rest


def _without(review: Review, n: int) -> Review:
    return _review(
        tuple(note for note in review.replace if note.sentence != n),
        tuple(note for note in review.add if note.sentence != n),
        tuple(m for m in review.drop if m != n),
    )


def _review(replace: tuple[FeedbackNote, ...], add: tuple[FeedbackNote, ...], drop: tuple[int, ...]) -> Review:
    return Review(action="go on", replace=replace, add=add, drop=drop)


def _short(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


PROMPT = "review> "
_LONGEST_LINE = 4095  # bytes that a terminal without line editing passes on of one line


class LeftError(Exception):
    """The person went away without an answer: Ctrl-C, Ctrl-D, a terminal that was closed."""


def check_terminal() -> None:
    """Raises `InputError` unless a person can be asked: standard input and standard error must be a terminal."""
    for name, stream in (("input", sys.stdin), ("error", sys.stderr)):
        if stream is None or not stream.isatty():
            raise InputError(
                f"--interactive asks at a terminal, and standard {name} is none; leave the flag out, or give the notes "
                'in the row (--mode human, "feedback")',
                field="interactive",
            )


def read_line() -> str:
    """One line from the person, without its end. Raises `LeftError` at the end of input and at Ctrl-C."""
    try:
        edits = _has_line_editing()
        if edits:
            line = input(PROMPT)
        else:
            sys.stderr.write(PROMPT)
            sys.stderr.flush()
            line = sys.stdin.readline()
            if not line:
                raise EOFError
            line = line.removesuffix("\n")
    except UnicodeDecodeError:
        raise InputError("the line is not in the terminal's encoding; type it again") from None
    except (EOFError, KeyboardInterrupt, OSError):
        with contextlib.suppress(OSError):  # what is said next begins a line; a terminal that is gone hears nothing
            sys.stderr.write("\n")
        raise LeftError from None
    if not edits and len(line.encode("utf-8", "surrogateescape")) >= _LONGEST_LINE:
        raise InputError(
            f"the terminal passes on {_LONGEST_LINE:,} bytes of a line and has cut this one off; give it in parts: "
            "2 TEXT, then +2 TEXT"
        )
    return line


def _has_line_editing() -> bool:
    """Whether a line can be edited, recalled and of any length: Python asks `readline` where both are a terminal."""
    if not sys.stdout.isatty():
        return False
    try:
        import readline  # noqa: F401  # importing it is what switches it on
    except ImportError:
        return False
    return True


def forget_typed_ahead() -> None:
    """Drops what was typed until now: an impatient Enter is no answer to a question that was not yet to be seen."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
