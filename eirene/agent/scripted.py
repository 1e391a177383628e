"""Scripted parts put together: a whole loop for tests and documentation in which every reply is known beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eirene.agent.state import Parts
from eirene.critique import Sample
from eirene.errors import BackendError
from eirene.eval.scripted import ScriptedDetector
from eirene.feedback_model.scripted import ScriptedFeedback
from eirene.refiners.scripted import ScriptedRefiner
from eirene.scores import Scores


def scripted_parts(
    *,
    samples: Sequence[Sample | BackendError] = (),
    rewrites: Sequence[str | BackendError] = (),
    scores: Mapping[str, Scores | BackendError] | None = None,
) -> Parts:
    """Parts that give the scripted samples, rewrites and scores (by answer), in this order."""
    return Parts(
        backend="scripted",
        feedback_model=ScriptedFeedback(samples),
        refiner=ScriptedRefiner(rewrites),
        detectors=(ScriptedDetector(scores or {}),),
    )
