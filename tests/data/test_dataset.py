"""Items of a source: checked, streamed, the same whatever the format."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.data import Selection, open_dataset, read_items
from tests.rows import each

QA = {"question": "Why?", "answer": "So."}

# Anything that a row may hold, line ends, quotes, separators and odd spaces among it.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12).filter(
    lambda text: text.strip()
)
META = st.dictionaries(TEXT, st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | TEXT, max_size=3)
Strategies = dict[str, st.SearchStrategy[Any]]
NEEDED: Strategies = {"question": TEXT, "answer": TEXT}
SIDE: Strategies = {"name": TEXT, "arguments": st.lists(TEXT, min_size=1, max_size=2)}
NOTE: Strategies = {"sentence": st.integers(1, 9), "reason": TEXT}
OPTIONAL: Strategies = {
    "perspectives": st.lists(
        st.fixed_dictionaries(SIDE), min_size=1, max_size=2, unique_by=lambda side: str(side["name"]).strip()
    ),
    "context": st.lists(TEXT, min_size=1, max_size=2),
    "feedback": st.lists(st.fixed_dictionaries(NOTE), min_size=1, max_size=2),
    "gold": TEXT,
    "meta": META,
}
ROW = st.fixed_dictionaries(NEEDED, optional=OPTIONAL)
ROWS = st.lists(ROW, min_size=1, max_size=4)
FIELDS = ("id", "question", "answer", "perspectives", "context", "feedback", "gold", "meta")


def numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"id": f"r{n}", **row} for n, row in enumerate(rows)]


def as_jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def as_csv(rows: list[dict[str, Any]], separator: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator)
    writer.writerow(FIELDS)
    for row in rows:
        cells = [row.get(name) for name in FIELDS]
        writer.writerow("" if c is None else c if isinstance(c, str) else json.dumps(c) for c in cells)
    return out.getvalue().encode()


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    """`meta`, whose values have no common type, as JSON text."""
    columns = {name: [row.get(name) for row in rows] for name in FIELDS[:-1]}
    columns["meta"] = [json.dumps(row["meta"]) if "meta" in row else None for row in rows]
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def read(data: bytes, name: str, **options: Any) -> list[Item]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(data)
        return open_dataset(str(Path(folder) / name), **options).read()


@given(ROWS)
def test_a_set_of_items_reads_back_the_same_from_every_format(rows: list[dict[str, Any]]) -> None:
    rows = numbered(rows)
    expected = [Item.model_validate(row) for row in rows]
    assert read(as_jsonl(rows), "x.jsonl") == expected
    assert read(as_csv(rows), "x.csv") == expected
    assert read(as_csv(rows, "\t"), "x.tsv") == expected
    assert read(as_parquet(rows), "x.parquet") == expected


@given(st.integers(1, 30), st.integers(0, 30), st.integers(0, 30), st.integers(0, 5))
def test_the_same_rows_are_taken_from_every_format(total: int, limit: int, sample: int, seed: int) -> None:
    rows = numbered([QA] * total)
    selection = Selection(limit, sample, seed)
    files = {"x.jsonl": as_jsonl(rows), "x.json": json.dumps(rows).encode(), "x.csv": as_csv(rows),
             "x.parquet": as_parquet(rows)}  # fmt: skip
    found = [[item.id for item in read(data, name, selection=selection)] for name, data in files.items()]
    places = selection.places(total)
    assert found == [[f"r{n}" for n in (range(total) if places is None else places)]] * 4


def write(path: Path, *rows: Any) -> str:
    path.write_bytes(as_jsonl(list(rows)))
    return str(path)


def test_checking_says_how_many_rows_there_are_and_items_come_after(tmp_path: Path) -> None:
    data = open_dataset(write(tmp_path / "x.jsonl", *numbered([QA] * 3)))
    assert data.check() == 3
    assert [item.id for item in data.items()] == [item.id for item in data.read()] == ["r0", "r1", "r2"]


def test_an_id_used_twice_names_both_places(tmp_path: Path) -> None:
    name = write(tmp_path / "x.jsonl", *({**QA, "id": i} for i in "aba"))
    with pytest.raises(InputError, match=r"x.jsonl, line 3: the id 'a' is taken by .*x.jsonl, line 1; give each an id"):
        open_dataset(name).check()


def test_the_same_row_twice_without_an_id_is_an_error(tmp_path: Path) -> None:
    name = write(tmp_path / "x.jsonl", QA, QA)
    with pytest.raises(InputError, match=r"line 2: has no 'id' and the same content as .*x.jsonl, line 1") as caught:
        read_items(name)
    assert caught.value.field == "id"


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_shared_ids_are_found_wherever_they_stand(numbers: list[int]) -> None:
    data = as_jsonl([{**QA, "id": str(n)} for n in numbers])
    first = next((at for at, n in enumerate(numbers) if n in numbers[:at]), None)
    if first is None:
        assert len(read(data, "x.jsonl")) == len(numbers)
        return
    with pytest.raises(InputError, match=f"line {first + 1}: the id '{numbers[first]}' is taken by"):
        read(data, "x.jsonl")


def test_only_the_rows_that_are_taken_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(as_jsonl(numbered([QA] * 2)) + b"broken\n")
    assert open_dataset(str(path), selection=Selection(limit=2)).check() == 2
    with pytest.raises(InputError, match="line 3: is not JSON"):
        open_dataset(str(path)).check()
    path.write_bytes(as_jsonl([{"question": "Why?"}, *numbered([QA] * 2), {**QA, "id": "x", "gold": 5}]))
    told = ["line 1: there is no column 'answer'; columns: question; say which", "line 4: 'gold' must be"]
    for selection, ids in (
        (Selection(), ["r0", "r1"]),
        (Selection(limit=2), ["r0"]),
        (Selection(sample=4), ["r0", "r1"]),
    ):
        data = open_dataset(str(path), selection=selection, skip_bad=True)
        assert [item.id for item in data.read()] == ids
        assert all(line.startswith(f"{path}, {said}") for said, line in zip(told, data.skipped, strict=False))
        assert len(data.skipped) == len(ids)
        assert not any("--skip-bad" in line for line in data.skipped)
    with pytest.raises(InputError, match=r"line 1: .*; --skip-bad leaves such rows out and lists them$"):
        open_dataset(str(path), skip_bad=False).check()
    path.write_bytes(as_jsonl([{"question": "Why?"}] * 2))
    with pytest.raises(InputError, match=r"^has no row that can be used \(2\); the first: .*line 1: there is no"):
        open_dataset(str(path), skip_bad=True).check()


@each("name", ["x.jsonl", "x.csv", "x.parquet", "folder"])
def test_a_limit_beyond_all_rows_takes_them_all(name: str, tmp_path: Path) -> None:
    write_as = {"x.csv": as_csv, "x.parquet": as_parquet}.get(name, as_jsonl)
    (tmp_path / "folder").mkdir(exist_ok=True)
    path = tmp_path / (name if name != "folder" else "folder/x.jsonl")
    path.write_bytes(write_as(numbered([QA] * 3)))
    assert open_dataset(str(tmp_path / name), selection=Selection(limit=10**30)).check() == 3


def test_a_row_keeps_its_number_when_it_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("question,answer\n" + "Why?,So.\n" * 20)
    places = Selection(sample=4, seed=1).places(20)
    data = open_dataset(str(path), columns=["id=#"], selection=Selection(sample=4, seed=1))
    assert [item.id for item in data.read()] == [str(n + 1) for n in places or ()]


def test_no_rows_are_an_error(subtests: pytest.Subtests, tmp_path: Path) -> None:
    """Whatever is taken of them."""
    for name, text, said, selection in (
        ("x.csv", "question,answer\n", "x.csv: has no rows", Selection()),
        ("x.csv", "question,answer\n\n\n", "x.csv: has no rows", Selection(limit=3)),
        ("x.csv", "question,answer\n", "x.csv: has no rows", Selection(sample=3)),
        ("x.jsonl", "", "x.jsonl: is empty", Selection()),
        ("x.jsonl", "", "x.jsonl: is empty", Selection(sample=3)),
        ("x.json", "[]", "x.json: is an empty list", Selection(limit=3)),
    ):
        with subtests.test(name=name, selection=selection), pytest.raises(InputError, match=said):
            (tmp_path / name).write_text(text)
            open_dataset(str(tmp_path / name), selection=selection).check()


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_memory_does_not_grow_with_the_number_of_rows(name: str, tmp_path: Path) -> None:
    """Measured by what Python allocates: 20 MB of rows, checked and then read, in less than 4 MB."""
    rows = [{"id": f"r{n}", "question": "Why?", "answer": "word " * 1000} for n in range(4000)]
    write_as = {"x.jsonl": as_jsonl, "x.csv": as_csv, "x.parquet": as_parquet}[name]
    (tmp_path / name).write_bytes(write_as(rows))
    selection = Selection(sample=3000)
    del rows
    data = open_dataset(str(tmp_path / name), selection=selection)
    list(zip(range(2), data.items(), strict=False))  # imports what it needs
    tracemalloc.start()
    try:
        assert data.check() == sum(1 for _ in data.items()) == 3000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * 2**20


def test_keys_of_other_names_are_told_of_the_map(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 1: .*'question'; columns: prompt, response; .* --map question=COLUMN"):
        read_items(write(tmp_path / "x.jsonl", {"prompt": "Why?", "response": "So."}))
    with pytest.raises(InputError, match=r"there is no column 'answer'; columns: question; "):
        read_items(write(tmp_path / "x.jsonl", {"question": "Why?"}))
    with pytest.raises(InputError, match=r"labels; rows of RAGTruth are for `eirene evaluate detectors`; say which"):
        read_items(write(tmp_path / "x.jsonl", {"source_id": "1", "response": "So.", "labels": []}))


def test_a_null_passage_is_left_out_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = tmp_path / "x.csv"
    table.write_text('q,answer,docs\nWhy?,So.,"[null, ""a""]"\nHow?,Thus.,"[null, {""text"": null}]"\n')
    data = open_dataset(str(table), columns=["question=q", "context=docs"])
    assert data.check() == 2
    assert [item.context for item in data.items()] == [["a"], None]
    assert [record.getMessage() for record in caplog.records] == [
        f"null passages are left out: 3, the first in {table}, line 2"
    ]
