"""Fitting the head: batches, losses, the margin between twins, and that a stopped training goes on to the same end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from eirene.core.errors import TrainingStoppedError  # noqa: E402 - after the skip
from recipes.verifier.cache import JoinedPairs, PairCache, cached_pairs  # noqa: E402
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
from recipes.verifier.state import CHECKPOINT  # noqa: E402
from tests.recipes.verifier.verifier_rows import rows_of, write_rows  # noqa: E402

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


@pytest.mark.parametrize(
    ("label", "right", "wrong"),
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


class _After:
    """Asks to stop once so many steps are done."""

    def __init__(self, steps: int) -> None:
        self.steps, self.done = steps, 0

    def step(self, step: int, steps: int, loss: float) -> None:
        self.done += 1

    def should_stop(self) -> bool:
        return self.done >= self.steps


@pytest.fixture(scope="module")
def straight(rows: list[VerifierRow], cache: PairCache) -> tuple[PairReader, list[float]]:
    return fit(rows, cache, recipe=SMALL, seed=5)


@pytest.mark.parametrize("after", [1, 3, 4])
def test_a_training_that_was_stopped_goes_on_to_the_same_weights(
    after: int,
    rows: list[VerifierRow],
    cache: PairCache,
    straight: tuple[PairReader, list[float]],
    tmp_path: Path,
) -> None:
    """In the middle of an epoch and at its end, more than once, whatever is looked at after an epoch."""
    for _ in range(2):
        stop = _After(after)
        with pytest.raises(TrainingStoppedError, match="the same command goes on there"):
            fit(
                rows, cache, recipe=SMALL, seed=5, folder=tmp_path, progress=stop.step, should_stop=stop.should_stop,
                after_epoch=lambda *_: torch.rand(3),
            )  # fmt: skip
        assert (tmp_path / CHECKPOINT).is_file()
    head, losses = fit(rows, cache, recipe=SMALL, seed=5, folder=tmp_path)
    assert losses == straight[1]
    assert weights(head) == weights(straight[0])


def test_a_finished_training_is_not_done_again(
    rows: list[VerifierRow], cache: PairCache, straight: tuple[PairReader, list[float]], tmp_path: Path
) -> None:
    fit(rows, cache, recipe=SMALL, seed=5, folder=tmp_path)
    steps = _After(99)
    head, losses = fit(rows, cache, recipe=SMALL, seed=5, folder=tmp_path, progress=steps.step)
    assert steps.done == 0
    assert (losses, weights(head)) == (straight[1], weights(straight[0]))


def _cut(data: bytes) -> bytes:
    return data[:-100]


def _flip(data: bytes) -> bytes:
    return data[:5000] + bytes([data[5000] ^ 1]) + data[5001:]


@pytest.mark.parametrize("damage", [_cut, _flip, lambda data: b"", lambda data: b"x" * 50])
def test_a_damaged_checkpoint_begins_again(
    damage: Callable[[bytes], bytes],
    rows: list[VerifierRow],
    cache: PairCache,
    straight: tuple[PairReader, list[float]],
    tmp_path: Path,
) -> None:
    fit(rows, cache, recipe=SMALL, seed=5, folder=tmp_path)
    file = tmp_path / CHECKPOINT
    file.write_bytes(damage(file.read_bytes()))
    steps = _After(99)
    head, losses = fit(rows, cache, recipe=SMALL, seed=5, folder=tmp_path, progress=steps.step)
    assert steps.done == len(losses)
    assert weights(head) == weights(straight[0])


def test_the_most_steps_end_a_training(rows: list[VerifierRow], cache: PairCache) -> None:
    seen: list[tuple[int, int]] = []
    epochs: list[int] = []
    _, losses = fit(
        rows, cache, recipe=SMALL, seed=0, max_steps=2, progress=lambda step, steps, _: seen.append((step, steps)),
        after_epoch=lambda epoch, _: epochs.append(epoch),
    )  # fmt: skip
    assert (seen, len(losses), epochs) == ([(1, 2), (2, 2)], 2, [0])


def test_another_seed_gives_other_weights(
    rows: list[VerifierRow], cache: PairCache, straight: tuple[PairReader, list[float]]
) -> None:
    assert weights(fit(rows, cache, recipe=SMALL, seed=6)[0]) != weights(straight[0])


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
