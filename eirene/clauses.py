"""Cuts an answer into the units that are held against arguments: its sentences and, inside them, their clauses.

Two things happen here, by rules of English that know no data set: what only says *that* something is claimed ("Critics
reply that", "On the other hand,") is taken off the text that an encoder reads, and a sentence is cut where another statement
begins. Offsets always point into the answer. A text in another language comes through whole, as sentences.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from eirene.openings import opening_length
from eirene.sentences import Sentence
from eirene.verbs import SUBORDINATORS, finite_verb, looks_like_base

MIN_CLAUSE_WORDS = 3
"""Fewer words on one side of a cut are no statement of their own."""

_WORD = re.compile(r"[^\W_][\w'’-]*")
# A cut stands after the mark, before the words that join; `strong` joints open a statement whatever follows.
_STRONG = re.compile(
    r"""\s*;\s+
      | ,?\s+(?:as\s+well\s+as|and\s+also|and|but|or|while)\s+that\s+(?=\S)
      | ,\s+(?:whereas|although|though)\s+
""",
    re.VERBOSE | re.IGNORECASE,
)
_WEAK = re.compile(r"(?:,|\s+[-–—]{1,3})?\s+(?:and|but|while|yet)\s+", re.IGNORECASE)

# A statement that opens with one of these goes on about the one before it: apart, neither could be judged.
_LEANS_BACK = frozenset(
    "so thus then therefore thereby hence consequently this that these those they he she him them some others neither".split()
)
_ADVERBS = frozenset("also even still often yet too not".split())
_CONDITIONS = frozenset("if when because since unless although though".split())
_OBJECTS = frozenset("a an the their its his her our your my it them these those this that to for".split())
_REACH = 10
"""A subject has fewer words than this before its verb."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence or a clause of an answer.

    `sentence` counts from 0. `answer[start:end]` is what it says, white space and (for clauses) joining words left out; `text` is the
    same for the encoder, openings like "Critics add that" taken off. `is_clause` is False for whole sentences.
    """

    sentence: int
    start: int
    end: int
    text: str
    is_clause: bool


def units_of(answer: str, sentences: Sequence[Sentence]) -> tuple[Unit, ...]:
    """The units of an answer, sentence by sentence: the sentence itself, then its clauses if it has more than one.

    `sentences` are those of `answer` as `split_sentences` cuts them. A piece of white space alone is a unit with an
    empty text, so that every sentence has exactly one unit that is no clause.
    """
    units: list[Unit] = []
    for index, sentence in enumerate(sentences):
        start, end = sentence.text_start, sentence.text_end
        units.append(Unit(index, start, end, core_text(answer[start:end]), False))
        spans = list(clause_spans(answer[start:end]))
        if len(spans) > 1:
            units.extend(
                Unit(index, start + a, start + b, core_text(answer[start + a : start + b]), True) for a, b in spans
            )
    return tuple(units)


def core_text(text: str) -> str:
    """The text without attribution or discourse openings, list marker and closing mark; never empty if `text` is not."""
    rest = text[opening_length(text) :].strip()
    return rest or text.strip()


def clause_spans(text: str) -> Iterator[tuple[int, int]]:
    """Offsets of the clauses of one sentence, joining words between them left out; one span where there is no cut.

    The first clause keeps the sentence's opening ("Supporters argue that ..."), so that it can be cut off or kept with it.
    """
    for start, end in _cut(text, 0, len(text), _STRONG):
        yield from _cut(text, start, end, _WEAK)


def deletions(units: Sequence[Unit], dropped: Collection[Unit]) -> tuple[tuple[int, int], ...]:
    """The spans of the answer to delete so that the given clauses of one sentence go and the rest still reads.

    `units` are all clauses of the sentence, in order; not all may be dropped (delete the sentence instead). A clause goes with
    the joint before it, leading clauses with the joint after them; the sentence's opening stays for the clause that follows.
    Raises ValueError where nothing would be left.
    """
    kept = [unit for unit in units if unit not in dropped]
    if not kept:
        raise ValueError("deletions would leave no clause; delete the whole sentence instead")
    spans = []
    for before, unit in zip([None, *units], units, strict=False):
        if unit in dropped and before is not None and unit.start > kept[0].start:
            spans.append((before.end, unit.end))
    return tuple(spans)


def _cut(text: str, start: int, end: int, joints: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The pieces of text[start:end] between those joints that stand between two statements."""
    for joint in joints.finditer(text, start, end):
        before, after = _words(core_text(text[start : joint.start()])), _words(text[joint.end() : end])
        if min(len(before), len(after)) < MIN_CLAUSE_WORDS:
            continue
        if joints is _STRONG or (_ends_statement(before, text[start : joint.start()]) and _starts_statement(after)):
            yield start, joint.start()
            start = joint.end()
    yield start, end


def _words(text: str) -> list[str]:
    return [match.group().lower().replace("’", "'") for match in _WORD.finditer(text)]


def _ends_statement(words: list[str], text: str) -> bool:
    """Whether the words before "and" are a statement, not half of a pair ("both a and b") or of a condition ("if a and b")."""
    if "," not in text and words[0] in SUBORDINATORS:
        return False
    if {"between", "both", "either"} & set(words[-4:]):
        return False
    # Of "... if the separation of church" only what follows "if" can be the statement that "and" would close.
    inner = max((n for n, word in enumerate(words) if word in _CONDITIONS), default=-1)
    return finite_verb(words[inner + 1 :]) is not None


def _starts_statement(words: list[str]) -> bool:
    """Whether the words after "and" have a subject and a verb of their own, in this order and close by."""
    if words[0] in _LEANS_BACK:
        return False
    while words and (words[0] in _ADVERBS or words[0].endswith("ly")):
        words = words[1:]
    verb = finite_verb(words[:_REACH])
    if not verb:  # none, or a verb without a subject: "and helps to ..."
        return False
    if any(word in SUBORDINATORS for word in words[:verb] if word != "if"):
        return False
    return not (looks_like_base(words[0]) and not words[0].endswith("s") and words[1] in _OBJECTS)
