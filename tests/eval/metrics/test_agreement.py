"""Agreement against the values that the coefficients' own papers print."""

from __future__ import annotations

import pytest

from eirene.core.errors import InputError
from eirene.eval.metrics.agreement import Ratings, agreement
from tests.rows import each


def by_person(*people: str) -> Ratings:
    """Ratings of people who said a letter of each thing; a dot is nothing said."""
    return [[None if said == "." else said for said in thing] for thing in zip(*people, strict=True)]


COHEN = [[*pair] for pair, n in zip(
    ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz"), (88, 10, 2, 14, 40, 6, 18, 10, 12), strict=True
) for _ in range(n)]  # fmt: skip


@each("ratings, n, kappa, alpha", [
    (COHEN, 200, 0.492, None),  # Cohen 1960, table 1
    (by_person("0100000000", "1110010010"), 10, None, 0.095),  # Krippendorff 2011, section A
    (by_person("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 11, None, 0.743),  # C
    (by_person("aba", "ab."), 2, 1.0, 1.0),
])  # fmt: skip
def test_coefficients_are_those_of_their_papers(ratings: Ratings, n: int, kappa: float | None, alpha: float) -> None:
    found = agreement(ratings, draws=50)
    assert found.n == n
    for ours, theirs in ((found.kappa, kappa), (found.alpha, alpha)):
        assert theirs is None or round(ours.value or 0.0, 3) == theirs
    assert (found.alpha.low or 0.0) <= (found.alpha.value or 0.0) <= (found.alpha.high or 0.0)


def test_without_two_people_or_two_words_there_is_no_coefficient() -> None:
    assert agreement([["a", "a"], ["a", "a"]]).to_json()["alpha"] == {"unscored": "all 2 say 'a'", "n": 2}
    assert agreement([["a", None]]).kappa.unscored == "nothing was judged by two people"
    assert agreement([]).n == 0
    with pytest.raises(InputError, match="an entry for every person"):
        agreement([["a"], ["a", "b"]])
