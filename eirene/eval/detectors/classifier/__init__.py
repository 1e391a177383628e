"""Classifiers as detectors: tuned causal language models (NPOV, section 3.3), and sequence classifiers such as NLI."""

from eirene.eval.detectors.classifier.detector import ClassifierDetector, ClassifierTask, Labels

__all__ = ["ClassifierDetector", "ClassifierTask", "Labels"]
