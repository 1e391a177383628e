"""Classifiers as detectors: causal language models tuned to find one error type (NPOV, section 3.3)."""

from eirene.eval.detectors.classifier.detector import ClassifierDetector, ClassifierTask, Labels

__all__ = ["ClassifierDetector", "ClassifierTask", "Labels"]
