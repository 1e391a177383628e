"""What is to be done to an answer, before anything is said about how."""

from __future__ import annotations

from dataclasses import dataclass

from eirene.refiners.edits import Edit


@dataclass(frozen=True, slots=True)
class Addition:
    """Something to be said after the sentence that ends at (or holds) offset `after`.

    `group` names the perspective that it belongs to, None for plain facts; `opens` says that the answer has nothing of
    that perspective yet.
    """

    text: str
    after: int
    group: str | None = None
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be done to an answer: `removals` are spans of it, `moves` spans and what is said elsewhere instead."""

    additions: tuple[Addition, ...] = ()
    removals: tuple[tuple[int, int], ...] = ()
    moves: tuple[tuple[tuple[int, int], Addition], ...] = ()
    replacements: tuple[Edit, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.additions or self.removals or self.moves or self.replacements)
