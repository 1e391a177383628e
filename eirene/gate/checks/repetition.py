"""Repetition check: a sentence, or a clause of one, that the text says already, or a given argument made twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
"""Most pieces that a new one is compared with, and places of a word that are counted: this keeps long texts linear."""
_LONGEST = 2_000
"""Characters of a sentence up to which it is cut into clauses and compared by its words."""


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
    """Objects to new sentences and clauses that say again what another one says.

    Where the text before said it as often, that is no fault of the edits.
    """
    yield from objections_at(case, _said_again(case))
    yield from repeated_argument(case)


def mended_repetition(case: EditCase) -> Iterator[Objection]:
    """The same for what a removal mended, where two sentences with one argument need not be alike."""
    yield from objections_at(case, _said_again(case))
    yield from argument_made_twice(case)


def _said_again(case: EditCase) -> Iterator[PlacedFault]:
    changed = frozenset(n for n, edit in case.changed() if edit.after)
    if not changed:
        return
    after = _Pieces([p for n, e in enumerate(case.edits) if e.after for p in _cut(case.new(e), e.after[0], n)])
    before = _Pieces([p for s in split_sentences(case.before) if s.text for p in _cut(s.text, s.text_start, -1)])
    for number, piece in enumerate(after.pieces):
        is_whole = piece.share >= 0.5 or case.edits[piece.edit].before is not None
        if piece.edit not in changed or not is_whole or case.edits[piece.edit].kind == "moved":
            continue
        check_cancelled()
        alike = after.alike(case, piece)
        twin = next((t for n, t in alike if _apart(piece, t) and (n < number or t.edit not in changed)), None)
        if twin is not None and len(alike) > len(before.alike(case, piece)):
            yield PlacedFault(piece.start, piece.end, f"says again: {quoted(twin.text)}")


def _cut(text: str, offset: int, edit: int) -> Iterator[_SaidPiece]:
    clauses = list(clause_spans(text)) if len(text) <= _LONGEST else []
    for start, end in [(0, len(text)), *(clauses if len(clauses) > 1 else [])]:
        core = core_text(text[start:end])
        letters = "".join(filter(str.isalnum, core.lower()))
        words = frozenset(stems(core)) if len(core) <= _LONGEST else frozenset()
        yield _SaidPiece(offset + start, offset + end, edit, core, letters, words, (end - start) / max(len(text), 1))


def _apart(one: _SaidPiece, other: _SaidPiece) -> bool:
    return other.end <= one.start or one.end <= other.start


class _Pieces:
    """The pieces of a text, and which of them say the same as another one."""

    def __init__(self, pieces: Sequence[_SaidPiece]) -> None:
        self.pieces = pieces
        self._places: dict[str, list[int]] = defaultdict(list)
        for n, piece in enumerate(pieces):
            for word in (*piece.stems, f"={piece.letters}"):
                if len(self._places[word]) < _COMPARED:
                    self._places[word].append(n)

    def alike(self, case: EditCase, piece: _SaidPiece) -> list[tuple[int, _SaidPiece]]:
        """The pieces that say the same, each with its number; of nested ones each."""
        same = set(self._places.get(f"={piece.letters}", ())) if len(piece.letters) >= _LETTERS else set()
        shared = Counter(n for word in piece.stems for n in self._places.get(word, ()))
        for n, count in shared.most_common(_COMPARED) if len(piece.stems) >= _WORDS else ():
            other = self.pieces[n]
            share = count / len(piece.stems | other.stems)
            if (
                n not in same
                and share >= _NEAR
                and len(other.stems) >= _WORDS
                and _say_the_same(case, piece, other, share)
            ):
                same.add(n)
        return [(n, self.pieces[n]) for n in sorted(same)]


def _say_the_same(case: EditCase, piece: _SaidPiece, other: _SaidPiece, share: float) -> bool:
    if share < _SAME:
        if case.encoder is None:
            return False
        a, b = case.encoder.encode([piece.text, other.text])
        if float(a @ b) < _COSINE:
            return False
    numbers = [{w for w in p.stems if any(map(str.isdigit, w))} for p in (piece, other)]
    return numbers[0] == numbers[1] and not sign_turns(other.text, piece.text)
