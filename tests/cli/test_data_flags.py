"""The flags that say what is read, in the commands that have them."""

from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.run import EXAMPLES, GIVEN, Run, assert_error, write

TABLE = EXAMPLES / "table.csv"
MAP = (
    "--map", "id=key", "--map", "question=prompt", "--map", "answer=response",
    "--map", "perspectives.pro=for", "--map", "perspectives.con=against",
)  # fmt: skip
STATUSES = {"charge": "accepted", "homework": "complete", "museums": "accepted"}


def ids(text: str) -> list[str]:
    return [json.loads(line)["id"] for line in text.splitlines()]


def test_the_table_among_the_examples_is_refined(run: Run) -> None:
    done = run("refine", TABLE, *MAP, "--json")
    assert done.code == 0, done.err
    assert {r["id"]: r["status"] for r in map(json.loads, done.out.splitlines())} == STATUSES
    assert f"`{TABLE.name}`" in (EXAMPLES / "README.md").read_text()


def test_the_same_rows_score_the_same_from_every_form(run: Run, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (EXAMPLES / "npov.jsonl").read_text().splitlines()]
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress((EXAMPLES / "npov.jsonl").read_bytes()))
    pq.write_table(
        pa.Table.from_pylist([{**row, "meta": json.dumps(row["meta"])} for row in rows]), tmp_path / "x.parquet"
    )
    scores = [
        run("score", path, "--detectors", "rouge", "--out", "-").out
        for path in (EXAMPLES / "npov.jsonl", tmp_path / "x.jsonl.gz", tmp_path / "x.parquet")
    ]
    assert len(scores[0].splitlines()) == len(rows)
    assert scores[0] == scores[1] == scores[2]


def test_a_sample_of_a_published_set_is_scored(run: Run, tmp_path: Path) -> None:
    rows = [
        {"q_id": str(n), "title": "Why?", "selftext": "", "answers": {"text": [f"So {n}."], "score": [1]}}
        for n in range(30)
    ]
    path = write(tmp_path / "eli5.jsonl", *rows)
    arguments = ("score", path, "--reader", "eli5", "--detectors", "rouge", "--out", "-")
    ten = ids(run(*arguments, "--sample", "10,4").out)
    assert len(ten) == 10
    assert ten == sorted(ten, key=int)
    assert ids(run(*arguments, "--sample", "10,4", "--limit", "30").out) == ten
    assert ids(run(*arguments, "--limit", "3").out) == ["0", "1", "2"]
    assert set(ten) < set(ids(run(*arguments, "--sample", "20,4").out))


def test_bad_rows_are_left_out_and_listed_where_that_is_asked_for(run: Run, tmp_path: Path) -> None:
    """The same rows are made and resumed as if the others were not there."""
    rows = write(tmp_path / "rows.jsonl", GIVEN, {**GIVEN, "answer": " "}, {"prompt": "Why?"}, {**GIVEN, "id": "z"})
    out, folder = tmp_path / "out.jsonl", tmp_path / "folder"
    assert_error(run("score", rows, "--out", out), "or leave out the key of an optional field; --skip-bad")
    assert_error(run("score", write(tmp_path / "bad.jsonl", {"id": 1}), "--out", out, "--skip-bad"), "no row that can")
    told = ("batch", rows, "--out", out, "--skip-bad", "--samples", "4", "--workers", "1")
    done = run(*told)
    assert (done.code, len(out.read_text("utf-8").splitlines())) == (0, 2), done.err
    blank, other = (tmp_path / "out.jsonl.skipped").read_text("utf-8").splitlines()
    assert blank.startswith(f"{rows}, line 2: 'answer' must not be blank") and blank in done.err
    assert other.startswith(f"{rows}, line 3: there is no column 'question'; columns: prompt;")
    assert run(*told).err.startswith("nothing to do: all 2 rows are in")
    run("compare", rows, "--out", folder, "--skip-bad", "--modes", "improve,generic")
    assert (folder / "skipped.txt").read_text("utf-8").splitlines() == [blank, other]


@pytest.mark.slow
def test_a_comparison_goes_on_with_a_larger_sample_and_refuses_other_rows(run: Run, tmp_path: Path) -> None:
    """What is there is not made again; a row that another map makes differs, and is not mixed with the old one."""
    rows = write(tmp_path / "in.jsonl", *({**GIVEN, "id": f"r{n}", "gold": "g", "best": "b"} for n in range(9)))
    out = tmp_path / "out"
    command = ("compare", rows, "--out", out, "--modes", "improve", "--map", "meta.best=best")
    assert run(*command, "--sample", "3").code == 0
    more = run(*command, "--sample", "6")
    assert (more.code, "compared 6 rows, 3 of them there before" in more.err) == (0, True), more.err
    fewer = run(*command, "--limit", "2")
    assert fewer.code == 0
    assert "other rows in the folder are left out" in fewer.err
    other = ("compare", rows, "--out", out, "--modes", "improve", "--map", "gold=best")
    refused = run(*other, "--sample", "3")  # a warning of the mode comes first
    assert refused.code == 2 and "made from another input, or other models; name another folder" in refused.err
    lines = (out / "rows.jsonl").read_text().splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == len(lines)


