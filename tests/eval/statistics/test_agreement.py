"""Krippendorff's alpha on the worked examples that he published."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from eirene.core.errors import InputError
from eirene.core.scores import Unscored
from eirene.eval.statistics.agreement import Level, krippendorff_alpha

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", four observers, twelve units.
N = None
OBSERVERS: list[list[float | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]
# The example of the encyclopaedia's article: three coders, fifteen units, most with a rating missing.
CODERS: list[list[float | None]] = [
    [N, N, N, N, N, 3, 4, 1, 2, 1, 1, 3, 3, N, 3],
    [1, N, 2, 1, 3, 3, 4, 3, N, N, N, N, N, N, N],
    [N, N, 2, 1, 3, 4, 4, N, 2, 1, 1, 3, 3, N, 4],
]


@pytest.mark.parametrize(
    ("ratings", "level", "published"),
    [
        (OBSERVERS, "nominal", 0.743),
        (OBSERVERS, "ordinal", 0.815),
        (OBSERVERS, "interval", 0.849),
        (OBSERVERS, "ratio", 0.797),
        (CODERS, "nominal", 0.691),
        (CODERS, "interval", 0.811),
    ],
)
def test_alpha_is_as_published(ratings: Sequence[Sequence[float | None]], level: Level, published: float) -> None:
    assert krippendorff_alpha(ratings, level=level) == pytest.approx(published, abs=0.0005)


def test_texts_have_nominal_agreement_alone() -> None:
    assert krippendorff_alpha([["a", "b"], ["a", "b"]]) == 1.0
    with pytest.raises(InputError, match="needs numbers"):
        krippendorff_alpha([["a", "b"], ["a", "b"]], level="interval")


def test_no_agreement_beyond_chance_can_be_told_from_one_value_or_one_rater() -> None:
    assert krippendorff_alpha([[1, 1], [1, 1]]) == Unscored(unscored="all ratings are the same value")
    assert krippendorff_alpha([[1, 2], [None, None]]) == Unscored(unscored="no unit has two ratings")
