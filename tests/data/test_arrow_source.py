"""Parquet files as rows."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError, MissingExtraError
from eirene.data import open_source
from eirene.data.arrow import arrow_rows

ROWS = 2500  # several batches
TABLE = pa.table(
    {
        "n": list(range(ROWS)),
        "texts": [["a", None, "ü"]] * ROWS,
        "inner": [{"x": None, "y": [{"z": 0.5}]}] * ROWS,
        "when": [datetime.datetime(2024, 2, 29)] * ROWS,
        "code": pa.array(["a", "b"] * (ROWS // 2)).dictionary_encode(),
        "map": pa.array([[("k", 1)]] * ROWS, pa.map_(pa.string(), pa.int64())),
        "nothing": [None] * ROWS,
    }
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("tables") / "x.parquet"
    pq.write_table(TABLE, file, row_group_size=700)
    return str(file)


def test_rows_are_python_values_with_their_number(path: str) -> None:
    source = open_source(path)
    rows = list(source.rows())
    assert [row.where for row in rows[:2]] == [f"{path}, row 1", f"{path}, row 2"]
    assert rows[2].data == {
        "n": 2, "texts": ["a", None, "ü"], "inner": {"x": None, "y": [{"z": 0.5}]},
        "when": datetime.datetime(2024, 2, 29), "code": "a", "map": {"k": 1}, "nothing": None,
    }  # fmt: skip
    assert [row.data["n"] for row in rows] == list(range(ROWS))  # type: ignore[index]  # they are objects
    assert source.count() == ROWS
    assert source.columns() == tuple(TABLE.column_names)


def test_rows_are_taken_by_their_places(subtests: pytest.Subtests, path: str) -> None:
    cases: list[Sequence[int]] = [[], [0], [699, 700, 1023, 1024, 2499], range(3), range(5000)]
    for take in cases:
        with subtests.test(case=take):
            places = [n for n in take if n < ROWS]
            found = list(open_source(path).rows(take=take, only=frozenset({"n", "other"})))
            assert [row.data for row in found] == [{"n": n} for n in places]
            assert [row.where for row in found] == [f"{path}, row {n + 1}" for n in places]


@given(st.lists(st.integers(0, 4), max_size=5), st.data())
def test_batches_of_any_sizes_give_the_same(sizes: list[int], data: st.DataObject) -> None:
    places = sorted(data.draw(st.sets(st.integers(0, sum(sizes) + 1))))
    numbers = iter(range(sum(sizes)))
    batches = [pa.table({"n": pa.array([next(numbers) for _ in range(size)], pa.int64())}) for size in sizes]
    found = [row.data["n"] for row in arrow_rows(batches, "x", take=places)]  # type: ignore[index]  # an object
    assert found == [place for place in places if place < sum(sizes)]


def test_a_file_that_is_none_is_one_clear_error(subtests: pytest.Subtests, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    for data in (b"", b"PAR1", b"question,answer\n", b"PAR1" * 100):
        with subtests.test(data=data):
            file.write_bytes(data)
            with pytest.raises(InputError, match="cannot be read: ") as caught:
                list(open_source(str(file)).rows())
            assert str(caught.value).startswith(str(file)) and "\n" not in str(caught.value)


def test_a_file_cut_off_in_its_middle_is_an_error(path: str, tmp_path: Path) -> None:
    cut = tmp_path / Path(path).name
    cut.write_bytes(Path(path).read_bytes()[:-2000])
    with pytest.raises(InputError, match="cannot be read: "):
        list(open_source(str(cut)).rows())


def test_two_columns_of_one_name_are_an_error(tmp_path: Path) -> None:
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(InputError, match="two columns named 'a'"):
        list(open_source(str(tmp_path / "x.parquet")).rows())


def test_a_value_that_python_cannot_hold_is_named_by_its_rows(tmp_path: Path) -> None:
    dates = pa.array([10**8], pa.int32()).cast(pa.date32())
    pq.write_table(pa.table({"when": dates}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="rows 1 to 1: holds a value that Python has no word for"):
        list(open_source(str(tmp_path / "x.parquet")).rows())


def test_without_the_package_the_install_command_is_named(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'eirene\[data\]'"):
        open_source(path)
