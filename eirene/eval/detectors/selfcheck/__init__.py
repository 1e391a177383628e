"""SelfCheckGPT detectors: an answer against other answers to the same question."""

from eirene.eval.detectors.selfcheck import bertscore, detectors

__all__ = ["bertscore", "detectors"]
