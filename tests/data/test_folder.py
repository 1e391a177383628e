"""Folders of files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.data import open_source
from eirene.data.open import FolderSource
from eirene.data.source import PipedBytes
from eirene.data.text_files import JsonSource


def put(folder: Path, *names: str, rows: int = 2) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps({"file": name, "n": n}) + "\n" for n in range(rows))
        (folder / name).write_text(lines if "jsonl" in name else "file,n\n" + f"{name},0\n" * rows)
    return folder


def files(name: str) -> list[str]:
    return [row.data["file"] for row in open_source(name).rows()]  # type: ignore[index]  # they are objects


def test_shards_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = put(tmp_path, "b.jsonl", "a.jsonl", ".hidden.jsonl", "README.md", "dataset_infos.json")
    assert files(str(folder)) == ["a.jsonl"] * 2 + ["b.jsonl"] * 2
    assert open_source(str(folder)).count() == 4
    assert next(open_source(str(folder)).rows()).where == f"{folder / 'a.jsonl'}, line 1"


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_rows_are_taken_over_the_borders_of_files(sizes: list[int], data: st.DataObject) -> None:
    import io

    numbers = iter(range(sum(sizes)))
    parts = [
        JsonSource(PipedBytes("x", io.BytesIO(b"".join(b"%d\n" % next(numbers) for _ in range(size)))), by_line=True)
        for size in sizes
    ]
    places = sorted(data.draw(st.sets(st.integers(0, sum(sizes) + 1))))
    found = [row.data for row in FolderSource("x", parts).rows(take=places)]
    assert found == [place for place in places if place < sum(sizes)]


def test_a_split_is_told_by_the_names(subtests: pytest.Subtests, tmp_path: Path) -> None:
    cases: list[tuple[list[str], str | None, int]] = [
        (["train-00000-of-00002.jsonl", "train-00001-of-00002.jsonl", "test-00000-of-00001.jsonl"], "test", 1),
        (["train-00000-of-00002.jsonl", "train-00001-of-00002.jsonl"], None, 2),
        (["set-train-00000-of-00001-0a1b.jsonl", "set-dev-00000-of-00001-0a1b.jsonl"], "dev", 1),
        (["train.jsonl", "validation.jsonl"], "train", 1),
        (["train.csv", "dev.jsonl"], "dev", 1),
        (["data/train-00000-of-00001.csv", "data/test-00000-of-00001.csv"], "train", 1),
        (["part-1.jsonl", "part-2.jsonl"], None, 2),
    ]
    for n, (names, split, expected) in enumerate(cases):
        with subtests.test(case=names):
            found = files(f"{put(tmp_path / str(n), *names)}{f'@{split}' if split else ''}")
            assert len(set(found)) == expected
            assert all(split in name for name in found if split)


def test_a_folder_that_is_not_clear_says_what_to_name(subtests: pytest.Subtests, tmp_path: Path) -> None:
    cases: list[tuple[list[str], str, str]] = [
        (["train.jsonl", "test.jsonl"], "", "has the splits test, train; name one, such as .*@test"),
        (["train.jsonl", "other.jsonl"], "", "and files of no split"),
        (["train.jsonl"], "@dev", "has no split 'dev'; splits: train"),
        (["a.jsonl"], "@dev", "has no split 'dev'; its files name none"),
        (["a.jsonl", "b.csv"], "", "files of several formats: csv, jsonl"),
        (["README.md"], "", "is a directory without rows"),
        (["row.json"], "", "is a directory without rows"),
    ]
    for n, (names, split, said) in enumerate(cases):
        with subtests.test(case=names), pytest.raises(InputError, match=said):
            files(f"{put(tmp_path / str(n), *names)}{split}")
