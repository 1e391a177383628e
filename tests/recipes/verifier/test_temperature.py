"""Temperature scaling: it undoes what made a head too sure, and leaves every order of two probabilities of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipes.verifier.data import VerifierRow
from recipes.verifier.temperature import fit_temperature, log_loss, tempered
from tests.rows import each

pytestmark = pytest.mark.slow


def rows_with(labels: list[Any]) -> list[VerifierRow]:
    return [VerifierRow("own", ("Rain fell.",), "It rained.", label) for label in labels]


@each("factor", [0.5, 1.0, 3.0])
def test_the_factor_of_overconfident_logits_is_found(factor: float) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1.5, (20_000, 3))
    true = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    drawn = (rng.random(len(true))[:, None] > true.cumsum(1)).sum(1)
    rows = rows_with([("supported", "unsupported", "contradicted")[n] for n in drawn])
    said = np.exp(factor * logits) / np.exp(factor * logits).sum(1, keepdims=True)
    assert fit_temperature(rows, said.astype(np.float32)) == pytest.approx(factor, rel=0.06)


@each("labels", [[], ["supported"] * 3, ["unsupported", "not_supported"]])
def test_rows_of_one_kind_tell_nothing(labels: list[str]) -> None:
    assert fit_temperature(rows_with(labels), np.full((len(labels), 3), 1 / 3, np.float32)) == 1.0


probabilities = st.lists(st.floats(0, 1, width=32), min_size=3, max_size=3).filter(lambda row: sum(row) > 0.01)


@given(probabilities, st.floats(0.2, 5))
def test_rows_stay_probabilities_in_their_order(row: list[float], temperature: float) -> None:
    given = np.array([row], np.float32) / np.float32(sum(row))
    (found,) = tempered(given, temperature)
    assert found.min() >= 0 and found.sum() == pytest.approx(1.0, abs=1e-5)
    assert all(found[a] <= found[b] for a in range(3) for b in range(3) if given[0, a] < given[0, b])


@given(probabilities)
def test_a_temperature_of_1_changes_nothing(row: list[float]) -> None:
    given = np.array([row], np.float32) / np.float32(sum(row))
    assert tempered(given, 1.0) == pytest.approx(given, abs=1e-5)


def test_a_sure_mistake_costs_much_and_no_infinity() -> None:
    sure = np.array([[0.0, 1.0, 0.0]], np.float32)
    assert log_loss(np.array([False]), sure) == pytest.approx(0.0)
    assert 50 < log_loss(np.array([True]), sure) < 100
