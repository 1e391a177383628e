"""Chunks of given text that is too long for a local model, each beside the whole answer.

Every detector on a local model cuts here, and combines what it finds by a rule of its own; an answer is never cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Score, Unscored, number
from eirene.text.sentences import split_sentences

EMPTY = "it is empty"
"""Why a part has no score that the whole can do without."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of one of several texts: which of them (from 0), and the part's offsets in it."""

    text: int
    start: int
    end: int

    def of(self, texts: Sequence[str]) -> str:
        """What stands there."""
        return texts[self.text][self.start : self.end]


Count = Callable[[Sequence[Piece]], int]
"""How many tokens a model would have to read with these pieces and no others."""


def whole(texts: Sequence[str]) -> list[Piece]:
    """Every text as one piece, in order."""
    return [Piece(n, 0, len(text)) for n, text in enumerate(texts)]


def sentences_of(texts: Sequence[str]) -> list[Piece]:
    """Every sentence of every text as a piece of its own, without the white space around it; blank ones left out."""
    found = [(n, s) for n, text in enumerate(texts) for s in split_sentences(text)]
    return [Piece(n, s.text_start, s.text_end) for n, s in found if s.text]


def share_out(
    pieces: Sequence[Piece],
    texts: Sequence[str],
    count: Count,
    *,
    limit: int | None,
    beside: str = "question and answer",
) -> list[list[Piece]] | Unscored:
    """The pieces in chunks of at most `limit` tokens, at least one, in order; or why they cannot be had.

    What is too long is halved, and halved again: between two pieces if there are several (the boundary next to the
    middle), else between two sentences of the piece, and only a sentence that does not fit by itself between two
    words. Nothing is left out and nothing stands in two chunks. `beside` says what a chunk stands beside.
    """
    if limit is None or count(pieces) <= limit:
        return [list(pieces)]
    alone = count([Piece(p.text, p.start, p.start) for p in pieces[:1]])  # the frame of given text, and nothing in it
    if alone <= limit and (found := _halved(pieces, texts, lambda some: count(some) <= limit)) is not None:
        return found
    if alone > limit:
        return Unscored(unscored=f"{beside} have {alone} tokens, more than the {limit} that fit; nothing is cut off")
    return Unscored(
        unscored=f"{beside} have {alone} of the {limit} tokens that fit, which leaves no room for a word of what was "
        "given; nothing is cut off"
    )


def packed(pieces: Sequence[Piece], sizes: Sequence[int], limit: int) -> list[list[Piece]]:
    """The pieces in order, in chunks as long as they may be: of at most `limit` in sum, or of one piece beyond it."""
    chunks: list[list[Piece]] = []
    total = 0
    for piece, size in zip(pieces, sizes, strict=True):
        total += size
        if not chunks or total > limit:
            chunks.append([])
            total = size
        chunks[-1].append(piece)
    return chunks


def part_of(given: Grounding, chunk: Iterable[Piece]) -> Grounding:
    """The given text with a chunk's pieces alone; groups of which it has none are left out."""
    texts, groups, first = given.arguments, [], 0
    pieces = list(chunk)
    for group in given.groups:
        own = [p for p in pieces if first <= p.text < first + len(group.arguments)]
        first += len(group.arguments)
        if own:
            groups.append(ArgumentGroup(group.name, tuple(_shown(p, texts) for p in own)))
    return Grounding(given.source, tuple(groups))


def _shown(piece: Piece, texts: Sequence[str]) -> str:
    text = piece.of(texts)
    return text if text == texts[piece.text] else text.strip()


def _halved(
    pieces: Sequence[Piece], texts: Sequence[str], fits: Callable[[Sequence[Piece]], bool]
) -> list[list[Piece]] | None:
    """Chunks that fit; None if a piece is too long that cannot be cut any further."""
    if fits(pieces):
        return [list(pieces)]
    if len(pieces) > 1:
        ends = list(accumulate(p.end - p.start for p in pieces))
        at = min(range(1, len(ends)), key=lambda n: abs(2 * ends[n - 1] - ends[-1]))  # nearest to the middle
        halves = [pieces[:at], pieces[at:]]
    else:
        piece = pieces[0]
        cut = _place_to_cut(piece.of(texts))
        if cut is None:
            return None
        middle = piece.start + cut
        halves = [[Piece(piece.text, piece.start, middle)], [Piece(piece.text, middle, piece.end)]]
    chunks: list[list[Piece]] = []
    for half in halves:
        found = _halved(half, texts, fits)
        if found is None:
            return None
        chunks += found
    return chunks


def _place_to_cut(text: str) -> int | None:
    """Where a sentence begins next to the text's middle, else white space; None in a text of one word."""
    starts = [s.start for s in split_sentences(text) if s.start > 0]
    inner = text.strip()
    first = text.find(inner)
    spaces = [n for n in range(first + 1, first + len(inner)) if text[n].isspace()] if not starts else []
    return min(starts or spaces, key=lambda n: abs(2 * n - len(text)), default=None)


def together(errors: Sequence[Score], combined: Callable[[list[float]], float] = max) -> Score:
    """The worst, or another measure of all; where a part is unscored, so is the whole: the worst may be that part."""
    unscored = [e for e in errors if isinstance(e, Unscored) and e.unscored != EMPTY]
    if unscored:
        return unscored[0]
    numbers = [n for e in errors if (n := number(e)) is not None]
    return combined(numbers) if numbers else Unscored(unscored="there is nothing to score")
