"""Labelled rows on disk, for the tests of their readers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from eirene.eval.datasets import Labelled, LabelledSet, read_labelled
from eirene.text.sentences import split_sentences


def read(
    tmp_path: Path,
    *rows: object,
    beside: tuple[str, object] | None = None,
    with_: Callable[[str], LabelledSet] = read_labelled,
) -> LabelledSet:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    if beside is not None:
        (tmp_path / beside[0]).write_text(json.dumps(beside[1]) + "\n", "utf-8")
    return with_(str(file))


def one(
    tmp_path: Path,
    row: object,
    beside: tuple[str, object] | None = None,
    with_: Callable[[str], LabelledSet] = read_labelled,
) -> Labelled:
    found = read(tmp_path, row, beside=beside, with_=with_)
    assert len(found.cases) == 1
    return found.cases[0]


def labels(case: Labelled) -> list[bool | None]:
    return case.sentence_labels(split_sentences(case.item.answer))


BEGIN = {"model_name": "t5", "data_source": "wow", "knowledge": "Crayons.", "message": " ", "response": "Chalk."}
