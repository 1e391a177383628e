"""`calibrated`: the detectors of a file under its weights; of other versions of them it is refused."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from eirene.core.errors import EireneError, InputError
from eirene.core.grounding import Grounding
from eirene.core.scores import ArgumentScore, Scores, SentenceScore, Unscored, probability
from eirene.core.usage import Meter
from eirene.eval.base import Case, Need, only_computes
from eirene.eval.calibration import Calibration, Fitted, Weighed
from eirene.eval.detectors.calibrated import Calibrated
from eirene.eval.registry import build_detectors
from eirene.eval.resources import Resources

CASE = Case("Q?", "A.", Grounding("derived", ()))
NONE = Unscored(unscored="cannot")


class Fixed:
    """A detector with one score."""

    def __init__(self, name: str, scores: Scores | Exception, *, version: str = "1", needs: set[Need] | None = None):
        self.name, self.version, self.needs, self._scores = name, version, frozenset(needs or set()), scores

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        if isinstance(self._scores, Exception):
            raise self._scores
        return self._scores


def weighed(name: str, weight: float, unscored: float | None = None) -> Weighed:
    return Weighed(detector=name, weight=weight, centre=0.0, unscored=unscored)


FITTED = Fitted(
    inputs=(weighed("a", 1.0), weighed("b", 2.0, unscored=3.0)), intercept=0.0, threshold=1.0, answers=60, errors=20
)
CALIBRATION = Calibration(seed=0, folds=5, data="x", detectors={"a": "1", "b": "1"}, errors={"hallucination": FITTED})
HALF = Scores(hallucination=0.5, coverage=0.2, sentences=(SentenceScore(n=1, hallucination=0.5),))


def score(*detectors: Fixed) -> Scores:
    return asyncio.run(Calibrated(CALIBRATION, detectors).score(CASE, meter=Meter()))


def test_scores_are_weighed_and_the_threshold_is_one_half() -> None:
    found = score(Fixed("a", HALF), Fixed("b", HALF))
    assert found.hallucination == probability(-1.0) and found.raw == {"p_hallucination": 0.5}
    assert isinstance(found.coverage, Unscored) and "not fitted to coverage" in found.coverage.unscored
    assert found.sentences == HALF.sentences


def test_unscored_is_a_value_of_its_own_where_the_fit_has_seen_it_and_else_none() -> None:
    found = score(Fixed("a", HALF), Fixed("b", Scores.none("cannot")))
    assert found.hallucination == probability(3.0 - 1.0)
    unknown = score(Fixed("a", Scores.none("cannot")), Fixed("b", HALF)).hallucination
    assert isinstance(unknown, Unscored) and "a could not score" in unknown.unscored
    assert isinstance(score(Fixed("a", Scores.none("x")), Fixed("b", Scores.none("x"))).hallucination, Unscored)


def test_a_failure_is_no_score() -> None:
    with pytest.raises(EireneError, match="gone"):
        score(Fixed("a", HALF), Fixed("b", EireneError("gone")))


def test_what_needs_given_text_is_not_asked_without_it_as_in_the_fit() -> None:
    found = score(Fixed("a", HALF), Fixed("b", EireneError("asked"), needs={"given"}))
    assert found.hallucination == probability(3.0 - 1.0)


def test_arguments_are_those_of_the_weightiest_detector_of_coverage() -> None:
    both = CALIBRATION.model_copy(update={"errors": {"coverage": FITTED}})
    a = HALF.model_copy(update={"arguments": (ArgumentScore(group="pro", n=1, coverage=0.1),)})
    b = HALF.model_copy(update={"arguments": (ArgumentScore(group="pro", n=1, coverage=0.9),)})
    found = asyncio.run(Calibrated(both, [Fixed("a", a), Fixed("b", b)]).score(CASE, meter=Meter()))
    assert found.arguments == b.arguments and found.sentences == ()


def test_other_versions_of_its_detectors_are_refused() -> None:
    with pytest.raises(InputError, match=r"fitted to b of version '1', and here it is '2'; .*fit anew"):
        Calibrated(CALIBRATION, [Fixed("a", HALF), Fixed("b", HALF, version="2")])


def test_needs_and_version_are_those_of_its_detectors_with_the_file() -> None:
    judged = Calibrated(CALIBRATION, [Fixed("a", HALF, needs={"judge", "given"}), Fixed("b", HALF)])
    assert judged.needs == {"calibration", "judge"} and not only_computes(judged)
    alone = Calibrated(CALIBRATION, [Fixed("a", HALF), Fixed("b", HALF)])
    assert only_computes(alone) and alone.version == f"{CALIBRATION.digest}(a:1,b:1)"


def test_it_is_built_by_name_and_without_a_file_refused(tmp_path: Path) -> None:
    own = CALIBRATION.model_copy(
        update={
            "detectors": {"rouge": build_detectors(["rouge"], Resources())[0].version},
            "errors": {"coverage": FITTED.model_copy(update={"inputs": (weighed("rouge", 1.0),)})},
        }
    )
    (tmp_path / "c.json").write_text(own.to_text(), "utf-8")
    rouge, found = build_detectors(["rouge", "calibrated"], Resources(calibration=str(tmp_path / "c.json")))
    assert own.digest in found.version and vars(found)["_detectors"]["rouge"] is rouge
    with pytest.raises(InputError, match=r"needs a calibration: name a file made by `eirene calibrate detectors`"):
        build_detectors(["calibrated"], Resources())


def test_a_fitted_file_is_applied_without_scikit_learn(tmp_path: Path) -> None:
    found = CALIBRATION.model_copy(
        update={
            "detectors": {"rouge": build_detectors(["rouge"], Resources())[0].version},
            "errors": {"coverage": FITTED.model_copy(update={"inputs": (weighed("rouge", 1.0),)})},
        }
    )
    (tmp_path / "c.json").write_text(found.to_text(), "utf-8")
    (tmp_path / "row.json").write_text(
        '{"question": "Trams?", "answer": "Trams are quiet.", "perspectives": {"pro": "Trams are quiet."}}', "utf-8"
    )
    program = (
        "import sys; sys.modules['sklearn'] = None; from eirene.cli import main; "
        "sys.exit(main(['score', 'row.json', '--out', '-', '--detectors', 'calibrated', '--calibration', 'c.json']))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and '"p_coverage"' in done.stdout, done.stderr
