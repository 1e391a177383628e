"""Calibration of detectors on labels of one's own: weights and thresholds, their file, their cross-validated error."""

from __future__ import annotations

from eirene.eval.calibration.file import Calibration, Fitted, Weighed, read_calibration

__all__ = ["Calibration", "Fitted", "Weighed", "read_calibration"]
