"""Repetition check: a sentence, or a clause of one, that the text says already, or a given argument made twice."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import PlacedFault, objections_at, quoted
from eirene.gate.checks.sides import argument_made_twice, repeated_argument
from eirene.text.cancellation import check_cancelled
from eirene.text.clauses import clause_spans, core_text
from eirene.text.polarity import sign_turns
from eirene.text.sentences import split_sentences
from eirene.text.words import stems

_LETTERS = 12
"""Fewest letters of a piece that is not to be said twice word for word."""
_WORDS = 3
"""Fewest content words of a piece that is not to be said twice in nearly the same words."""
_SAME = 0.85
"""Least share of content words in common that makes two pieces the same."""
_NEAR, _COSINE = 0.4, 0.86
"""Least share of content words in common, and cosine, with which two pieces say the same: of 2,090 pairs of different
arguments of one side 2 reach both, and those are the same sentence; of pairs of equal ones a sixth."""
_COMPARED = 100
"""Most pieces that a new one is compared with by its words."""
_LONGEST = 2_000
"""Characters of a sentence up to which it is cut into clauses and compared by its words."""
_STUCK = 6
"""Words in a row that no sentence says twice."""
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_TWICE = re.compile(r"\b([^\W\d_]{2,30})(?:[ \t]++\1\b)++", re.IGNORECASE)
_TWICE_BY_RIGHT = "had that is very so far many much more no now long again bye there who"
_MAY_COME_TWICE = frozenset(_TWICE_BY_RIGHT.split())


@dataclass(frozen=True, slots=True)
class _SaidPiece:
    """A sentence or a clause, without its opening: its place and edit, its letters and content words."""

    start: int
    end: int
    edit: int
    text: str
    letters: str
    stems: frozenset[str]
    share: float


def repetition(case: EditCase) -> Iterator[Objection]:
    """Objects to new sentences and clauses that say again what another one says, and to words that are stuck.

    Where the text before said it as often, that is no fault of the edits.
    """
    yield from _said_again(case)
    yield from repeated_argument(case)


def mended_repetition(case: EditCase) -> Iterator[Objection]:
    """The same for what a removal mended, where two sentences with one argument need not be alike."""
    yield from _said_again(case)
    yield from argument_made_twice(case)


def _said_again(case: EditCase) -> Iterator[Objection]:
    if any(edit.after for _, edit in case.changed()):
        yield from objections_at(case, _faults(case))


def _faults(case: EditCase) -> Iterator[PlacedFault]:
    after = [p for n, e in enumerate(case.edits) if e.after for p in _pieces(case.new(e), e.after[0], n)]
    changed = frozenset(n for n, edit in case.changed() if edit.after)
    twins = _Twins(case, after)
    for number, piece in enumerate(after):
        if piece.edit in changed:
            check_cancelled()
            twin = twins.of(number, changed)
            if twin is not None and (piece.share >= 0.5 or case.edits[piece.edit].before):
                yield PlacedFault(piece.start, piece.end, f"says again: {quoted(twin.text)}")
    for n in changed:
        yield from _stuck(case, n)


def _pieces(text: str, offset: int, edit: int) -> Iterator[_SaidPiece]:
    for start, end, core, letters, words, share in _parts(text):
        yield _SaidPiece(offset + start, offset + end, edit, core, letters, words, share)


@lru_cache(maxsize=1024)
def _parts(text: str) -> tuple[tuple[int, int, str, str, frozenset[str], float], ...]:
    """A sentence and its clauses, each with its letters and content words and its share of the sentence."""
    spans = [(0, len(text))]
    if len(text) <= _LONGEST:
        clauses = list(clause_spans(text))
        spans += clauses if len(clauses) > 1 else []
    found = []
    for start, end in spans:
        core = core_text(text[start:end])
        letters = "".join(filter(str.isalnum, core.lower()))
        words = frozenset(stems(core)) if len(core) <= _LONGEST else frozenset()
        found.append((start, end, core, letters, words, (end - start) / max(len(text), 1)))
    return tuple(found)


class _Twins:
    """The pieces of the text after, and which of them say the same more often than the text before did."""

    def __init__(self, case: EditCase, after: list[_SaidPiece]) -> None:
        self._case, self._after = case, after
        self._before = [p for s in split_sentences(case.before) if s.text for p in _pieces(s.text, s.text_start, -1)]
        self._said = Counter(p.letters for p in self._before)
        self._exact: dict[str, list[int]] = defaultdict(list)
        for number, piece in enumerate(after):
            self._exact[piece.letters].append(number)
        self._by_word, self._by_word_before = _index(after), _index(self._before)

    def of(self, number: int, changed: frozenset[int]) -> _SaidPiece | None:
        """The first piece that says the same as this one, unless it comes later and is new as well."""
        piece = self._after[number]
        same = self._exact[piece.letters]
        if len(piece.letters) >= _LETTERS and len(same) > max(self._said[piece.letters], 1):
            return self._earlier(number, same, changed)
        if len(piece.stems) < _WORDS or self._case.edits[piece.edit].kind == "moved":
            return None
        alike = self._alike(piece, self._after, self._by_word)
        twin = self._earlier(number, alike, changed)
        if twin is None or len(alike) <= len(self._alike(piece, self._before, self._by_word_before)):
            return None
        return twin

    def _earlier(self, number: int, same: Iterable[int], changed: frozenset[int]) -> _SaidPiece | None:
        piece = self._after[number]
        for other in same:
            twin = self._after[other]
            apart = twin.end <= piece.start or piece.end <= twin.start
            if apart and (other < number or twin.edit not in changed):
                return twin
        return None

    def _alike(self, piece: _SaidPiece, pieces: list[_SaidPiece], by_word: dict[str, list[int]]) -> list[int]:
        """The pieces that say the same as this one, itself included; of nested ones each."""
        shared = Counter(n for word in piece.stems for n in by_word.get(word, ()))
        found = []
        for n, count in sorted(shared.most_common(_COMPARED)):
            other = pieces[n]
            share = count / len(piece.stems | other.stems)
            if share >= _NEAR and len(other.stems) >= _WORDS and self._says_the_same(piece, other, share):
                found.append(n)
        return found

    def _says_the_same(self, piece: _SaidPiece, other: _SaidPiece, share: float) -> bool:
        if piece.letters == other.letters:
            return True
        encoder = self._case.encoder
        if share < _SAME and encoder is None:
            return False
        if share < _SAME and encoder is not None:
            a, b = encoder.encode([piece.text, other.text])
            if float(a @ b) < _COSINE or self._carry_two_arguments(piece, other):
                return False
        numbers = [{w for w in p.stems if any(map(str.isdigit, w))} for p in (piece, other)]
        return numbers[0] == numbers[1] and not sign_turns(other.text, piece.text)

    def _carry_two_arguments(self, piece: _SaidPiece, other: _SaidPiece) -> bool:
        """Whether each says another one of the given arguments."""
        case = self._case
        if case.encoder is None or len(case.given_texts) < 2:
            return False
        vectors = case.encoder.encode([*case.given_texts[:_COMPARED], piece.text, other.text])
        cosines = vectors[:-2] @ vectors[-2:].T
        return bool(cosines[:, 0].argmax() != cosines[:, 1].argmax())


def _index(pieces: list[_SaidPiece]) -> dict[str, list[int]]:
    """Where each content word stands; at most so many pieces a word, which keeps long texts linear."""
    index: dict[str, list[int]] = defaultdict(list)
    for n, piece in enumerate(pieces):
        for word in piece.stems:
            if len(index[word]) < _COMPARED:
                index[word].append(n)
    return index


def _stuck(case: EditCase, n: int) -> Iterator[PlacedFault]:
    """Words said twice in a row, and runs of words that come twice in a sentence, unless it had them so before."""
    edit = case.edits[n]
    assert edit.after is not None
    text, start = case.new(edit), edit.after[0]
    for m in _TWICE.finditer(text):
        if m[1].lower() not in _MAY_COME_TWICE and m[1].islower() and m[0] not in case.old(edit):
            yield PlacedFault(start + m.start(), start + m.end(), f"a word said twice: {quoted(m[0])}")
            return
    words = [(m[0].lower(), m.start(), m.end()) for m in _WORD.finditer(text)]
    seen: dict[tuple[str, ...], int] = {}
    for k in range(len(words) - _STUCK + 1):
        run = tuple(word for word, _, _ in words[k : k + _STUCK])
        if seen.setdefault(run, k) <= k - _STUCK:
            again = text[words[k][1] : words[k + _STUCK - 1][2]]
            if case.old(edit).lower().count(again.lower()) < 2:
                yield PlacedFault(start + words[k][1], start + words[k + _STUCK - 1][2], f"says again: {quoted(again)}")
            return
