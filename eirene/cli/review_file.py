"""The critique as a text file that a person edits, and what the file says when it comes back.

An entry stands at the beginning of a line; texts of the answer and of models never do: sentences are comments, and what
a reason goes on with is indented. So nothing that a model wrote is taken for an entry.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from eirene.core.critique import Critique, FeedbackNote, Review, TaggedSentence
from eirene.core.errors import InputError
from eirene.core.records import WITHOUT_FAULT, Item
from eirene.views.facts import visible_line
from eirene.views.faults import verdict_of

_WIDTH = 100
_ENTRY = re.compile(r"([0-9]{1,9})[.)]?[ \t]+\[?(complete|incomplete)\]?(?:[ \t]*:(.*))?", re.IGNORECASE)
_KEEP = "keep the original"
_HEAD = f"""\
Your review of the critique. Save and close the editor, and it is read; lines that begin with # are not.
Each sentence has an entry, with its tag and, if it is incomplete, the reason:
    1 Complete
    2 Incomplete: The price is missing.
A reason may go on in further lines that are indented.
To have nothing rewritten, write a line: {_KEEP}
To leave without deciding, empty the file."""
_PROBLEM = "# Not read: "


def write_review(critique: Critique, item: Item, *, asked: Mapping[str, Any] | None = None, hint: str = "") -> str:
    """The critique as a file to be edited, with what the answer is compared with.

    `asked` is the question of the run: why it is asked, and the votes; `hint` is said beside.
    """
    blocks = ["\n".join(f"# {line}" for line in _HEAD.splitlines())]
    if asked is not None:
        blocks.append(_comments(*_about(asked, critique, item), hint))
    for sentence in critique.sentences:
        found = "" if asked is None else _found(sentence, asked)
        said = _comments(f'"{visible_line(sentence.text)}"{found}')
        blocks.append(f"{said}\n{_entry(sentence)}")
    given = [f"{side.name}: {argument}" for side in item.perspectives or () for argument in side.arguments]
    given += list(item.context or ())
    return "\n\n".join([*blocks, *([_comments("Given with the answer:", *given)] if given else [])]) + "\n"


def read_review(text: str, critique: Critique) -> Review:
    """What the file changes in the critique, or that the original is kept.

    A reason that begins as the old one is added to, and keeps its findings; any other replaces it. Raises `InputError`
    that names the line and what may stand there.
    """
    if any(line.rstrip().casefold() == _KEEP for _, line in _lines(text)):
        return Review(action="stop")
    entries = _entries(text, len(critique.sentences))
    replace, add, drop = [], [], []
    for sentence in critique.sentences:
        n, entry, before = sentence.n, entries[sentence.n], visible_line(sentence.reason or "")
        reason = " ".join(" ".join(entry.reason).split())
        was_complete = sentence.tag == "Complete"
        if entry.is_complete:
            if reason:
                raise InputError(f"line {entry.line}: sentence {n} is Complete and has a reason; drop one of the two")
            drop += [] if was_complete else [n]
        elif not reason:
            raise InputError(f"line {entry.line}: sentence {n} is Incomplete and has no reason; say what it lacks")
        elif not was_complete and reason.startswith(f"{before} "):
            add.append(FeedbackNote(sentence=n, reason=reason[len(before) + 1 :]))
        elif was_complete or reason != before:
            replace.append(FeedbackNote(sentence=n, reason=reason))
    return Review(action="go on", replace=tuple(replace), add=tuple(add), drop=tuple(drop))


def with_problem(text: str, critique: Critique) -> str:
    """A text that cannot be read, with the reason in its first line; the reason names lines as they stand then."""
    rest = text.partition("\n")[2] if text.startswith(_PROBLEM) else text
    try:
        read_review(f"{_PROBLEM}\n{rest}", critique)
    except InputError as error:
        return f"{_PROBLEM}{error}\n{rest}"
    return rest


def _about(asked: Mapping[str, Any], critique: Critique, item: Item) -> Iterator[str]:
    """What a person is to know first, a paragraph each."""
    from eirene.views.terminal import FRACTION, history_lines

    if item.history:
        yield "Conversation before:"
        yield from (line.plain for line in history_lines(item.history))
    yield f"Question: {asked['question']}"
    if asked["round"] > 1:
        yield f"This is the critique of the rewrite accepted so far (round {asked['round']})."
    yield _why(asked, critique)
    if asked.get("draft"):
        yield "The changes that you made before are in it."
    if any(s["votes"] for s in asked["critique"]["sentences"]):
        yield FRACTION.format("drawn critiques")


def _why(asked: Mapping[str, Any], critique: Critique) -> str:
    otherwise = asked["otherwise"]
    if otherwise == "refine":
        return "The answer has not been rewritten yet. You can change the critique first."
    if asked["mode"] == "human":
        return "Nobody has judged these sentences yet. Give a reason for each that lacks something."
    if otherwise in WITHOUT_FAULT:
        but = "" if critique.unchecked is None else f" {_sentence_case(critique.unchecked)} was not checked."
        return f"Nothing was found incomplete.{but} If something is, name it; else nothing will be rewritten."
    why = "No usable critique: " + asked["why"] if otherwise == "abstained" else _sentence_case(asked["why"])
    return f"{why}. You can give the reasons yourself; else nothing will be rewritten."


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")


def _found(sentence: TaggedSentence, asked: Mapping[str, Any]) -> str:
    """Behind a sentence: its verdict in a word, and how many of the drawn critiques found a fault there."""
    votes = asked["critique"]["sentences"][sentence.n - 1]["votes"]
    verdict = verdict_of(sentence)
    word = verdict.gaps[0].label if verdict.votes_for_gap else verdict.word
    return f" ({word})" if votes is None else f" ({word}, {votes['incomplete']}/{votes['drawn']})"


class _ReviewEntry(NamedTuple):
    line: int
    is_complete: bool
    reason: list[str]


def _entries(text: str, count: int) -> dict[int, _ReviewEntry]:
    entries: dict[int, _ReviewEntry] = {}
    entry: _ReviewEntry | None = None
    for number, line in _lines(text):
        if line[0] in " \t":
            if entry is None:
                raise InputError(f"line {number} is indented and belongs to no entry")
            entry.reason.append(line)
            continue
        match = _ENTRY.fullmatch(line.rstrip())
        if match is None:
            short = line if len(line) <= 40 else f"{line[:40]}…"
            raise InputError(
                f"line {number} is no entry: {short!r}; an entry is a number and a tag, such as: "
                "2 Incomplete: The price is missing."
            )
        n = int(match[1])
        if not 1 <= n <= count:
            raise InputError(f"line {number}: there is no sentence {n}: the answer has {count}")
        if n in entries:
            raise InputError(f"line {number}: sentence {n} has an entry already, in line {entries[n].line}")
        entry = entries[n] = _ReviewEntry(number, match[2].casefold() == "complete", [match[3] or ""])
    for n in range(1, count + 1):
        if n not in entries:
            raise InputError(f"sentence {n} has no entry; give it one, {n} Complete if nothing is wrong with it")
    return entries


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are read, with their numbers."""
    for number, line in enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), start=1):
        if line.startswith("#") or not line.strip():
            continue
        hidden = next((c for c in line if unicodedata.category(c) in ("Cc", "Cs") and not c.isspace()), None)
        if hidden is not None:
            raise InputError(f"line {number} holds a control character (U+{ord(hidden):04X}); take it out")
        yield number, line


def _entry(sentence: TaggedSentence) -> str:
    if sentence.tag == "Complete":
        return f"{sentence.n} Complete"
    return _wrapped(f"{sentence.n} Incomplete: {visible_line(sentence.reason or '')}", after="    ")


def _comments(*texts: str) -> str:
    return "\n".join(_wrapped(visible_line(text), before="# ", after="#   ") for text in texts if text)


def _wrapped(text: str, *, before: str = "", after: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent=before, subsequent_indent=after, break_long_words=False, break_on_hyphens=False
    )  # fmt: skip
