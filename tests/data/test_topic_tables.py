"""Topics in tables: the same topics as in JSON, whatever the table's form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eirene.core.errors import InputError
from eirene.data.topics import read_topics

ROW = {
    "id": "zoos",
    "question": "Should zoos be closed?",
    "perspectives": [
        {"name": "pro", "arguments": ["Cages are cruel."]},
        {"name": "con", "arguments": ["Zoos teach.", "Zoos save species."]},
    ],
}
LONG = (
    "id,question,side,argument\n"
    "zoos,Should zoos be closed?,pro,Cages are cruel.\n"
    "zoos,Should zoos be closed?,con,Zoos teach.\n"
    "zoos,Should zoos be closed?,con,Zoos save species.\n"
)
WIDE = 'id,question,pro,con\nzoos,Should zoos be closed?,Cages are cruel.,"[""Zoos teach."", ""Zoos save species.""]"\n'


def write(tmp_path: Path, name: str, text: str) -> str:
    (tmp_path / name).write_text(text, "utf-8")
    return str(tmp_path / name)


def test_an_argument_a_row_and_a_topic_a_row_are_the_topics_of_json(subtests: pytest.Subtests, tmp_path: Path) -> None:
    cases: list[tuple[str, str]] = [("long.csv", LONG), ("wide.csv", WIDE), ("long.tsv", LONG.replace(",", "\t"))]
    for name, text in cases:
        with subtests.test(case=name):
            known = read_topics(write(tmp_path, "rows.jsonl", json.dumps(ROW) + "\n"))
            assert read_topics(write(tmp_path, name, text)) == known


def test_lists_of_parquet_are_lists(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.Table.from_pylist([ROW]), tmp_path / "rows.parquet")
    known = read_topics(write(tmp_path, "rows.jsonl", json.dumps(ROW) + "\n"))
    assert read_topics(str(tmp_path / "rows.parquet")) == known


def test_a_table_that_holds_no_topics_names_the_place(subtests: pytest.Subtests, tmp_path: Path) -> None:
    head, other = "id,question,side,argument\n", "question,side,argument,vote\nQ?,pro,A.,1\n"
    cases: list[tuple[str, str, str]] = [
        ("question,side,argument\nQ?,pro,\n", "line 2: the column 'argument' is empty$", "argument"),
        ("question,side,argument\nQ?, ,A.\n", "line 2: the column 'side' is empty$", "side"),
        (other, "line 2: the column 'vote' is none of question, side, argument, id$", "vote"),
        (f"{head}a,Q?,pro,A.\nb,Q?,con,B.\n", "line 3: the question has the id 'a' in .*rows.csv, line 2$", "id"),
        (f"{head}a,Q?,pro,A.\na,P?,con,B.\n", "line 3: the id 'a' is taken by .*line 2; give every topic", "id"),
        ("question,for\nQ?,A.\n", "line 2: .*unknown key 'for'|'perspectives' is missing", ""),
        ('question,perspectives\nQ?,"[1]"\n', "line 2: .*'?perspectives", "perspectives"),
    ]
    for text, message, field in cases:
        with subtests.test(case=text):
            with pytest.raises(InputError, match=message) as caught:
                read_topics(write(tmp_path, "rows.csv", text))
            assert str(caught.value).startswith(str(tmp_path / "rows.csv"))
            assert (caught.value.field or "").startswith(field)
