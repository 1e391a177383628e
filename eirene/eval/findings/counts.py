"""Findings laid beside annotations, by offsets in the untagged answer: agreements counted in sentences and characters.

Sentences of prediction and annotation are the same pieces of the same text, so none is paired by its place in a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eirene.critique import Finding
from eirene.eval.findings.base import Annotated
from eirene.eval.findings.taxonomy import Taxonomy
from eirene.sentences import Sentence

ANY = "any"
"""The class of findings of whatever kind: the binary task."""
HITS, ALARMS, MISSES, RIGHT = range(4)
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Counts = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class CaseCounts:
    """Of one answer: `sentences` and `characters`, each [classes, 4], the classes being the set's kinds and `ANY`.

    The four numbers are true positives, false positives, false negatives and true negatives. White space is no
    character that counts.
    """

    sentences: Counts
    characters: Counts


def class_names(taxonomy: Taxonomy) -> tuple[str, ...]:
    """The rows of the counts."""
    return (*taxonomy.kinds, ANY)


def count_case(case: Annotated, predicted: Iterable[Finding], taxonomy: Taxonomy) -> CaseCounts:
    """Counts one answer. Predictions of kinds that the set does not judge are passed over."""
    text, sentences = case.item.answer, case.sentences
    gold, found = taxonomy.sorted(case.findings), taxonomy.sorted(predicted)
    pairs = [(gold[kind], found[kind]) for kind in taxonomy.kinds]
    pairs.append(([f for own in gold.values() for f in own], [f for own in found.values() for f in own]))
    solid = np.array([not c.isspace() for c in text], bool)
    by_sentence = [_four(*(_in_sentences(own, sentences, solid) for own in pair)) for pair in pairs]
    by_character = [_four(*(_in_characters(own, solid)[solid] for own in pair)) for pair in pairs]
    return CaseCounts(np.array(by_sentence, float), np.array(by_character, float))


def _four(gold: Flags, found: Flags) -> list[int]:
    return [
        int((gold & found).sum()), int((~gold & found).sum()), int((gold & ~found).sum()), int((~gold & ~found).sum()),
    ]  # fmt: skip


def _in_characters(findings: Sequence[Finding], solid: Flags) -> Flags:
    found = np.zeros(len(solid), bool)
    for one in findings:
        found[one.start : one.end] = True
    return found


def _in_sentences(findings: Sequence[Finding], sentences: Sequence[Sentence], solid: Flags) -> Flags:
    """Which sentences a finding shares a character with; one without extent is in the sentence where it stands."""
    covered = _in_characters(findings, solid) & solid
    points = [f.start for f in findings if f.start == f.end]
    last = len(sentences) - 1
    found = [
        bool(covered[s.start : s.end].any()) or any(s.start <= p < s.end or (n == last and p >= s.end) for p in points)
        for n, s in enumerate(sentences)
    ]
    return np.array(found, bool)
