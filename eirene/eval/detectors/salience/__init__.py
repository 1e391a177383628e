"""Salience detectors (NPOV, section 3.2): error scores from a local language model's gradients."""

from eirene.eval.detectors.salience.detector import ArgumentWord, SalienceDetector, SalienceMap, WordMaps

__all__ = ["ArgumentWord", "SalienceDetector", "SalienceMap", "WordMaps"]
