"""Cached vectors: what is on disk is what the encoder gives, is made once, and is made again where it is damaged."""

from __future__ import annotations

import os
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest

from eirene.models.encoder import Encoder
from eirene.models.verifier.runtime import pair_of, token_text
from recipes.verifier import cache as cache_module
from recipes.verifier.cache import cached_pairs
from recipes.verifier.data import VerifierRow, read_rows
from tests.recipes.verifier.verifier_rows import rows_of, write_rows

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[VerifierRow]:
    return read_rows(write_rows(tmp_path_factory.mktemp("rows") / "train.jsonl", rows_of()))


def seen_in(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in folder.rglob("*.np?")}


def test_the_cache_holds_what_the_encoder_gives(rows: list[VerifierRow], encoder: Encoder, tmp_path: Path) -> None:
    cache = cached_pairs(rows, tmp_path, workers=1)
    for n, row in enumerate(rows):
        premise = [token_text(text, encoder.tokens([text])[0]) for text in row.premise]
        claim = token_text(row.claim, encoder.tokens([row.claim])[0])
        wanted, found = pair_of(premise, claim), cache[n]
        assert np.array_equal(found.links, wanted.links)
        assert np.array_equal(found.claim_flags, wanted.claim_flags)
        assert np.array_equal(found.premise_flags, wanted.premise_flags)
        assert np.array_equal(found.claim, claim.tokens.vectors)
        assert np.array_equal(found.premise, np.concatenate([text.tokens.vectors for text in premise]))
        assert tuple(cache.lengths[n]) == wanted.links.shape[:2]


def test_of_a_long_premise_the_window_that_bears_on_the_claim_is_kept(tmp_path: Path, encoder: Encoder) -> None:
    long = " ".join(f"Region {n} sold wool and tea in spring of that year to other towns." for n in range(60))
    row = VerifierRow("own", (f"{long} The mayor of Norra resigned. {long}",), "Norra's mayor resigned.", "supported")
    found = cached_pairs([row], tmp_path, workers=1)[0]
    assert len(found.premise) < 200
    wanted = encoder.tokens(["The mayor of Norra resigned."])[0].vectors
    assert any(np.array_equal(found.premise[n : n + len(wanted)], wanted) for n in range(len(found.premise)))


def test_a_chunk_is_made_once_and_others_rows_are_others(rows: list[VerifierRow], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    cached_pairs(rows, tmp_path, workers=1, progress=lambda done, total: told.append((done, total)))
    before = seen_in(tmp_path)
    cached_pairs(rows, tmp_path, workers=1, progress=lambda done, total: told.append((done, total)))
    assert (seen_in(tmp_path), told) == (before, [(1, 1)])
    cached_pairs(rows[::-1], tmp_path, workers=1)
    assert len(seen_in(tmp_path)) == 2 * len(before)


@pytest.mark.parametrize("name", ["vectors.npy", "pairs.npz"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_damaged_chunk_is_made_again(name: str, share: float, rows: list[VerifierRow], tmp_path: Path) -> None:
    first = cached_pairs(rows, tmp_path, workers=1)[3]
    (file,) = tmp_path.rglob(name)
    file.write_bytes(file.read_bytes()[: int(file.stat().st_size * share)])
    again = cached_pairs(rows, tmp_path, workers=1)[3]
    assert np.array_equal(again.premise, first.premise)
    file.unlink()
    assert np.array_equal(cached_pairs(rows, tmp_path, workers=1)[3].links, first.links)


def test_processes_make_the_same_cache(
    rows: list[VerifierRow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "CHUNK", 6)
    here = cached_pairs(rows, tmp_path / "here", workers=1)
    told: list[tuple[int, int]] = []
    there = cached_pairs(rows, tmp_path / "there", workers=2, progress=lambda *step: told.append(step))
    assert told == [(1, 3), (2, 3), (3, 3)]
    for n in range(len(rows)):
        assert np.array_equal(here[n].premise, there[n].premise)
        assert np.array_equal(here[n].links, there[n].links)


def test_what_breaks_off_the_making_ends_the_processes_and_the_whole_chunks_are_kept(
    rows: list[VerifierRow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ctrl-C does."""
    monkeypatch.setattr(cache_module, "CHUNK", 2)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_pairs(rows, tmp_path, workers=2, progress=stop)
    assert not active_children()
    (home,) = tmp_path.iterdir()
    assert os.listdir(home)
    assert len(cached_pairs(rows, tmp_path, workers=1).lengths) == len(rows)
