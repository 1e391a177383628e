"""Reading rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.data.json_rows import JsonBytes, count_json_rows, json_rows, taken
from eirene.data.source import read_source

ROW = {"question": "Why?", "answer": "Because."}
LINE = json.dumps(ROW)


def wheres(text: str | bytes, name: str = "x.json") -> list[str]:
    return [r.where for r in JsonBytes(name, text.encode() if isinstance(text, str) else text).rows()]


def test_every_row_knows_its_place(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str, list[str]]] = [
        ("x.json", json.dumps(ROW, indent=2), ["x.json"]),
        ("x.json", f"[{LINE}, {LINE}]", ["x.json, row 1", "x.json, row 2"]),
        ("x.jsonl", f"{LINE}\n\n{LINE}\r\n", ["x.jsonl, line 1", "x.jsonl, line 3"]),
        ("standard input", f"{LINE}\n{LINE}", ["standard input, line 1", "standard input, line 2"]),
        ("standard input", LINE, ["standard input"]),
        ("x.jsonl", LINE, ["x.jsonl, line 1"]),
        ("x.json", "\ufeff" + LINE, ["x.json"]),
        ("x.jsonl", "\ufeff" + LINE, ["x.jsonl, line 1"]),
        ("x.jsonl", json.dumps([ROW, ROW], indent=4), ["x.jsonl, row 1", "x.jsonl, row 2"]),
        ("x.jsonl", json.dumps([ROW, ROW]), ["x.jsonl, row 1", "x.jsonl, row 2"]),
    ]
    for name, text, expected in cases:
        with subtests.test(case=name):
            assert wheres(text, name) == expected


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.sampled_from(["x.json", "x.jsonl"]), st.booleans())
def test_as_many_rows_are_counted_as_are_read(blank: list[bool], name: str, as_array: bool) -> None:
    """Some lines are blank; of an array they stand inside it."""
    lines = "\n".join("" if b else LINE for b in [*blank, False])
    data = (json.dumps([ROW] * len(blank), indent=1) if as_array else lines).encode()
    assert count_json_rows(BytesIO(data), name) == len(list(json_rows(BytesIO(data), name)))


def test_rows_that_are_not_taken_are_not_read_as_json() -> None:
    text = f"{LINE}\n{{broken\n{LINE}\n{{broken".encode()
    assert [r.where for r in json_rows(BytesIO(text), "x.jsonl", take=[0, 2])] == ["x.jsonl, line 1", "x.jsonl, line 3"]


@given(st.lists(st.integers()), st.data())
def test_taken_are_the_values_at_the_places(values: list[int], data: st.DataObject) -> None:
    places = sorted(data.draw(st.sets(st.integers(0, len(values) + 2))))
    assert list(taken(values, places)) == [values[p] for p in places if p < len(values)]
    assert list(taken(values, None)) == values


def test_nothing_is_read_beyond_what_is_taken() -> None:
    def values() -> Iterator[int]:
        yield from (0, 1)
        raise AssertionError("read too far")

    assert list(taken(values(), [1])) == [1]
    assert list(taken(values(), [])) == []


def test_only_a_line_feed_ends_a_line(subtests: pytest.Subtests) -> None:
    """Unicode's other line ends may stand inside a JSON string."""
    cases: list[str] = ["\u2028", "\u2029", "\x85"]
    for separator in cases:
        with subtests.test(case=separator):
            row = json.dumps({"question": f"a{separator}b", "answer": "c"}, ensure_ascii=False)
            assert len(wheres(f"{row}\n{row}", "x.jsonl")) == 2


@given(st.lists(st.fixed_dictionaries({"question": st.text(), "answer": st.text()}), min_size=1, max_size=4))
def test_lines_and_array_read_the_same(rows: list[dict[str, str]]) -> None:
    lines = "\n".join(json.dumps(r) for r in rows).encode()
    array = json.dumps(rows).encode()
    assert (
        [r.data for r in JsonBytes("x.jsonl", lines).rows()]
        == [r.data for r in JsonBytes("x.json", array).rows()]
        == rows
    )


def test_json_is_read_strictly(subtests: pytest.Subtests) -> None:
    cases: list[tuple[bytes, str]] = [
        (b"{", "x: is not JSON"),
        (b'{"a": NaN}', "holds NaN"),
        (b'{"a": -Infinity}', "holds -Infinity"),
        (b'{"a": 1e999}', "1e999, which is too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "which is too large"),
        (b'{"a": 1, "a": 2}', "the key 'a' twice"),
        (b"[" * 100_000 + b"]" * 100_000, "more than 100 levels"),
        (b"[" * 150 + b"]" * 150, "more than 100 levels"),
        (b'{"a": "\xff"}', "is not UTF-8 (byte 0xff at position 8)"),
        ('{"a": 1}'.encode("utf-16"), "is UTF-16"),
        (b'{"a": "\\ud800"}', "half a surrogate pair"),
        (b'{"a": "\x00"}', "is not JSON"),
        (b"{'a': 1}", "column 2"),
    ]
    for text, said in cases:
        with subtests.test(case=text):
            with pytest.raises(InputError, match=r"^x: ") as caught:
                parse_json(text, where="x")
            assert said in str(caught.value)


def test_a_whole_pair_of_surrogate_escapes_is_one_character() -> None:
    assert parse_json(b'"\\ud83d\\ude00"', where="x") == "😀"


def test_a_file_without_rows_is_an_error(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, str]] = [("", "is empty"), (" \n", "is empty"), ("[]", "empty list")]
    for text, said in cases:
        with subtests.test(case=text), pytest.raises(InputError, match=said):
            wheres(text)


def test_a_broken_first_line_is_named_as_a_line() -> None:
    """A stream of rows is not taken for one broken document."""
    with pytest.raises(InputError, match="standard input, line 1: is not JSON"):
        wheres('{"question": }\n{"question": "a"}', "standard input")


def test_what_cannot_be_read_says_why(
    subtests: pytest.Subtests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: list[tuple[str, str]] = [("missing.json", "no such file"), (".", "is a directory"), ("a\0b", "read")]
    for path, said in cases:
        with subtests.test(case=path):
            monkeypatch.chdir(tmp_path)
            with pytest.raises(InputError, match=said):
                read_source(path)
