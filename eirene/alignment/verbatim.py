"""Verbatim matches: given texts that an answer contains word for word.

An encoder reads a unit as a whole: where two arguments share a clause it is close to neither. Words in order need no
encoder. Articles and auxiliaries may differ, and so may endings ("save the family money" for "saves families money");
every other word counts, negations and directions above all.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from eirene.text.clauses import Unit, opening_length
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.words import content_words, stem, word_spans

LONG = 5
"""Words from which a text is taken for said wherever it stands. A shorter one must fill a clause: "parks cost money" is
not what "Car parks cost money" says."""
SHORT = 3
"""Under so many content words ("It is cheap") nothing may differ, endings neither."""

_MAY_DIFFER_WORDS = "a an the is are was were be been being am has have had do does did its their his her s"
_MAY_DIFFER = frozenset(_MAY_DIFFER_WORDS.split())
_NOT = "NOT"  # stems are in lower case
_SHORTENED = {"can": "can", "won": "will", "shan": "shall"}
_JOINTS = "and|but|or|while|whilst|whereas|although|though|yet|because|since|so"
_SAYING = "says?|said|argues?|argued|adds?|added|holds?|held|thinks?|believes?|claims?|fears?|repl(?:y|ies)|objects?"
_MARKS = r"[,;:.!?()\[\]—–\"“”‘’*_]"
# The "a" of "a tax" is not compared, and so no part of the place.
_LEFT_OUT = rf"(?:\b(?:{'|'.join(sorted(_MAY_DIFFER))})\s+)*\Z"
_BEGINS = re.compile(rf"(?:\A|{_MARKS}|\s-|\b(?:that|how|{_SAYING}|{_JOINTS}))\s*{_LEFT_OUT}", re.IGNORECASE)
_NOTHING = re.compile(_LEFT_OUT, re.IGNORECASE)
_ENDS = re.compile(rf"\s*(?:\Z|{_MARKS}|-\s|(?:which|who|as|when|{_SAYING}|{_JOINTS})\b)", re.IGNORECASE)
_NEAR = 40
"""Characters beside a text that tell whether a clause begins or ends there."""


def verbatim(
    given: Sequence[str], answer: str, units: Sequence[Unit], sentences: Sequence[Sentence]
) -> NDArray[np.bool_]:
    """Which given texts the answer's units say word for word, [G, U].

    A text is said by the sentence that holds most of it and, where that has clauses, by the clause that does. It stands
    in one sentence, or in as many as it has itself.
    """
    table = np.zeros((len(given), len(units)), np.bool_)
    free, exact = _ComparedWords.of(answer, exact=False), _ComparedWords.of(answer, exact=True)
    ends, sayers = [sentence.end for sentence in sentences], _Sayers(units)
    for row, text in zip(table, given, strict=True):
        is_short, is_long = len(content_words(text)) < SHORT, len(list(word_spans(text))) >= LONG
        for start, end in (exact if is_short else free).places(_ComparedWords.of(text, exact=is_short)):
            first, last = bisect_right(ends, start), bisect_right(ends, end - 1)
            if last > first and last - first >= len(split_sentences(text)):
                continue
            if not is_long and not _fills_clause(answer, start, end, sentences[first], sentences[last]):
                continue
            row[sayers.of(start, end, sentences=range(first, last + 1))] = True
    return table


@dataclass(frozen=True, slots=True)
class _ComparedWords:
    """The words of a text that are compared, with their offsets; `joined` has them in order, a space around each."""

    spans: tuple[tuple[int, int], ...]
    starts: tuple[int, ...]
    joined: str

    @classmethod
    def of(cls, text: str, *, exact: bool) -> _ComparedWords:
        found = [(text[a:b].lower(), a, b) for a, b in word_spans(text)]
        found = found if exact else list(_stemmed(found))
        starts = accumulate((len(key) + 1 for key, _, _ in found), initial=0)
        return cls(tuple((a, b) for _, a, b in found), tuple(starts), "".join(f" {key}" for key, _, _ in found) + " ")

    def places(self, part: _ComparedWords) -> Iterator[tuple[int, int]]:
        """Offsets in the text where the words of `part` stand in order, none between them."""
        at = self.joined.find(part.joined) if part.spans else -1
        while at >= 0:
            first = bisect_left(self.starts, at)
            yield self.spans[first][0], self.spans[first + len(part.spans) - 1][1]
            at = self.joined.find(part.joined, at + len(part.joined) - 1)


def _stemmed(words: Sequence[tuple[str, int, int]]) -> Iterator[tuple[str, int, int]]:
    """Stems without the words that may differ; every "not" is one key, whether it is shortened or not."""
    for n, (word, start, end) in enumerate(words):
        after = words[n + 1] if n + 1 < len(words) else ("", 0, 0)
        if word == "t" and n and words[n - 1][0].endswith("n") and start - words[n - 1][2] == 1:
            yield _NOT, start, end
        elif word in ("not", "cannot"):
            if word == "cannot":
                yield "can", start, end
            yield _NOT, start, end
        else:
            is_shortened = after[0] == "t" and word.endswith("n") and after[1] - end == 1
            full = _SHORTENED.get(word, word[:-1]) if is_shortened else word
            if full not in _MAY_DIFFER:
                yield stem(full), start, end


def _fills_clause(answer: str, start: int, end: int, first: Sentence, last: Sentence) -> bool:
    """Whether a clause, or what follows an opening, begins where a piece of the answer does, and one ends with it."""
    begins = _BEGINS.search(answer[max(first.text_start, start - _NEAR) : start])
    opened = first.text_start + opening_length(first.text)
    if begins is None and (opened > start or _NOTHING.match(answer[max(opened, start - _NEAR) : start]) is None):
        return False
    return _ENDS.match(answer[end : min(last.text_end, end + _NEAR)]) is not None


class _Sayers:
    """Finds the units that say a piece of the answer."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self._starts = [unit.start for unit in units]
        self._sentence_of = [unit.sentence for unit in units]

    def of(self, start: int, end: int, *, sentences: range) -> list[int]:
        """The sentence and the clause, if there is one, that hold most of answer[start:end]."""

        def shared(unit: int) -> int:
            return min(self._units[unit].end, end) - max(self._units[unit].start, start)

        wholes = [bisect_left(self._sentence_of, s) for s in sentences]
        near = range(max(bisect_right(self._starts, start) - 1, wholes[0]), bisect_left(self._starts, end))
        clauses = [u for u in near if self._units[u].is_clause]
        return [max(kind, key=shared) for kind in (wholes, clauses) if kind]
