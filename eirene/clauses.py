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

MIN_CLAUSE_WORDS = 3
"""Fewer words on one side of a cut are no statement of their own."""

_WORD = re.compile(r"[^\W_][\w'’-]*")
# A cut stands after the mark, before the words that join; `strong` joints open a statement whatever follows.
_STRONG = re.compile(
    r"""\s*;\s+
      | ,?\s+(?:as\s+well\s+as|and\s+also|and|but|or|while)\s+that\s+(?=\S)
      | ,\s+(?:whereas|although|though)\s+
      | \s+[-–—]{1,3}\s+(?=(?:and|but|so|yet)\b)""",
    re.VERBOSE | re.IGNORECASE,
)
_WEAK = re.compile(r",?\s+(?:and|but|while|yet|so)\s+", re.IGNORECASE)

# Words that show a finite verb. Content verbs are open-ended: `_VERB_ENDING` and the words below catch most of them.
_AUXILIARY = frozenset(
    ["is", "are", "was", "were", "am", "be", "been", "has", "have", "had", "do", "does", "did", "can", "could", "will", "would", "shall", "should", "may", "might", "must", "cannot", "isn", "aren", "wasn", "weren", "hasn", "haven", "hadn", "don", "doesn", "didn", "couldn", "won", "wouldn", "shouldn", "mustn", "makes", "make", "gives", "give", "takes", "take", "leads", "lead", "helps", "help", "allows", "allow", "needs", "need", "means", "mean", "gets", "get", "keeps", "keep", "causes", "cause", "costs", "cost", "puts", "put", "lets", "let", "says", "say", "goes", "go", "comes", "come", "became", "become", "becomes", "brings", "bring", "provides", "provide", "creates", "create", "increases", "reduces", "improves", "harms", "hurts", "saves", "remains", "works", "deserves", "deserve", "want", "wants", "becomes", "tends", "tend", "seem", "seems", "exist", "exists", "depend", "depends"]
)
_SUBJECT = frozenset(
    ["it", "they", "he", "she", "we", "you", "i", "there", "this", "that", "these", "those", "people", "everyone", "nobody", "one", "no", "some", "many", "most", "all", "each", "every", "the", "a", "an", "its", "their", "his", "her", "our", "your", "my", "children"]
)
_VERB_ENDING = re.compile(r"(?:[^s]s|ed)$")


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
    start = 0
    for joint_start, joint_end in _joints(text):
        if _words(text[start:joint_start]) >= MIN_CLAUSE_WORDS and _words(text[joint_end:]) >= MIN_CLAUSE_WORDS:
            yield start, joint_start
            start = joint_end
    yield start, len(text)


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


def _words(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))


def _joints(text: str) -> Iterator[tuple[int, int]]:
    strong = [m.span() for m in _STRONG.finditer(text)]
    weak = [m.span() for m in _WEAK.finditer(text) if not any(a < m.end() and m.start() < b for a, b in strong)]
    for start, end in sorted([*strong, *weak]):
        if (start, end) in strong or _joins_statements(text[:start], text[end:]):
            yield start, end


def _joins_statements(before: str, after: str) -> bool:
    return _has_verb(before) and _starts_statement(after)


def _has_verb(text: str) -> bool:
    words = [m.group().lower() for m in _WORD.finditer(text)]
    return any(w.split("'")[0].split("’")[0] in _AUXILIARY for w in words) or any(
        _VERB_ENDING.search(w) for w in words[1:]
    )


def _starts_statement(after: str) -> bool:
    words = [m.group().lower() for m in _WORD.finditer(after)][:8]
    if len(words) < MIN_CLAUSE_WORDS or words[0] in _AUXILIARY:
        return False
    return any(w.split("'")[0].split("’")[0] in _AUXILIARY for w in words[1:])
