"""The interface of refiners: a task in, a rewritten answer out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from eirene.core.critique import Critique
from eirene.core.records import Item, Mode
from eirene.core.usage import Meter
from eirene.core.verification import NumberedEvidence


@dataclass(frozen=True, slots=True)
class Rejection:
    """What the gate found wrong with an earlier candidate of the same text, for the next try."""

    candidate: str
    why: str


@dataclass(frozen=True, slots=True)
class RefineTask:
    """One rewriting job. `answer` is the best text so far; `critique` is None in the modes that use none.

    `seed` is derived for this round; the same task gives the same rewrite where the model can be seeded. `undone`:
    edits of earlier, accepted rewrites that the gate undid, each in words with its reason. `evidence`: the sentences of
    the passages that a language model is shown; None for all.
    """

    item: Item
    answer: str
    mode: Mode
    critique: Critique | None
    rejections: tuple[Rejection, ...]
    seed: int
    undone: tuple[str, ...] = ()
    evidence: NumberedEvidence | None = None


class Refiner(Protocol):
    """Rewrites answers. Implementations are small classes; nobody inherits to share code."""

    @property
    def name(self) -> str:
        """What the record calls this refiner."""
        ...

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        """The rewritten answer, whole. Returning the text unchanged means that nothing could be bettered.

        Raises `BackendError` when the model cannot be reached or gives nothing; every call goes on `meter`.
        """
        ...
