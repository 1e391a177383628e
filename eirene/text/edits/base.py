"""Edits as values: what became of a sentence, and of the words of a reworded one, by offsets in both texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eirene.text.matching import Span

EditKind = Literal["kept", "reworded", "added", "removed", "moved"]


@dataclass(frozen=True, slots=True)
class WordEdit:
    """Words of a reworded sentence that changed: offsets in the text before and in the text after.

    One of the two spans may be empty: words that were put in, or left out, at that place.
    """

    before: Span
    after: Span


@dataclass(frozen=True, slots=True)
class SentenceEdit:
    """What became of a sentence: offsets in the text before and in the text after.

    The spans hold neither the white space around a sentence nor the list marker at the beginning of its line: those
    are layout. `before` is None for a sentence that was added, `after` for one that was removed. A `reworded` one has
    its changed words in order, and so has a `moved` one that was reworded too; where one sentence became two, or two
    became one, a span holds both.
    """

    kind: EditKind
    before: Span | None
    after: Span | None
    words: tuple[WordEdit, ...] = ()

    @property
    def mostly_stays(self) -> bool:
        """Whether at least half of a reworded sentence stayed (in characters): its changes can be judged one by one."""
        if self.kind != "reworded" or self.before is None:
            return False
        gone = sum(w.before[1] - w.before[0] for w in self.words)
        return gone <= 0.5 * (self.before[1] - self.before[0])