def test_labelled_answers_may_come_in_any_form(run: Run, tmp_path: Path) -> None:
    """The published completeness file is a JSON array named .jsonl."""
    published = [
        {"instruction": "Judge.", "input": f"Question: Why {n}?\nAnswer: 1. It rains.\n2. So.",
         "output": "1. [Complete]\n2. [Incomplete] Reasons: Why?"}
        for n in range(6)
    ]  # fmt: skip
    (tmp_path / "data.jsonl").write_text(json.dumps(published, indent=4))
    sentences = [{"text": "It rains.", "tag": "Complete"}, {"text": "So.", "tag": "Incomplete", "reason": "Why?"}]
    pq.write_table(
        pa.Table.from_pylist([{"question": f"Why {n}?", "sentences": sentences} for n in range(6)]),
        tmp_path / "data.parquet",
    )
    for name in ("data.jsonl", "data.parquet"):
        for flags, n in (((), 6), (("--limit", "4"), 4), (("--sample", "2,1"), 2)):
            shown = run("evaluate", "feedback", tmp_path / name, "--draws", "10", "--json", *flags)
            assert json.loads(shown.out)["counts"]["answers"] == n, shown.err


def test_a_config_file_may_hold_a_map(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "eirene.toml"
    columns = [text for text in MAP if text != "--map"]
    config.write_text(f"map = {json.dumps(columns)}\nlimit = 1\n")
    assert run("refine", TABLE, "--config", config, "--json").record["id"] == "charge"
    config.write_text('map = "question=prompt"\n')
    assert_error(run("refine", TABLE, "--config", config), "'map' must be a list of strings, got str")


ERRORS: list[tuple[tuple[Any, ...], str]] = [
    ((TABLE,), "line 2: there is no column 'question'; columns: key, prompt, response"),
    ((TABLE, "--map", "question=promt"), "there is no column 'promt'; did you mean 'prompt'?"),
    ((TABLE, "--map", "questoin=prompt"), "--map knows no field 'questoin'; did you mean 'question'?"),
    ((TABLE, "--reader", "squadd"), "there is no reader 'squadd'; readers: asqa, begin, chat, deepeval"),
    ((TABLE, "--reader", "asqa"), "line 2: is no row of ASQA"),
    ((TABLE, "--format", "xls"), "'xls' is not one of"),
    ((TABLE, "--format", "parquet"), "table.csv: cannot be read: "),
    ((TABLE, "--limit", "-1"), "limit must be at least 0"),
    ((TABLE, "--sample", "-1"), "sample must be at least 0"),
    ((TABLE, "--sample", "3,1,2"), "--sample wants a number of rows"),
    (("hf-dataset:a/b",), "hf-dataset:a/b: the hub cannot be reached"),
    (("hf-dataset:",), "is not in the form hf-dataset:OWNER/NAME[:CONFIG][@SPLIT][#REVISION]"),
    ((EXAMPLES,), "examples: cannot be loaded: "),
]


@pytest.mark.parametrize(("arguments", "said"), ERRORS)
def test_bad_data_is_one_clear_line_in_every_command(
    arguments: tuple[Any, ...], said: str, run: Run, tmp_path: Path
) -> None:
    assert_error(run("refine", *arguments), said)
    assert_error(run("score", *arguments, "--out", tmp_path / "out"), said)
    assert_error(run("compare", *arguments, "--out", tmp_path / "folder"), said)
    assert list(tmp_path.iterdir()) == []


def test_rows_and_texts_may_come_through_a_pipe(run: Run, tmp_path: Path) -> None:
    done = run("score", "-", "--format", "csv", *MAP, "--detectors", "rouge", "--out", "-", stdin=TABLE.read_bytes())
    assert ids(done.out) == list(STATUSES)
    os.mkfifo(tmp_path / "pipe")
    threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"Trams hum.\n",), daemon=True).start()
    told = run("refine", "--question", "Trams?", "--answer", tmp_path / "pipe", "--context", "Trams hum.", "--json")
    assert told.record["original"] == "Trams hum."
    threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"Trams hum.\n\nCats purr.\n",), daemon=True).start()
    told = run("verify", "--question", "Trams?", "--answer", "Trams hum.", "--context", tmp_path / "pipe")
    assert "1 of 1 checked sentences found supported by 2 passages" in told.out and "pipe:1" in told.out
