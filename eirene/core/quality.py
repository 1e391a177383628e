"""Quality check values: a row's scores and faults as a baseline keeps them, conditions, and the report on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field

from eirene.core.display import Printed
from eirene.core.scores import Scores
from eirene.core.validation import FrozenModel, is_none

FaultKind = Literal["unsupported", "contradicted", "missing", "weakest"]
Operator = Literal[">", ">=", "<", "<="]
Unit = Literal["share", "rows", "score"]
CheckState = Literal["holds", "passed", "unmeasured"]


class RowFault(FrozenModel):
    """A sentence that the given text does not support or contradicts, or a given argument that the answer lacks."""

    kind: FaultKind
    """What is wrong; `weakest`: nothing, but no sentence of the answer is less sure to be supported."""
    text: str
    """The sentence of the answer, or the argument."""
    evidence: str | None = Field(default=None, exclude_if=is_none)
    """The sentence of a passage that decides, or comes nearest; none for arguments."""


class QualityRow(FrozenModel):
    """What was measured of one answer: a line of a baseline. It holds no text but that of faults."""

    id: str
    """The row's id."""
    given: str
    """16 hex digits for the question and what was given with it: only answers to the same are compared."""
    answer: str
    """16 hex digits for the answer."""
    scores: dict[str, Scores]
    """The scores that decide, by detector."""
    faults: tuple[RowFault, ...] = ()
    """What was found wrong, in the order of the answer, missing arguments last; without any, the weakest sentence."""
    claims: Annotated[int, Field(ge=0)] = 0
    """Sentences that were read for support; 0 where none could be."""
    sides: bool = False
    """Whether they were compared with perspectives' arguments, which tells of missing ones and of no contradiction."""
    why: str | None = Field(default=None, exclude_if=is_none)
    """Why a detector gave no score; None where each did."""

    def has(self, kind: FaultKind) -> bool | None:
        """Whether the answer has a fault of a kind; None where that could not be told."""
        told = self.sides if kind == "missing" else self.claims > 0 and not (kind == "contradicted" and self.sides)
        return any(fault.kind == kind for fault in self.faults) if told else None


@dataclass(frozen=True, slots=True)
class Condition:
    """What makes a check fail: a quantity, how it is compared, and with what: a share, a count of rows, or a score."""

    quantity: str
    operator: Operator
    limit: Fraction
    """Exact, as 4 of 200 rows are not more than 2 %."""
    unit: Unit

    def __str__(self) -> str:
        limit = f"{float(100 * self.limit):.12g}%" if self.unit == "share" else f"{float(self.limit):.12g}"
        return f"{self.quantity} {self.operator} {limit}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A quantity on this data: `value` (a share, or a mean), `rows` of `n` measured, and a 95 % interval of the value.

    `value` is None where nothing could be measured, for the reason `why`. `left_out`: rows of which it could not be
    told. `rows` is None for a mean.
    """

    quantity: str
    value: float | None
    rows: int | None = None
    n: int = 0
    left_out: int = 0
    low: float | None = None
    high: float | None = None
    why: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; what is not there is left out."""
        found = {name: getattr(self, name) for name in ("quantity", "value", "rows", "n", "left_out", "low", "high")}
        return {name: value for name, value in {**found, "unmeasured": self.why}.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ConditionOutcome:
    """A condition, the figure that it is about, and what came of it; `why` where that cannot be seen in the figure."""

    condition: Condition
    figure: Figure
    state: CheckState
    why: str | None = None


@dataclass(frozen=True, slots=True)
class RowReport:
    """A row that is shown: which quantities count it, why it got worse, and its faults, new ones first."""

    id: str
    counted: tuple[str, ...]
    why: str | None
    faults: tuple[RowFault, ...]
    new: int
    """How many of the faults were not there before."""


@dataclass(frozen=True, slots=True)
class VerifiedRow:
    """What `eirene verify` shows of a row: `risk` in [0, 1], how many sentences have which verdict, its faults.

    `why` says why nothing was verified, and `risk` is then None. `failed`: what makes the row fail, in words. `asked`:
    of how many sentences a judge was asked, and of how many of these it gave no reading (`unjudged`).
    """

    id: str
    risk: float | None
    verdicts: Mapping[str, int]
    faults: tuple[RowFault, ...] = ()
    why: str | None = None
    failed: tuple[str, ...] = ()
    asked: int = 0
    unjudged: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class QualityReport(Printed):
    """What a check found. `rows` are those that a condition which holds counts, or that got worse, in their order."""

    checked: int
    before: int | None
    """Rows of the baseline; None without one."""
    tolerance: float
    figures: tuple[Figure, ...]
    outcomes: tuple[ConditionOutcome, ...]
    rows: tuple[RowReport, ...]
    notes: tuple[str, ...]
    """What a reader must know beside the figures: rows that could not be scored or compared, and why."""
    signature: str

    @property
    def state(self) -> CheckState:
        """`unmeasured` where a condition cannot be judged, else `holds` where one holds, else `passed`."""
        states = {outcome.state for outcome in self.outcomes}
        return "unmeasured" if "unmeasured" in states else "holds" if "holds" in states else "passed"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "state": self.state,
            "checked": self.checked,
            "before": self.before,
            "tolerance": self.tolerance,
            "conditions": [
                {"condition": str(o.condition), "state": o.state, **({"why": o.why} if o.why else {})}
                for o in self.outcomes
            ],
            "figures": [figure.to_json() for figure in self.figures],
            "rows": [{**asdict(row), "faults": [fault.model_dump() for fault in row.faults]} for row in self.rows],
            "notes": list(self.notes),
            "signature": self.signature,
        }
