"""The interface of refiners: a task in, a rewritten answer out, or several drafts of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from eirene.core.critique import Critique
from eirene.core.loop_settings import RewriteForm
from eirene.core.records import Change, Item, Mode
from eirene.core.usage import Meter
from eirene.core.verification import NumberedEvidence


@dataclass(frozen=True, slots=True)
class Rejection:
    """What the gate found wrong with an earlier candidate of the same text, for the next try.

    `changes` are those of the patch that made it, where one did.
    """

    candidate: str
    why: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class RefineTask:
    """One rewriting job. `answer` is the best text so far; `critique` is None in the modes that use none.

    `seed` is derived for this round; the same task gives the same rewrite where the model can be seeded. `undone`:
    edits of earlier, accepted rewrites that the gate undid, each in words with its reason. `evidence`: the sentences of
    the passages that a language model is shown; None for all. `form`, `count` and `temperature` say how it is to draw:
    what it writes, how many rewrites at once, and how freely.
    """

    item: Item
    answer: str
    mode: Mode
    critique: Critique | None
    rejections: tuple[Rejection, ...]
    seed: int
    undone: tuple[str, ...] = ()
    evidence: NumberedEvidence | None = None
    form: RewriteForm = "whole"
    count: int = 1
    temperature: float | None = 0.0


@dataclass(frozen=True, slots=True)
class DrawnText:
    """One rewrite that a model drew. `changes` of its patch were made, `refused` ones were not, each with the reason.

    `unusable`: why the reply could not be read as a rewrite; `text` is then what came.
    """

    text: str
    seed: int
    form: RewriteForm = "whole"
    changes: tuple[Change, ...] = ()
    refused: tuple[str, ...] = ()
    unusable: str | None = None


class Refiner(Protocol):
    """Rewrites answers. Implementations are small classes; nobody inherits to share code.

    One that heeds a task's `form`, `count` and `temperature` says so by `draws = True`, for the signature of the run.
    """

    @property
    def name(self) -> str:
        """What the record calls this refiner."""
        ...

    async def refine(self, task: RefineTask, *, meter: Meter) -> str | Sequence[DrawnText]:
        """The rewritten answer, whole, or what a model drew, at least one draft; those that draw are asked again where
        nothing new came. Returning the text unchanged means that nothing could be bettered.

        Raises `BackendError` when the model cannot be reached or gives nothing; every call goes on `meter`.
        """
        ...
