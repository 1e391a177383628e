"""Salience (NPOV, section 3.2): error scores from a local language model's gradients, and their picture."""

from eirene.eval.detectors.salience.detector import (
    ArgumentWord,
    SalienceDetector,
    SalienceMap,
    WordMaps,
    build,
    build_entropy,
    build_sum,
)

__all__ = ["ArgumentWord", "SalienceDetector", "SalienceMap", "WordMaps", "build", "build_entropy", "build_sum"]
