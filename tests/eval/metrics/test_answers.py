"""HaluQuestQA's answer score and error correction, computed by hand."""

from __future__ import annotations

import pytest

from eirene.core.errors import InputError
from eirene.eval.metrics.answers import answer_score, error_correction
from eirene.eval.statistics.bootstrap import Resamples

FEW = Resamples(draws=200)


def test_the_answer_score_is_the_mean_of_five() -> None:
    """The first annotated pair of the published data: human answer 0.75, 0.75, 0.5, 0, 0, a sum of 2."""
    errors = {"factuality": 1, "relevance": 1, "completeness": 2}
    score = answer_score(sentences=4, errors=errors, references_help=False, is_preferred=False)
    assert (score.factuality, score.relevance, score.completeness) == (0.75, 0.75, 0.5)
    assert (score.references, score.preference, score.overall) == (0.0, 0.0, pytest.approx(2 / 5))
    best = answer_score(sentences=4, errors={}, references_help=True, is_preferred=True)
    assert best.overall == 1.0


@pytest.mark.parametrize(
    ("sentences", "errors", "said"),
    [(0, {}, "at least 1"), (2, {"relevance": 3}, "3 of 2"), (2, {"misconception": 1}, "unknown aspect")],
)
def test_impossible_counts_are_refused(sentences: int, errors: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        answer_score(sentences=sentences, errors=errors, references_help=True, is_preferred=True)


def test_error_correction_by_hand() -> None:
    """Three corrected, one introduced, two left: precision 3/4, recall 3/5, F1 2/3."""
    before = [True, True, True, False, True, True, False]
    after = [False, False, False, True, True, True, False]
    found = error_correction(before, after, resamples=FEW)
    assert (found.corrected, found.introduced, found.left, found.clean) == (3, 1, 2, 1)
    assert (found.precision.value, found.recall.value) == (0.75, 0.6)
    assert found.f1.value == pytest.approx(2 / 3)
    assert found.f1.low is not None
    assert found.f1.low < 2 / 3


def test_seeds_of_one_answer_have_no_interval() -> None:
    found = error_correction([True, True], [False, True], clusters=["a", "a"], resamples=FEW)
    assert (found.f1.value, found.f1.low) == (pytest.approx(2 / 3), None)


def test_what_is_undefined_is_named_and_never_zero() -> None:
    clean = error_correction([False], [False], resamples=FEW)
    assert (clean.precision.value, clean.recall.value, clean.f1.value) == (None, None, None)
    assert clean.recall.unscored == "no answer had an error before"
    left = error_correction([True], [True], resamples=FEW)
    assert (left.precision.unscored, left.recall.value, left.f1.value) == (
        "no error was corrected or introduced", 0.0, 0.0,
    )  # fmt: skip
    assert error_correction([], [], resamples=FEW).f1.value is None
