"""Measures of a verifier on labelled pairs: AUC of "supported", and accuracy within pairs that one edit tells apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eirene.eval.metrics.ranking import roc_auc
from recipes.verifier.data import VerifierRow

GIVEN_AWAY = frozenset(["breaking_nli", "scone", "med"])
"""Sources whose claims alone, or whose templates, tell the label: left out of the figure for all."""


def measure_pairs(rows: Sequence[VerifierRow], supported: NDArray[np.float32]) -> dict[str, Any]:
    """AUC of P(supported) [rows] over human labels and by source; share of right twins by kind of edit, with n."""
    is_good = np.array([row.label == "supported" for row in rows])
    human = np.array([row.by != "rule" and row.source not in GIVEN_AWAY for row in rows])
    by_source: dict[str, list[int]] = defaultdict(list)
    for n, row in enumerate(rows):
        by_source[row.source].append(n)
    return {
        "auc": _auc(is_good[human], supported[human]),
        "n": int(human.sum()),
        "sources": {s: _auc(is_good[chosen], supported[chosen]) for s, chosen in sorted(by_source.items())},
        "twins": twin_accuracy(rows, supported),
    }


def twin_accuracy(rows: Sequence[VerifierRow], supported: NDArray[np.float32]) -> dict[str, dict[str, float]]:
    """By "EDIT (human)" or "(rule)": the share of twins of which the supported one scores higher, and their number."""
    groups: dict[str, list[int]] = defaultdict(list)
    for n, row in enumerate(rows):
        if row.pair is not None:
            groups[row.pair].append(n)
    won: dict[str, list[float]] = defaultdict(list)
    for group in groups.values():
        good = [n for n in group if rows[n].label == "supported" and rows[n].edit == "none"]
        for bad in (n for n in group if rows[n].label != "supported" and rows[n].edit not in (None, "none")):
            for n in good:
                if rows[n].premise == rows[bad].premise:
                    kind = f"{rows[bad].edit} ({rows[bad].by})"
                    won[kind].append(float(supported[n] > supported[bad]) + 0.5 * float(supported[n] == supported[bad]))
    return {kind: {"accuracy": float(np.mean(v)), "n": len(v)} for kind, v in sorted(won.items())}


def _auc(good: NDArray[np.bool_], scores: NDArray[np.float32]) -> float | None:
    if good.all() or not good.any():
        return None
    return float(roc_auc(good, scores.astype(np.float64)))
