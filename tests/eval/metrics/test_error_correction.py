"""Error correction, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from eirene.eval.metrics.bootstrap import ErrorCorrection, Resamples, error_correction
from tests.rows import each


def corrected(before: list[bool], after: list[bool], clusters: list[str] | None = None) -> ErrorCorrection:
    own = [str(n) for n in range(len(before))] if clusters is None else clusters
    return error_correction(before, after, clusters=own, resamples=Resamples(draws=200))


def test_error_correction_by_hand() -> None:
    """Three corrected, one introduced, two left: precision 3/4, recall 3/5, F1 2/3."""
    before = [True, True, True, False, True, True, False]
    after = [False, False, False, True, True, True, False]
    found = corrected(before, after)
    assert (found.corrected, found.introduced, found.left, found.clean) == (3, 1, 2, 1)
    assert (found.precision.value, found.recall.value) == (0.75, 0.6)
    assert found.f1.value == pytest.approx(2 / 3)
    assert found.f1.low is not None
    assert found.f1.low < 2 / 3


@each("approach, runs, printed", [
    ("GENERIC", [(0, 0), (1, 0), (0, 1)], (1.31, 0.97, 0.97, 0.97)),
    ("EIR", [(0, 0), (0, 0), (1, 0)], (0.65, 0.97, 1.0, 0.98)),
])  # fmt: skip
def test_the_papers_figures_are_those_of_its_counts(
    approach: str, runs: list[tuple[int, int]], printed: tuple[float, ...]
) -> None:
    """EIR, table 4, HQ2A: of 51 answers 10 are at fault (19.61 %); three runs introduce and leave so many errors."""
    figures = []
    for introduced, left in runs:
        after = [n < left for n in range(10)] + [n < introduced for n in range(41)]
        found = corrected([n < 10 for n in range(51)], after)
        figures.append((100 * sum(after) / 51, found.precision.value, found.recall.value, found.f1.value))
    assert tuple(np.mean(np.array(figures, dtype=float), axis=0).round(2)) == printed, approach


def test_seeds_of_one_answer_have_no_interval() -> None:
    found = corrected([True, True], [False, True], clusters=["a", "a"])
    assert (found.f1.value, found.f1.low) == (pytest.approx(2 / 3), None)


def test_what_is_undefined_is_named_and_never_zero() -> None:
    clean = corrected([False], [False])
    assert (clean.precision.value, clean.recall.value, clean.f1.value) == (None, None, None)
    assert clean.recall.unscored == "no answer had an error before"
    left = corrected([True], [True])
    assert (left.precision.unscored, left.recall.value, left.f1.value) == (
        "no error was corrected or introduced", 0.0, 0.0,
    )  # fmt: skip
    assert corrected([], []).f1.value is None
