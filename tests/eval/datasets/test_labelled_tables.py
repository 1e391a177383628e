"""Labelled answers in tables and under other names than ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eirene.core.errors import InputError
from eirene.data import ColumnMap, Shape, open_source
from eirene.eval.datasets import read_labelled
from tests.eval.datasets.labelled_rows import BEGIN


def csv(tmp_path: Path, text: str) -> str:
    file = tmp_path / "rows.csv"
    file.write_text(text, "utf-8")
    return str(file)


def mapped(*columns: str) -> Shape:
    return Shape(ColumnMap.of(columns))


def test_label_columns_of_a_table_are_labels_and_others_are_kept(tmp_path: Path) -> None:
    """Yes and no in the usual words; an empty cell is not known."""
    head = "question,answer,context,hallucination,coverage,cluster,system\n"
    found = read_labelled(csv(tmp_path, head + "Q?,A.,Given.,1,no,7,gpt\nQ?,B.,Given.,false,,8,t5\n"))
    assert [(c.hallucination, c.coverage, c.cluster) for c in found.cases] == [(True, False, "7"), (False, None, "8")]
    assert found.cases[1].item.context == ["Given."]
    assert found.cases[0].item.meta["system"] == "gpt"


def test_mapped_columns_are_fields_and_labels(tmp_path: Path) -> None:
    """Lists of missing arguments and spans stand in a cell as JSON; a label column that is mapped away is none."""
    missing = json.dumps([{"group": "pro", "n": 2}]).replace('"', '""')
    rows = f'prompt,response,for,gaps,hallucination\nQ?,Quiet.,"[""Quiet."",""Clean.""]","{missing}",1\n'
    shape = mapped("question=prompt", "answer=response", "perspectives.pro=for", "meta.labels.missing=gaps")
    (case,) = read_labelled(open_source(csv(tmp_path, rows)), shape).cases
    assert case.missing == {("pro", 1): False, ("pro", 2): True}
    assert (case.coverage, case.hallucination) == (True, True)
    unmapped = mapped("question=prompt", "answer=response", "meta.was=hallucination", "meta.labels.missing=gaps")
    with pytest.raises(InputError, match="no argument 2 of 'pro'"):
        read_labelled(open_source(csv(tmp_path, rows)), unmapped)


def test_rows_of_json_can_be_mapped_too(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"q": "Q?", "a": "A.", "bad": True}) + "\n", "utf-8")
    shape = mapped("question=q", "answer=a", "meta.labels.hallucination=bad")
    assert [c.hallucination for c in read_labelled(open_source(str(file)), shape).cases] == [True]


def test_a_published_set_is_known_in_whatever_format(tmp_path: Path) -> None:
    """The same rows as JSON Lines and as Parquet give the same answers."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    said = [("Cats.", "Not fully attributable"), ("Crayons.", "Fully attributable")]
    rows = [{**BEGIN, "response": text, "begin_label": label} for text, label in said]
    lines = tmp_path / "begin.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    table = tmp_path / "begin.parquet"
    parquet.write_table(arrow.Table.from_pylist(rows), table)
    first, second = (read_labelled(str(file)) for file in (lines, table))
    assert (first.form, first.left_out) == (second.form, second.left_out) == ("BEGIN", {})
    assert [c.hallucination for c in first.cases] == [c.hallucination for c in second.cases]


def test_a_table_that_says_nothing_is_an_error_that_says_what_to_change(tmp_path: Path) -> None:
    for text, message in [
        ("question,answer,hallucination\nQ?,A.,maybe\n", "line 2.*'maybe' says neither.*true or false, 1 or 0"),
        ("question,answer,spans\nQ?,A.,[1\n", "label 'spans': is not JSON"),
        ("question,answer,hallucination\nQ?,A.,\n", "has no labelled answer; 1 rows: no label"),
        ("question,answer,score\nQ?,A.,1\n", "of no known labelled form.*--map meta.labels.hallucination=COLUMN"),
    ]:
        with pytest.raises(InputError, match=message):
            read_labelled(csv(tmp_path, text))


def test_a_label_that_there_is_not_is_a_slip(tmp_path: Path) -> None:
    shape = mapped("meta.labels.halucination=wrong")
    with pytest.raises(InputError, match="no label is called 'halucination'; labels: hallucination, coverage"):
        read_labelled(open_source(csv(tmp_path, "question,answer,wrong\nQ?,A.,1\n")), shape)
