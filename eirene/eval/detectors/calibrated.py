"""`calibrated`: the detectors of a calibration file, weighed as it says, with its threshold at 0.5."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from eirene.core.errors import InputError
from eirene.core.scores import Error, Score, Scores, Unscored, number, probability
from eirene.core.usage import Meter
from eirene.eval.base import GIVEN, NOTHING, Case, Detector, Need, only_computes, unmet
from eirene.eval.calibration import Calibration
from eirene.eval.registry import build_detectors, detector
from eirene.eval.resources import Resources


class Calibrated:
    """A weighed sum of other detectors' log odds, as `eirene calibrate detectors` fitted it.

    Score: sigmoid(log odds of an error - the fitted threshold), so that 0.5 is the threshold; raw `p_hallucination`
        and `p_coverage` are the probabilities without that shift. An error that was not fitted is unscored, and so is
        an answer that none of the detectors can score. Sentences, words and arguments are those of the detector with
        the greatest weight that has some, as it scored them.
    Needs: the file, and what its detectors need. A failure of one of them is the failure of all.
    Reference: logistic regression; docs/guides/calibrate.md.
    """

    name = "calibrated"

    def __init__(self, calibration: Calibration, detectors: Sequence[Detector]) -> None:
        self._calibration = calibration
        self._detectors = {d.name: d for d in detectors}
        for name, fitted_to in calibration.detectors.items():
            version = self._detectors[name].version
            if version != fitted_to:
                raise InputError(
                    f"the calibration was fitted to {name} of version {fitted_to or 'none'!r}, and here it is "
                    f"{version or 'none'!r}; run it as it was then, or fit anew with `eirene calibrate detectors`",
                    field="calibration",
                )
        own: frozenset[Need] = frozenset({"calibration"})
        given = GIVEN if all(d.needs >= GIVEN for d in detectors) else NOTHING
        self.needs = own.union(*(d.needs - GIVEN for d in detectors), given)
        made_of = ",".join(f"{name}:{d.version}" for name, d in self._detectors.items() if d.version)
        self.version = f"{calibration.digest}({made_of})" if made_of else calibration.digest

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises what its detectors raise."""
        if all(only_computes(d) for d in self._detectors.values()):  # in turn: a task for each would only cost
            found = [await _score(d, case, meter) for d in self._detectors.values()]
        else:
            found = await asyncio.gather(*(_score(d, case, meter) for d in self._detectors.values()))
        return combined(self._calibration, dict(zip(self._detectors, found, strict=True)))


async def _score(detector: Detector, case: Case, meter: Meter) -> Scores:
    """As in the fit: what needs given text is not asked about an answer to which nothing was given."""
    if "given" in detector.needs and case.given.source == "derived":
        return Scores.none(unmet("given"))
    return await detector.score(case, meter=meter)


def combined(calibration: Calibration, found: Mapping[str, Scores]) -> Scores:
    """The scores that a calibration makes of those of its detectors."""
    raw: dict[str, float] = {}

    def of(error: Error) -> Score:
        fitted = calibration.errors.get(error)
        if fitted is None:
            return Unscored(unscored=f"the calibration was not fitted to {error}")
        odds = fitted.log_odds({name: number(getattr(scores, error)) for name, scores in found.items()})
        if isinstance(odds, str):
            return Unscored(unscored=odds)
        raw[f"p_{error}"] = probability(odds)
        return fitted.error_score(odds)

    hallucination, coverage = of("hallucination"), of("coverage")
    said, lacking = (_by_weight(calibration, error, found) for error in ("hallucination", "coverage"))
    return Scores(
        hallucination=hallucination,
        coverage=coverage,
        sentences=next((s.sentences for s in said if s.sentences), ()),
        words=next((s.words for s in said if s.words), ()),
        arguments=next((s.arguments for s in lacking if s.arguments), ()),
        raw=raw,
    )


def _by_weight(calibration: Calibration, error: Error, found: Mapping[str, Scores]) -> list[Scores]:
    """The scores of the detectors that have a part in an error, the one with the greatest weight first."""
    fitted = calibration.errors.get(error)
    inputs = sorted(fitted.inputs, key=lambda i: -i.weight) if fitted is not None else []
    return [found[i.detector] for i in inputs]


@detector(
    "calibrated", needs=frozenset({"calibration"}), about="other detectors, weighed by `eirene calibrate detectors`"
)
def _build(resources: Resources) -> Calibrated:
    calibration = resources.fitted
    if Calibrated.name in calibration.detectors:
        raise InputError("a calibration of `calibrated` itself cannot be used", field="calibration")
    return Calibrated(calibration, build_detectors(list(calibration.detectors), resources))
