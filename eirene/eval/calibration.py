"""The file of a calibration: weights and threshold of detectors, checked when read; applied without scikit-learn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.core.scores import Error, log_odds, probability
from eirene.core.signature import digest
from eirene.core.validation import CheckedModel

FORMAT = "eirene calibration"
VERSION = 1
EDGE = 0.01
"""Scores nearer to 0 or 1 count as this near: no single score settles an answer."""
DIGITS = 6


class _Part(CheckedModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Weighed(_Part):
    """One detector in a sum: `weight` (0 or more) times its log odds beyond `centre`; `unscored` where it has no score.

    `unscored` None: it scored every answer of the fit, so that nothing is known of an answer that it cannot score.
    """

    detector: str
    weight: Annotated[float, Field(ge=0)]
    centre: float
    unscored: float | None = None


class Fitted(_Part):
    """A logistic regression over detectors for one error, and the log odds from which an answer is called faulty.

    `answers`, `errors`: how many it was fitted on, and how many of them have the error.
    """

    inputs: Annotated[tuple[Weighed, ...], Field(min_length=1)]
    intercept: float
    threshold: float
    answers: int
    errors: int

    def log_odds(self, scores: Mapping[str, float | None]) -> float | str:
        """The log odds of an error by each detector's score in [0, 1] (None: unscored); or why there are none."""
        if all(scores.get(i.detector) is None for i in self.inputs):
            return "none of the detectors could score the answer"
        total = self.intercept
        for i in self.inputs:
            score = scores.get(i.detector)
            if score is not None:
                total += i.weight * (log_odds(score, edge=EDGE) - i.centre)
            elif i.unscored is not None:
                total += i.unscored
            else:
                return f"{i.detector} could not score the answer, and scored all that the calibration was fitted on"
        return total

    def error_score(self, log_odds: float) -> float:
        """The log odds as an error score in [0, 1] in which the threshold is 0.5."""
        return probability(log_odds - self.threshold)


class Calibration(_Part):
    """What `eirene calibrate detectors` writes. `detectors`: the version of each detector when it was fitted."""

    format: Literal["eirene calibration"] = "eirene calibration"
    version: Literal[1] = 1
    seed: int
    folds: int
    data: str
    """The digest of the labelled answers."""
    detectors: dict[str, str]
    errors: Annotated[dict[Error, Fitted], Field(min_length=1)]
    figures: dict[str, Any] = Field(default_factory=dict)
    """What was measured in the fit; nothing is computed from it."""

    @property
    def digest(self) -> str:
        """8 hex digits of all that scores hang on."""
        fitted = {name: found.model_dump(mode="json") for name, found in self.errors.items()}
        return digest([self.detectors, fitted])[:8]

    def to_text(self) -> str:
        """The file's text: the same calibration gives the same bytes."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def read_calibration(path: str) -> Calibration:
    """The calibration in a file of `eirene calibrate`. Raises `InputError` for anything else, with the reason."""
    from eirene.data.source import read_source

    return parse_calibration(parse_json(read_source(path).data, where=path), where=path)


def parse_calibration(value: object, *, where: str) -> Calibration:
    """The calibration that is the content of a file. Raises what `read_calibration` raises."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise InputError("is no calibration; `eirene calibrate detectors` writes one", where=where)
    if value.get("version") != VERSION:
        said = f"is a calibration of version {value.get('version')!r}, this release reads {VERSION}; fit it anew"
        raise InputError(said, where=where)
    try:
        found = Calibration.model_validate_json(json.dumps(value), strict=True)
    except InputError as error:
        raise InputError(f"is no valid calibration: {error}", where=where) from None
    unknown = {i.detector for fitted in found.errors.values() for i in fitted.inputs} - set(found.detectors)
    if unknown:
        raise InputError(f"is no valid calibration: no version of {', '.join(sorted(unknown))}", where=where)
    return found
