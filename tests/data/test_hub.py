"""Hugging Face datasets: from disk, and what is said where the hub cannot be reached."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import datasets
import pytest

from eirene.core.errors import InputError, MissingExtraError
from eirene.data import open_source

ROWS = [{"question": f"Why {n}?", "answers": {"text": ["a", "b"], "score": [n, 1]}} for n in range(2100)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the same dataset in the forms that the library writes; its cache is in there as well."""
    made = tmp_path_factory.mktemp("hub")
    datasets.disable_progress_bars()
    whole = datasets.Dataset.from_list(ROWS)
    whole.save_to_disk(made / "one")
    both = datasets.DatasetDict({"train": whole, "test": whole.select(range(3))})
    both.save_to_disk(made / "both")
    datasets.DatasetDict({"dev": whole}).save_to_disk(made / "dev-only")
    (made / "none").mkdir()
    (made / "files").mkdir()
    for name, part in both.items():
        part.to_parquet(made / "files" / f"{name}-00000-of-00001.parquet")
    before, datasets.config.HF_DATASETS_CACHE = datasets.config.HF_DATASETS_CACHE, made / "cache"
    yield made
    datasets.config.HF_DATASETS_CACHE = before
    datasets.enable_progress_bars()


def test_a_folder_is_read_like_any_file(subtests: pytest.Subtests, folder: Path) -> None:
    cases: list[str] = ["one", "both@train", "dev-only", "dev-only@dev", "files@train"]
    for name in cases:
        with subtests.test(case=name):
            source = open_source(str(folder / name))
            assert [row.data for row in source.rows()] == ROWS
            assert source.count() == len(ROWS)
            assert source.columns() == ("question", "answers")
            taken = list(source.rows(take=[5, 2050], only=frozenset({"question"})))
            assert [row.data for row in taken] == [{"question": "Why 5?"}, {"question": "Why 2050?"}]
            assert taken[1].where.endswith(", row 2051")


def test_the_library_loads_what_the_name_says(folder: Path) -> None:
    """A folder stands where a hub's OWNER/NAME would: the library takes either."""
    name = f"hf-dataset:{folder / 'files'}"
    assert [row.data for row in open_source(f"{name}@test").rows()] == ROWS[:3]
    assert next(open_source(f"{name}:default@test").rows()).where == f"{name}:default@test, row 1"
    with pytest.raises(InputError, match=r"has the splits train, test; name one, such as hf-dataset:.*@train"):
        open_source(name)


def test_what_a_dataset_does_not_have_is_told(subtests: pytest.Subtests, folder: Path) -> None:
    cases: list[tuple[str, str]] = [
        ("@dev", 'cannot be loaded: Unknown split "dev"'),
        (":nope@test", "cannot be loaded: BuilderConfig 'nope' not found"),
        ("@a@b", "is not in the form hf-dataset:OWNER/NAME"),
    ]
    for part, said in cases:
        with subtests.test(case=part):
            with pytest.raises(InputError) as caught:
                open_source(f"hf-dataset:{folder / 'files'}{part}")
            assert str(caught.value).startswith(f"hf-dataset:{folder / 'files'}{part}: {said}")


def test_a_hub_that_cannot_be_reached_is_one_clear_line(caplog: pytest.LogCaptureFixture) -> None:
    level = logging.getLogger("huggingface_hub").level
    with pytest.raises(InputError, match=r"^hf-dataset:din0s/asqa@dev: the hub cannot be reached \(.*\); a folder"):
        open_source("hf-dataset:din0s/asqa@dev")
    assert caplog.records == []
    assert logging.getLogger("huggingface_hub").level == level


def test_a_saved_folder_says_which_splits_it_has(subtests: pytest.Subtests, folder: Path) -> None:
    cases: list[tuple[str, str]] = [
        ("both", "has the splits train, test; name one, such as .*@train"),
        ("both@dev", "has no split 'dev'; splits: train, test"),
        ("one@train", "has no splits"),
    ]
    for name, said in cases:
        with subtests.test(case=name), pytest.raises(InputError, match=said):
            open_source(str(folder / name))


def test_files_in_a_folder_are_one_set(subtests: pytest.Subtests, folder: Path) -> None:
    cases: list[tuple[list[str], str, list[str]]] = [
        (["b.jsonl", "a.jsonl"], "", ["a", "b"]),
        (["train-00000-of-00002.jsonl", "train-00001-of-00002.jsonl", "test.jsonl"], "@test", ["test"]),
        (["data/train.jsonl", "data/test.jsonl"], "@train", ["train"]),
    ]
    for n, (names, split, expected) in enumerate(cases):
        with subtests.test(case=names):
            for name in names:
                path = folder / "lines" / str(n) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f'{{"file": "{path.stem}"}}\n')
            rows = open_source(f"{folder / 'lines' / str(n)}{split}").rows()
            assert [row.data for row in rows] == [{"file": name} for name in expected]
    for name, said in (("lines/1", "has the splits "), ("lines/1@dev", "has no split 'dev'"), ("none", "cannot be")):
        with subtests.test(case=name), pytest.raises(InputError, match=said):
            open_source(str(folder / name))


def test_a_damaged_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{")
    (tmp_path / "dataset_info.json").write_text("{}")
    with pytest.raises(InputError, match="cannot be loaded: "):
        open_source(str(tmp_path))


def test_a_file_may_be_named_like_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hf-dataset:x.jsonl").write_text('{"n": 1}\n')
    assert [row.data for row in open_source("./hf-dataset:x.jsonl").rows()] == [{"n": 1}]


def test_without_the_package_the_install_command_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    for name in ("hf-dataset:a/b", str(folder / "one")):
        with pytest.raises(MissingExtraError, match=r"pip install 'eirene\[data\]'"):
            open_source(name)
