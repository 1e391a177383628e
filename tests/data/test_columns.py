"""Which column is which field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.data import open_dataset
from eirene.data.columns import MISSING, find

QA = {"question": "Why?", "answer": "So."}
MAPPED = ("question=prompt", "answer=response")


def lines(folder: Path, *rows: Mapping[str, Any]) -> str:
    path = folder / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def table(folder: Path, *rows: Mapping[str, Any]) -> str:
    path = folder / "x.parquet"
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    return str(path)


def cells(folder: Path, header: str, *rows: str) -> str:
    path = folder / "x.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


def one(name: str, *columns: str, **options: Any) -> Item:
    (item,) = open_dataset(name, columns=columns, **options).read()
    return item


def test_a_path_goes_into_objects_and_lists(subtests: pytest.Subtests) -> None:
    cases: list[tuple[str, object]] = [
        ("a", {"b": 1}),
        ("a.b", 1),
        ("a.c", MISSING),
        ("a.b.c", MISSING),
        ("x.y", "dotted"),
        ("x.y.z", MISSING),
        ("list.0", 5),
        ("list.9", MISSING),
        ("list.b", MISSING),
        ("objects.t", ["p", "q", "r"]),
        ("objects.1.t", ["q", None, "r"]),
        ("objects.u", [1]),
        ("objects.v", MISSING),
        ("null.a", None),
        ("empty.a", []),
        ("nothing", MISSING),
        ("d.e.f", 7),
    ]
    for path, expected in cases:
        with subtests.test(case=path):
            data = {
                "a": {"b": 1}, "x.y": "dotted", "list": [5], "null": None, "empty": [], "d.e": {"f": 7},
                "objects": [{"t": "p", "u": 1}, {"t": ["q", None, "r"]}, None, {"t": None}],
            }  # fmt: skip
            assert find(data, path) == expected


def test_fields_come_from_the_columns_that_are_named_and_the_rest_goes_to_meta(tmp_path: Path) -> None:
    row = {"prompt": "Why?", "response": "So.", "gold": "Thus.", "rating": 3, "meta": {"a": 1}, "answer": "unused"}
    for name in (lines(tmp_path, row), table(tmp_path, row)):
        item = one(name, *MAPPED)
        assert (item.question, item.answer, item.gold) == ("Why?", "So.", "Thus.")
        assert item.meta == {"a": 1, "rating": 3, "answer": "unused"}
        assert one(name, *MAPPED, "meta=", "meta.b=rating").meta == {"b": 3}
        assert one(name, *MAPPED, "gold=").meta["gold"] == "Thus."


def test_without_a_map_a_table_needs_the_fields_own_names(tmp_path: Path) -> None:
    assert one(table(tmp_path, {**QA, "id": "a"})).id == "a"
    with pytest.raises(InputError, match=r"row 1: there is no column 'answer'; columns: question; .* --map answer="):
        one(table(tmp_path, {"question": "Why?"}))
    with pytest.raises(InputError, match=r"line 2: the column 'rating' is none of id, .*--map meta.rating=rating"):
        one(cells(tmp_path, "question,answer,rating", "Why?,So.,3"))
    assert one(cells(tmp_path, "question,answer,rating", "Why?,So.,3"), "meta=").meta == {}
    assert one(lines(tmp_path, {**QA, "rating": 3}), "meta=") == Item.model_validate(QA)


def test_columns_inside_columns(tmp_path: Path) -> None:
    row = {
        "q": {"text": "Why?"},
        "outs": [{"text": "So."}, {"text": "Thus."}],
        "docs": [{"p": ["a", "b"]}, {"p": ["c"]}],
    }
    name = table(tmp_path, row)
    item = one(name, "question=q.text", "answer=outs.0.text", "context=docs.p", "gold=outs.1.text")
    assert (item.question, item.answer, item.gold, item.context) == ("Why?", "So.", "Thus.", ["a", "b", "c"])
    assert set(item.meta) == {"q", "outs", "docs"}  # none of them was taken whole
    with pytest.raises(
        InputError, match=r"'outs.text' must be a text, got the list .*; a column .* one entry .* COLUMN\.0"
    ):
        one(name, "question=q.text", "answer=outs.text")


def test_each_perspective_may_be_a_column_of_its_own(tmp_path: Path) -> None:
    columns = ("perspectives.pro=for", "perspectives.con=against")
    whole = [{"name": "pro", "arguments": ["a", "b"]}, {"name": "con", "arguments": ["c"]}]
    found = one(table(tmp_path, {**QA, "for": ["a", "b"], "against": ["c"]}), *columns)
    assert found.model_dump()["perspectives"] == whole
    found = one(cells(tmp_path, "question;answer;for;against", 'Why?;So.;["a", "b"];c'), *columns)
    assert found.model_dump()["perspectives"] == whole
    found = one(cells(tmp_path, "question;answer;for;against", "Why?;So.;a;"), *columns)
    assert [p.name for p in found.perspectives or ()] == ["pro"]
    for none in ("", "nan", " <NA> "):
        assert one(cells(tmp_path, "question;answer;for;against", f"Why?;So.;;{none}"), *columns).perspectives is None


def test_a_cell_may_hold_json(subtests: pytest.Subtests, tmp_path: Path) -> None:
    cases: list[tuple[str, str, object]] = [
        ("perspectives", '[{"name": "pro", "arguments": ["a"]}]', [{"name": "pro", "arguments": ["a"]}]),
        ("perspectives", '{"pro": ["a"]}', [{"name": "pro", "arguments": ["a"]}]),
        ("perspectives", " ", None),
        ("perspectives", "None", None),
        ("context", "nan", None),
        ("context", "nan is no number", ["nan is no number"]),
        ("context", '["a", "b"]', ["a", "b"]),
        ("context", "[1] A passage.", ["[1] A passage."]),
        ("context", "", None),
        ("context", "[]", None),
        ("context", '["a", null]', ["a"]),
        ("feedback", '[{"sentence": 1, "reason": "r"}]', [{"sentence": 1, "reason": "r"}]),
        ("meta", '{"a": [1, null]}', {"a": [1, None]}),
        ("meta", "", {}),
        ("gold", "", None),
        ("id", "007", "007"),
    ]
    for field, cell, expected in cases:
        with subtests.test(case=field):
            quoted = '"' + cell.replace('"', '""') + '"'
            item = one(cells(tmp_path, f"question,answer,{field}", f"Why?,So.,{quoted}"))
            assert item.model_dump(mode="json")[field] == expected


def test_a_number_may_be_an_id(subtests: pytest.Subtests, tmp_path: Path) -> None:
    cases: list[tuple[object, str]] = [(5, "5"), (5.0, "5"), ("x", "x"), (2**62, str(2**62))]
    for value, expected in cases:
        with subtests.test(case=value):
            assert one(table(tmp_path, {**QA, "key": value}), "id=key").id == expected


def test_the_rows_number_may_be_the_id(tmp_path: Path) -> None:
    """Rows that say the same are then rows of their own."""
    data = open_dataset(cells(tmp_path, "question,answer", *["Why?,So."] * 3), columns=["id=#"])
    assert [item.id for item in data.read()] == ["1", "2", "3"]


def test_what_does_not_fit_names_the_column(subtests: pytest.Subtests, tmp_path: Path) -> None:
    cases: list[tuple[tuple[str, ...], dict[str, Any], str, str]] = [
        (MAPPED, {"prompt": "Why?"}, "x.jsonl, line 1: there is no column 'response'; columns: prompt", "answer"),
        (
            MAPPED,
            {"prompt": "Why?", "response": None},
            "the column 'response' is empty, and 'answer' is needed",
            "answer",
        ),
        (MAPPED, {"prompt": "Why?", "response": 5}, "the column 'response' must be a text, got the number 5", "answer"),
        (MAPPED, {"prompt": "Why?", "response": " "}, "'answer' must not be blank", "answer"),
        (MAPPED, {"prompt": "Why?", "response": " "}, "(from the column 'response')", "answer"),
        (("context=docs",), {**QA, "docs": [{"text": 1}]}, "object {'text': 1} among them", "context"),
        (("context=docs",), {**QA, "docs": 5}, 'such as {"title": "...", "text": "..."}, got the number 5', "context"),
        (
            ("meta=info",),
            {**QA, "info": "[1]"},
            "'info' must be an object with keys and values, got the text '[1]'",
            "meta",
        ),
        (
            ("meta=info",),
            {**QA, "info": "{"},
            "x.jsonl, line 1: the column 'info' begins as JSON and is not JSON",
            "meta",
        ),
        (("meta.a=b", "meta=meta"), {**QA, "b": 1, "meta": {"a": 2}}, "two columns would be 'a' under 'meta'", "meta"),
        (("perspectives.pro=p",), {**QA, "p": {"a": 1}}, "the column 'p' must be", "perspectives"),
        (
            ("perspectives=p",),
            {**QA, "p": [{"name": "pro"}]},
            "'perspectives[0].arguments' is missing (from the column 'p')",
            "perspectives",
        ),
        (("gold=best",), QA, "in none of the rows read: there is no column 'best'; columns: question, answer", "map"),
        (("gold=anwser",), QA, "there is no column 'anwser'; did you mean 'answer'?; columns: question, answer", "map"),
    ]
    for columns, row, said, field in cases:
        with subtests.test(case=columns):
            with pytest.raises(InputError) as caught:
                one(lines(tmp_path, row), *columns)
            assert said in str(caught.value)
            assert str(caught.value).startswith(str(tmp_path / "x.jsonl"))
            assert (caught.value.field or "").split("[")[0] == field


def test_a_table_names_a_missing_column_before_any_row_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.csv: there is no column 'best'; columns: question, answer$"):
        one(cells(tmp_path, "question,answer", "broken"), "gold=best")


def test_an_optional_column_may_be_missing_in_some_rows(tmp_path: Path) -> None:
    data = open_dataset(lines(tmp_path, {**QA, "id": "1"}, {**QA, "id": "2", "best": "x"}), columns=["gold=best"])
    assert [item.gold for item in data.read()] == [None, "x"]


def test_a_map_that_makes_no_sense_is_refused(subtests: pytest.Subtests) -> None:
    cases: list[tuple[list[str], str]] = [
        (["question"], "--map is FIELD=COLUMN, got 'question'"),
        (
            ["anwser=x"],
            "--map knows no field 'anwser'; did you mean 'answer'?; fields: id, question, history, answer, "
            "perspectives, context, feedback, gold, meta, perspectives.NAME, meta.KEY",
        ),
        (["context.a=x"], "--map knows no field 'context.a'"),
        (["meta.=x"], "--map knows no field 'meta.'"),
        (["answer=x", "answer=y"], "--map names 'answer' twice"),
        (["answer=#"], "--map answer=#: only an id can be the row's number"),
        (["answer"], "--map is FIELD=COLUMN, got 'answer'"),
        (["perspectives=x", "perspectives.pro=y"], "either 'perspectives' or 'perspectives.NAME'"),
    ]
    for columns, said in cases:
        with subtests.test(case=columns):
            with pytest.raises(InputError) as caught:
                open_dataset("nowhere", columns=columns)
            assert said in str(caught.value) and caught.value.field == "map"


def test_bytes_are_no_meta_and_can_be_left_out(tmp_path: Path) -> None:
    name = table(tmp_path, {**QA, "picture": b"\x89PNG", "when": None})
    with pytest.raises(InputError, match=r"row 1: the column 'picture' holds 4 bytes, .* --map meta= leaves out"):
        one(name, "answer=answer")
    assert one(name, "meta=") == Item.model_validate(QA)
