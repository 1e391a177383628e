"""The faults that a comparison shows, each with how sure it is, and the critiques that are drawn from them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from eirene.alignment.comparison import Comparison, place_of
from eirene.alignment.placement import misplaced, repeats
from eirene.critique import Finding, Sample, Tag
from eirene.feedback_model import reasons
from eirene.seeds import rng_for

_FAINT = -6.0
"""Log odds under which a fault is left out: no draw in a thousand would name it."""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """From which calibrated probability each kind of fault is named, and how much single critiques differ.

    A threshold t says that naming a fault wrongly costs t / (1 - t) times as much as passing over one. `temperature`
    scales the noise of a draw in log odds (0: every draw is the same); `coherence` in [0, 1] is the share of the noise
    that all sentences of one draw have in common: strict and lenient readers.
    """

    missing: float
    unsupported: float
    repeated: float
    misplaced: float
    temperature: float
    coherence: float


@lru_cache(maxsize=1)
def load_operating_point() -> OperatingPoint:
    """The shipped operating point, chosen on training claims (`benchmarks/loop_mixed.py --tune`)."""
    data = json.loads(files("eirene.feedback_model").joinpath("operating_point.json").read_text("utf-8"))
    return parse_operating_point(data)


def parse_operating_point(data: Mapping[str, float]) -> OperatingPoint:
    """An operating point from the content of its file; keys that are no setting say where it comes from."""
    return OperatingPoint(**{name: float(data[name]) for name in OperatingPoint.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, charged to sentence `sentence` (from 0). `margin`: log odds above the operating point's threshold."""

    sentence: int
    margin: float
    reason: str
    findings: tuple[Finding, ...]


def faults_of(comparison: Comparison, point: OperatingPoint) -> tuple[Fault, ...]:
    """All faults that a draw could name, those of one sentence with the surest first."""
    wrong = [*_unsupported(comparison, point), *_repeated(comparison, point), *_misplaced(comparison, point)]
    count = Counter(f.sentence for f in wrong if f.margin > 0)
    going = frozenset(s for s, n in count.items() if n >= len(comparison.alignment.atoms[s]))
    found = [*wrong, *_missing(comparison, point, going)]
    return tuple(sorted((f for f in found if f.margin > _FAINT), key=lambda f: (f.sentence, -f.margin)))


def _missing(comparison: Comparison, point: OperatingPoint, going: frozenset[int]) -> Iterator[Fault]:
    alignment = comparison.alignment
    for a, argument in enumerate(alignment.arguments):
        margin = _margin(float(alignment.p_missing[a]), point.missing)
        if margin <= _FAINT or not alignment.sentences:
            continue
        sentence = place_of(comparison, a, without=going).sentence
        end = alignment.sentences[sentence].text_end
        reason = reasons.missing(argument, comparison.groups[a])
        yield Fault(sentence, margin, reason, (_finding("missing", end, end, reason, argument),))


def _unsupported(comparison: Comparison, point: OperatingPoint) -> Iterator[Fault]:
    alignment = comparison.alignment
    for s, atoms in enumerate(alignment.atoms):
        for u in atoms:
            unit = alignment.units[u]
            margin = _margin(float(alignment.p_unsupported[u]), point.unsupported)
            if unit.text and margin > _FAINT:
                reason = reasons.unsupported(unit.text)
                yield Fault(s, margin, reason, (_finding("unsupported", unit.start, unit.end, reason, ""),))


def _repeated(comparison: Comparison, point: OperatingPoint) -> Iterator[Fault]:
    alignment = comparison.alignment
    for repeat in repeats(alignment):
        unit = alignment.units[repeat.unit]
        both = min(float(alignment.p_says[repeat.argument, u]) for u in (repeat.unit, repeat.earlier))
        reason = reasons.repeated(unit.text)
        finding = _finding("repeated", unit.start, unit.end, reason, "")
        yield Fault(unit.sentence, _margin(both, point.repeated), reason, (finding,))


def _misplaced(comparison: Comparison, point: OperatingPoint) -> Iterator[Fault]:
    alignment = comparison.alignment
    names = [g or "" for g in comparison.groups]
    if len(set(names)) < 2:
        return
    for found in misplaced(alignment, names):
        unit = alignment.units[found.unit]
        margin = _margin(float(alignment.p_says[found.argument, found.unit]), point.misplaced)
        place = place_of(comparison, found.argument, without=frozenset([unit.sentence]))
        end = alignment.sentences[place.sentence].text_end
        reason = reasons.misplaced(unit.text, found.stands, found.belongs)
        goes = _finding("misplaced", unit.start, unit.end, reason, "")
        comes = _finding("misplaced", end, end, reason, unit.text)
        yield Fault(unit.sentence, margin, reason, (goes, comes))


def _finding(kind: str, start: int, end: int, reason: str, edit: str) -> Finding:
    return Finding.model_validate({"kind": kind, "start": start, "end": end, "reason": reason, "edit": edit})


def _margin(p: float, threshold: float) -> float:
    return _log_odds(p) - _log_odds(threshold)


def _log_odds(p: float) -> float:
    p = min(max(p, 1e-9), 1.0 - 1e-9)
    return math.log(p / (1.0 - p))


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
