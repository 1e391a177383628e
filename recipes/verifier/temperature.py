"""Temperature scaling: one number by which a trained head's logits are divided, so that probabilities mean what they
say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recipes.verifier.data import VerifierRow

_TRIED = np.exp(np.linspace(-2.0, 2.0, 801))
"""From 0.14 to 7.4, half a percent apart."""
_LEAST = 1e-30


def tempered(probabilities: NDArray[np.float32], temperature: float) -> NDArray[np.float32]:
    """The probabilities [n, classes] that their logits would give, divided by the temperature."""
    logits = np.log(np.maximum(probabilities.astype(np.float64), _LEAST)) / temperature
    raised = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True), np.float32)


def fit_temperature(rows: Sequence[VerifierRow], probabilities: NDArray[np.float32]) -> float:
    """The temperature with the least log loss of "supported" against the rest; 1.0 where the rows are all of one kind.

    `probabilities` [rows, 3], as a head gives them at temperature 1.
    """
    is_good = np.array([row.label == "supported" for row in rows], bool)
    if not len(rows) or is_good.all() or not is_good.any():
        return 1.0
    return float(min(_TRIED, key=lambda temperature: log_loss(is_good, tempered(probabilities, temperature))))


def log_loss(is_good: NDArray[np.bool_], probabilities: NDArray[np.float32]) -> float:
    """The mean of -log P over the rows: P(supported) of those that are, the rest's of the others."""
    exact = probabilities.astype(np.float64)
    of_label = np.where(is_good, exact[:, 0], exact[:, 1:].sum(1))
    return float(-np.log(np.maximum(of_label, _LEAST)).mean())
