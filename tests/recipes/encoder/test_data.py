"""Claims, batches, openings and leaks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from eirene.core.errors import InputError
from recipes.encoder.data import (
    Batching,
    TrainingClaim,
    WordingCluster,
    dress,
    epoch,
    make_batch,
    normal,
    read_claims,
    texts_of,
    without,
)
from recipes.encoder.run import pair_auc, read_pairs


def test_every_claim_comes_once_an_epoch(topics_dir: Path) -> None:
    claims = read_claims(topics_dir / "topics_train.jsonl")
    batches = list(epoch(claims, Batching(claims=2, dressed=0, swapped=0), np.random.default_rng(0)))
    assert sorted(text for batch in batches for text in batch.arguments) == sorted(
        cluster.wordings[0] for claim in claims for cluster in claim.clusters
    )


def test_a_unit_words_its_owner(topics_dir: Path) -> None:
    claims = read_claims(topics_dir / "topics_train.jsonl")
    batch = make_batch(claims, Batching(dressed=0.0), np.random.default_rng(1))
    wordings = {text: cluster.wordings for claim in claims for cluster in claim.clusters for text in cluster.wordings}
    for unit, owner in zip(batch.units, batch.owner, strict=True):
        assert unit.rstrip(".") in wordings[batch.arguments[owner]]
        assert unit.rstrip(".") != batch.arguments[owner]


def test_an_argument_with_one_wording_has_no_unit() -> None:
    claim = TrainingClaim(1, "c", (WordingCluster("pro", ("only one",)),))
    batch = make_batch([claim], Batching(), np.random.default_rng(0))
    assert batch.arguments == ("only one",)
    assert batch.units == ()


@pytest.mark.parametrize("line", ["{", "{}", '{"claim_id": 1, "claim": "c", "pro": 3, "con": []}'])
def test_a_bad_row_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "topics.jsonl"
    file.write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=r"topics\.jsonl, line 1"):
        read_claims(file)


def test_claims_that_share_a_text_are_held_out_together() -> None:
    one = TrainingClaim(1, "first", (WordingCluster("pro", ("It costs too much.",)),))
    two = TrainingClaim(2, "second", (WordingCluster("con", ("it costs too MUCH",)),))
    three = TrainingClaim(3, "third", (WordingCluster("con", ("something else",)),))
    assert without([two, three], [one]) == [three]
    assert texts_of([one]) == {"first", "it costs too much"}
    assert normal(" A, b! ") == "a b"


def test_dressing_keeps_the_words() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert "cages hurt animals" in dress("cages hurt animals.", "pro", dressed=1.0, cut=0.0, rng=rng)


def test_cutting_gives_a_clause_of_the_text() -> None:
    text = "cages hurt many wild animals, and zoos cost cities far too much"
    got = {dress(text, "pro", dressed=0.0, cut=1.0, rng=np.random.default_rng(seed)).rstrip(".") for seed in range(30)}
    assert got == {"cages hurt many wild animals", "zoos cost cities far too much"}


class Letters:
    """An encoder that knows the first letter alone."""

    digest = "letters"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[text[0] == "a", text[0] != "a"] for text in texts], np.float32)


def test_pair_auc_by_hand(tmp_path: Path) -> None:
    """Equal pairs have cosines 1 and 0, unequal ones 0 and 0: (1 + 1 + 1/2 + 1/2) / 4."""
    file = tmp_path / "pairs.jsonl"
    file.write_text(
        '{"argument": "a", "other": "a", "equivalent": 1}\n{"argument": "a", "other": "b", "equivalent": 1}\n'
        '{"argument": "a", "other": "c", "equivalent": 0}\n{"argument": "d", "other": "a", "equivalent": 0}\n',
        encoding="utf-8",
    )
    assert pair_auc(Letters(), read_pairs(file)) == pytest.approx(0.75)
