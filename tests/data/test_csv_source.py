"""CSV and TSV as rows."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.data.source import PipedBytes
from eirene.data.text_files import CsvSource


def source(text: str | bytes, *, separator: str | None = None) -> CsvSource:
    data = text if isinstance(text, bytes) else text.encode()
    return CsvSource(PipedBytes("x.csv", io.BytesIO(data)), separator=separator)


def cells(text: str | bytes, *, separator: str | None = None) -> list[object]:
    return [row.data for row in source(text, separator=separator).rows()]


CELL = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5), st.sampled_from(",;\t|"))
def test_what_the_module_writes_is_read_back(rows: list[tuple[str, str]], separator: str) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL)
    writer.writerows([("a", "b"), *rows])
    assert cells(out.getvalue()) == [{"a": a, "b": b} for a, b in rows]
    assert source(out.getvalue()).count() == len(rows)


def test_the_header_names_the_columns_and_tells_the_separator(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, tuple[str, ...]]] = [
        ("a,b", ("a", "b")),
        ("a;b", ("a", "b")),
        ("a|b", ("a", "b")),
        ("a\tb", ("a", "b")),
        ("a", ("a",)),
        ('"a;c",b', ("a;c", "b")),
        ("a, b ", ("a", "b")),
        (",b", ("column_1", "b")),
        ("\ufeffa,b", ("a", "b")),
        ("\n\na,b", ("a", "b")),
        ('"a\nc",b', ("a\nc", "b")),
        ("größe,答え", ("größe", "答え")),
    ]
    for header, names in cases:
        with subtests.test(case=header):
            assert source(header + "\n").columns() == names


def test_tsv_is_parted_by_tabs_whatever_stands_in_the_header() -> None:
    assert cells("a,b,c\td\n1\t2\n", separator="\t") == [{"a,b,c": "1", "d": "2"}]


def test_a_row_stands_where_its_record_begins() -> None:
    """Blank lines count and are skipped; a record may take several lines."""
    text = 'a,b\n1,"two\nlines"\n\n2,x\r\n3,"y"\n'
    found = [(row.where, row.data) for row in source(text).rows()]
    assert [where for where, _ in found] == ["x.csv, line 2", "x.csv, line 5", "x.csv, line 6"]
    assert found[0][1] == {"a": "1", "b": "two\nlines"}
    assert [row.where for row in source("\n" + text).rows(take=[1])] == ["x.csv, line 6"]


def test_a_cell_may_be_of_any_length() -> None:
    """The module's own limit is 131,072 characters."""
    assert cells("a\n" + "x" * 300_000 + "\n") == [{"a": "x" * 300_000}]


def test_what_is_no_table_is_named_with_its_place(subtests: pytest.Subtests) -> None:
    cases: list[tuple[bytes, str]] = [
        (b"", "x.csv: is empty"),
        (b"\n \n", "x.csv: is empty"),
        (b"a,b\n1,2\n1\n", "x.csv, line 3: has 1 cells, the header 2"),
        (b"a,b\n1,2,3\n", "x.csv, line 2: has 3 cells, the header 2"),
        (b"a,b,a\n1,2,3\n", "x.csv, line 1: the header names the column 'a' twice"),
        (b'a,b\n1,"2\n3,4\n', "x.csv, line 3: is not CSV: a quote is left open"),
        (b'a,b\n1,"2"x\n', "x.csv, line 2: is not CSV: "),
        (b"a,b\r1,2\r", "a carriage return stands alone"),
        (b"a,b\n1,2\n1,caf\xe9\n", "x.csv, line 3: is not UTF-8 (byte 0xe9 at position 6)"),
        ("a,b\n1,2\n".encode("utf-16"), "x.csv, line 1: is UTF-16"),
    ]
    for text, said in cases:
        with subtests.test(case=text):
            with pytest.raises(InputError) as caught:
                cells(text)
            assert said in str(caught.value)


def test_what_spreadsheets_write_around_a_table_is_no_part_of_it(subtests: pytest.Subtests) -> None:
    cases: list[str] = [
        "sep=;\r\na;b,c\r\n1;2\r\n",
        '"sep=;"\na;b,c\n1;2\n',
        "\ufeffSEP=;;\na;b,c\n1;2\n",
        "a;b,c;;;\n1;2;;;\n;;;;\n",
        "a;b,c;;;\n1;2\n",
        "a;b,c\n1;2;;\n",
        ";;\n\na;b,c\n;\n1;2\n",
    ]
    for text in cases:
        with subtests.test(case=text):
            assert cells(text, separator=None if text[0] != "a" else ";") == [{"a": "1", "b,c": "2"}]
            assert source(text, separator=";").count() == 1


def test_a_column_without_a_name_has_one_where_it_holds_something() -> None:
    assert cells(",a,\n1,2,\n,3,4\n") == [{"column_1": "1", "a": "2"}, {"a": "3", "column_3": "4"}]
    with pytest.raises(InputError, match="line 2: has 3 cells, the header 2"):
        cells("a,b\n1,2,3\n")
