"""Critiques drawn from faults."""

from __future__ import annotations

import math

import numpy as np

from eirene.cancellation import check_cancelled
from eirene.critique import Finding, Sample, Tag
from eirene.feedback_model.calibration import OperatingPoint
from eirene.feedback_model.judgement import Fault
from eirene.seeds import rng_for


class Draws:
    """Critiques of one answer: draw i depends on (seed, i) alone.

    What is drawn is each sentence's tag. An Incomplete sentence names its faults above the threshold, or the surest one
    where there is none: were these drawn too, reason consistency would always choose the critique that says least.
    """

    def __init__(self, faults: tuple[Fault, ...], n_sentences: int, seed: int, point: OperatingPoint) -> None:
        self._n = n_sentences
        self._seed = seed
        self._point = point
        by_sentence: dict[int, list[Fault]] = {}
        for fault in faults:
            by_sentence.setdefault(fault.sentence, []).append(fault)
        self._margins = np.full(n_sentences, -np.inf)
        self._named: dict[int, tuple[Fault, ...]] = {}
        for sentence, found in by_sentence.items():
            self._margins[sentence] = found[0].margin
            self._named[sentence] = tuple(f for f in found if f.margin > 0) or (found[0],)

    def sample(self, index: int) -> Sample:
        """Draw `index` (from 0)."""
        check_cancelled()
        rng = rng_for(self._seed, index)
        shared, own = rng.standard_normal(), rng.standard_normal(self._n)
        # 1.7 times a standard normal is close to a standard logistic variable: at temperature 1 and threshold 0.5 a
        # fault is named with its own probability.
        part = self._point.coherence
        noise = 1.7 * self._point.temperature * (math.sqrt(part) * shared + math.sqrt(1.0 - part) * own)
        incomplete = self._margins + noise > 0
        tags: list[Tag] = ["Complete"] * self._n
        texts: list[str | None] = [None] * self._n
        findings: list[Finding] = []
        for sentence in np.flatnonzero(incomplete):
            named = self._named[int(sentence)]
            tags[sentence] = "Incomplete"
            texts[sentence] = " ".join(fault.reason for fault in named)
            findings += [finding for fault in named for finding in fault.findings]
        return Sample(tags=tuple(tags), reasons=tuple(texts), findings=tuple(findings))
