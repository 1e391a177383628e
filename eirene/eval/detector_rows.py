"""A row for each labelled answer and detector: what the detector said and what that cost. Figures come from rows."""

from __future__ import annotations

from pydantic import ConfigDict

from eirene.checked import Checked
from eirene.eval.base import Case, Detector, only_computes
from eirene.eval.scoring import Outcome
from eirene.records import digest
from eirene.scores import Scores
from eirene.usage import Usage


class DetectorRow(Checked):
    """The scores of one answer by one detector. A `failed` one is unscored and says why.

    `key` is a hash of all that the scores hang on, so that equal answers share a row. `usage.seconds` is the wall time
    of this answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    key: str
    id: str
    detector: str
    version: str
    scores: Scores
    usage: Usage = Usage()
    failed: bool = False


def row_key(case: Case, detector: Detector, *, seed: int) -> str:
    """A hash of the case, the detector and its version, and, where a model is asked, the seed."""
    given = [case.given.source, [[g.name, list(g.arguments)] for g in case.given.groups]]
    text = [case.question, case.answer, given, list(case.samples), [list(t) for t in case.token_logprobs]]
    drawn = [] if only_computes(detector) else [seed]
    return digest([text, detector.name, detector.version, *drawn])[:24]


def row_of(case_id: str, detector: Detector, outcome: Outcome, *, key: str) -> DetectorRow:
    """The row of an outcome."""
    return DetectorRow(
        key=key,
        id=case_id,
        detector=detector.name,
        version=detector.version,
        scores=outcome.scores,
        usage=outcome.usage,
        failed=outcome.failed,
    )
