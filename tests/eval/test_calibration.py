"""The file of a calibration: what is read back is what was written, and nothing else is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eirene.core.errors import InputError
from eirene.eval.calibration import Calibration, Fitted, Weighed, read_calibration

PART = Fitted(
    inputs=(Weighed(detector="rouge", weight=2.0, centre=-1.0),), intercept=0.5, threshold=-0.25, answers=60, errors=20
)
FOUND = Calibration(seed=3, folds=5, data="d" * 16, detectors={"rouge": "v"}, errors={"hallucination": PART})


def written(path: Path, **changed: object) -> str:
    path.write_text(json.dumps({**json.loads(FOUND.to_text()), **changed}), "utf-8")
    return str(path)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text(FOUND.to_text(), "utf-8")
    assert read_calibration(str(path)) == FOUND


def test_the_digest_is_that_of_what_scores_hang_on() -> None:
    assert FOUND.model_copy(update={"figures": {"n": 1}, "seed": 9}).digest == FOUND.digest
    moved = PART.model_copy(update={"threshold": 0.0})
    assert FOUND.model_copy(update={"errors": {"hallucination": moved}}).digest != FOUND.digest
    assert FOUND.model_copy(update={"detectors": {"rouge": "w"}}).digest != FOUND.digest


def test_what_is_no_calibration_is_refused(tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, object], str]] = [
        ({"format": "notes"}, "is no calibration; `eirene calibrate detectors` writes one"),
        ({"version": 2}, "is a calibration of version 2, this release reads 1; fit it anew"),
        ({"seed": "3"}, "is no valid calibration"),
        ({"errors": {}}, "is no valid calibration"),
        ({"errors": {"fluency": {}}}, "is no valid calibration"),
        ({"detectors": {}}, "no version of rouge"),
        ({"more": 1}, "is no valid calibration"),
    ]
    for changed, said in wrong:
        with pytest.raises(InputError) as caught:
            read_calibration(written(tmp_path / "c.json", **changed))
        assert said in str(caught.value) and "c.json" in str(caught.value)


def test_negative_weights_and_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    for name, value in (("weight", -1.0), ("centre", "x"), ("weight", None)):
        part = PART.model_dump(mode="json")
        part["inputs"][0][name] = value
        with pytest.raises(InputError, match="is no valid calibration"):
            read_calibration(written(tmp_path / "c.json", errors={"hallucination": part}))


def test_the_threshold_is_an_error_score_of_one_half() -> None:
    assert PART.error_score(-0.25) == 0.5 and PART.error_score(0.0) > 0.5 > PART.error_score(-1.0)
    for far in (1e6, -1e6):
        assert 0.0 <= PART.error_score(far) <= 1.0
