"""Fitting the head: batches, losses, the margin between twins, and that a seed gives its weights."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from recipes.verifier.cache import JoinedPairs, PairCache, cached_pairs  # noqa: E402 - after the skip
from recipes.verifier.data import VerifierRow, read_rows  # noqa: E402
from recipes.verifier.fit import (  # noqa: E402
    VerifierRecipe,
    batches,
    collate,
    fit,
    log_odds,
    loss_of,
    probabilities,
)
from recipes.verifier.graph import HeadShape, PairReader  # noqa: E402
from tests.recipes.verifier.verifier_rows import rows_of, write_rows  # noqa: E402
from tests.rows import each  # noqa: E402

SMALL = VerifierRecipe(epochs=3, batch=6, shape=HeadShape(width=16, heads=2, layers=1))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[VerifierRow]:
    return read_rows(write_rows(tmp_path_factory.mktemp("rows") / "train.jsonl", rows_of()))


@pytest.fixture(scope="module")
def cache(rows: list[VerifierRow], tmp_path_factory: pytest.TempPathFactory) -> PairCache:
    return cached_pairs(rows, tmp_path_factory.mktemp("cache"), workers=1)


def weights(model: PairReader) -> bytes:
    return b"".join(tensor.numpy().tobytes() for tensor in model.state_dict().values())


def test_a_batch_is_padded_at_the_end(cache: PairCache) -> None:
    pairs = [cache[0], cache[2], cache[4]]
    claim, premise, links = collate(pairs)
    for n, pair in enumerate(pairs):
        c, p, _ = pair.links.shape
        for side, vectors, flags in (
            (claim, pair.claim, pair.claim_flags),
            (premise, pair.premise, pair.premise_flags),
        ):
            size = len(vectors)
            assert np.array_equal(side.vectors[n, :size].numpy(), vectors.astype(np.float32))
            assert np.array_equal(side.flags[n, :size].numpy(), flags)
            assert side.mask[n].sum() == side.mask[n, :size].sum() == size
            assert not side.vectors[n, size:].any() and not side.flags[n, size:].any()
        assert np.array_equal(links[n, :c, :p].numpy(), pair.links)
        assert links[n].sum() == links[n, :c, :p].sum()


@given(st.lists(st.integers(1, 5), max_size=60), st.integers(1, 12), st.integers(0, 3))
def test_every_row_is_in_one_batch_with_its_pair(sizes: list[int], most: int, seed: int) -> None:
    ends = np.cumsum([0, *sizes])
    groups = [tuple(range(a, b)) for a, b in pairwise(ends)]
    lengths = np.random.default_rng(seed).integers(1, 99, (int(ends[-1]), 2))
    made = [list(b) for b in batches(groups, lengths, most, np.random.default_rng(seed))]
    assert sorted(n for batch in made for n in batch) == list(range(int(ends[-1])))
    assert all(batch and (len(batch) <= most or tuple(batch) in groups) for batch in made)
    for group in groups:
        assert any(set(group) <= set(batch) for batch in made)
    again = [list(b) for b in batches(groups, lengths, most, np.random.default_rng(seed))]
    assert made == again


@each(
    "label, right, wrong",
    [
        ("supported", [9.0, 0, 0], [0, 9.0, 0]),
        ("unsupported", [0, 9.0, 0], [0, 0, 9.0]),
        ("contradicted", [0, 0, 9.0], [0, 9.0, 0]),
        ("not_supported", [0, 9.0, 0], [9.0, 0, 0]),
        ("not_supported", [0, 0, 9.0], [9.0, 0, 0]),
        ("not_supported", [0, 9.0, 9.0], [9.0, 0, 9.0]),
    ],
)
def test_a_label_allows_its_classes(label: str, right: list[float], wrong: list[float]) -> None:
    row = [VerifierRow("own", ("Rain fell.",), "It rained.", label)]  # type: ignore[arg-type]
    low, high = (float(loss_of(torch.tensor([logits]), row, [0], SMALL)) for logits in (right, wrong))
    assert low == pytest.approx(0.0, abs=1e-3)
    assert high > 0.6


def test_a_margin_is_wanted_between_twins_alone() -> None:
    good = VerifierRow("own", ("Rain fell.",), "It rained.", "supported", pair="a")
    bad = replace(good, claim="It snowed.", label="contradicted")
    logits = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    apart, together = replace(bad, pair="b"), bad
    plain = float(loss_of(logits, [good, apart], [0, 1], SMALL))
    assert float(loss_of(logits, [good, together], [0, 1], SMALL)) == pytest.approx(
        plain + SMALL.margin_weight * SMALL.margin
    )
    wide = torch.tensor([[5.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    assert float(loss_of(wide, [good, together], [0, 1], SMALL)) == pytest.approx(
        float(loss_of(wide, [good, apart], [0, 1], SMALL))
    )


def test_a_margin_falls_in_training(rows: list[VerifierRow], cache: PairCache) -> None:
    """What twins are short of it: after some epochs less than before the first."""
    recipe = replace(SMALL, epochs=12, learning_rate=1e-2, averaged=0.5)
    chosen = [n for n, row in enumerate(rows) if row.pair is not None]

    def short(model: PairReader) -> float:
        with torch.no_grad():
            odds = log_odds(model(collate([cache[n] for n in chosen])))
        return float(torch.relu(recipe.margin - odds[0::2] + odds[1::2]).mean())

    torch.manual_seed(0)
    before = short(PairReader(recipe.shape).eval())
    head, losses = fit(rows, cache, recipe=recipe, seed=0)
    assert short(head) < 0.5 * before
    assert sum(losses[-4:]) < 0.7 * sum(losses[:4])


@pytest.fixture(scope="module")
def straight(rows: list[VerifierRow], cache: PairCache) -> tuple[PairReader, list[float]]:
    return fit(rows, cache, recipe=SMALL, seed=5)


def test_a_seed_gives_its_weights_and_the_most_steps_end_a_training(
    rows: list[VerifierRow], cache: PairCache, straight: tuple[PairReader, list[float]]
) -> None:
    again, other = (weights(fit(rows, cache, recipe=SMALL, seed=seed)[0]) for seed in (5, 6))
    assert again == weights(straight[0]) != other
    seen: list[tuple[int, int]] = []
    _, losses = fit(
        rows, cache, recipe=SMALL, seed=0, max_steps=2, progress=lambda step, steps, _: seen.append((step, steps))
    )
    assert (seen, len(losses)) == ([(1, 2), (2, 2)], 2)


def test_a_pair_is_read_in_a_batch_as_it_is_alone(
    rows: list[VerifierRow], cache: PairCache, straight: tuple[PairReader, list[float]]
) -> None:
    together = probabilities(straight[0], cache, len(rows))
    alone = np.vstack([probabilities(straight[0], _Only(cache, n), 1) for n in range(len(rows))])
    assert together == pytest.approx(alone, abs=1e-5)
    assert together.sum(1) == pytest.approx(np.ones(len(rows)), abs=1e-5)


class _Only:
    """One pair of a cache."""

    def __init__(self, cache: PairCache, row: int) -> None:
        self._pair = cache[row]
        self.lengths = cache.lengths[row : row + 1]

    def __getitem__(self, row: int) -> object:
        return self._pair


def test_joined_pairs_are_those_of_their_parts(rows: list[VerifierRow], cache: PairCache) -> None:
    parts = [_Only(cache, 3), cache, _Only(cache, 7)]
    joined = JoinedPairs(parts)  # type: ignore[arg-type]
    assert len(joined.lengths) == len(rows) + 2
    for place, n in enumerate([3, *range(len(rows)), 7]):
        assert np.array_equal(joined[place].claim, cache[n].claim)
        assert tuple(joined.lengths[place]) == tuple(cache.lengths[n])
