"""`eirene synth npov`: rows, card and controls; the same seed gives the same bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from eirene.core.records import parse_item
from tests.cli.run import EXAMPLES, Run, assert_error, write
from tests.rows import each

TOPICS = EXAMPLES / "topics.jsonl"
FEW = ("--per-topic", "1", "--wordings", "paraphrase")


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "topics.jsonl"
    path.write_text("".join(TOPICS.read_text("utf-8").splitlines(keepends=True)[:2]), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_rows_are_items_and_the_card_says_what_they_are(run: Run, two: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    result = run("synth", "npov", two, "--out", out, *FEW, "--seed", "4")
    assert (result.code, result.out) == (0, "")
    rows = read(out)
    assert all(parse_item(row).meta for row in rows)
    card = json.loads((tmp_path / "rows.jsonl.card.json").read_text("utf-8"))
    assert card["rows"] == len(rows) == sum(card["by_kind"].values())
    assert card["seed"] == 4
    assert card["inputs"] == [{"name": str(two), "sha256": hashlib.sha256(two.read_bytes()).hexdigest()}]
    assert {c["count"] for c in card["controls"]} >= {"arguments", "sentences", "clauses", "words"}


def test_the_controls_are_shown_and_what_was_left_out(run: Run, two: Path, tmp_path: Path) -> None:
    two.write_text(two.read_text("utf-8") + '{"question": "Is it?", "perspectives": []}\n', encoding="utf-8")
    err = run("synth", "npov", two, "--out", tmp_path / "o.jsonl", *FEW).err
    assert "left out: 1 x topic: no arguments\n" in err
    assert all(name in err for name in ("arguments: ", "sentences: ", "clauses: ", "words: "))
    assert max(map(len, err.partition("what counting finds")[2].splitlines())) <= 80


def test_the_same_seed_gives_the_same_bytes(run: Run, two: Path, tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        run("synth", "npov", two, "--out", tmp_path / name, *FEW)
        card = (tmp_path / f"{name}.card.json").read_bytes()
        texts.append(((tmp_path / name).read_bytes(), card))
    assert texts[0] == texts[1]


def test_standard_output_holds_the_rows_alone_and_there_is_no_card(run: Run, two: Path) -> None:
    result = run("synth", "npov", two, "--out", "-", *FEW, "--kinds", "none,coverage")
    kinds = [json.loads(line)["meta"]["kind"] for line in result.out.splitlines()]
    assert set(kinds) == {"none", "coverage"}
    assert "card" not in result.err


def test_npov_s_own_output_serves_as_responses(run: Run, tmp_path: Path) -> None:
    query = "Should private cars be kept out of city centres?"
    row = run("npov", "--query", query, "--topics", TOPICS, "--per-side", "2", "--json").out
    given, out = tmp_path / "given.jsonl", tmp_path / "rows.jsonl"
    given.write_text(row, encoding="utf-8")
    result = run("synth", "npov", TOPICS, "--responses", given, "--wordings", "given", "--out", out)
    assert result.code == 0, result
    rows = read(out)
    assert [r["meta"]["kind"] for r in rows] == ["none", "coverage", "hallucination", "both", "repetition"]
    assert {r["answer"] for r in rows[:4]} == {json.loads(row)["answer"]}
    assert rows[2]["meta"]["has_hallucination"] is True


def test_where_nothing_can_be_made_the_causes_are_told_and_the_exit_code_is_1(run: Run, tmp_path: Path) -> None:
    row = {"question": "Is it?", "perspectives": [{"name": "pro", "arguments": ["Yes it is."]}]}
    result = run("synth", "npov", write(tmp_path / "t.jsonl", row), "--out", tmp_path / "o.jsonl")
    assert result.code == 1
    assert "topic: one side only" in result.err
    assert "nothing could be made" in result.err


@each(
    "arguments, said",
    [
        (["--kinds", "none,wrong"], "unknown: 'wrong'; kinds are none, coverage"),
        (["--wordings", "x"], "wordings are given, paraphrase"),
        (["--per-topic", "0"], "per-topic"),
        (["--most", "1"], "most"),
        (["--seed", "-1"], "seed"),
        (["--responses", "nowhere.jsonl"], "no such file"),
    ],
)
def test_bad_usage_is_one_line_before_anything_is_written(
    run: Run, tmp_path: Path, arguments: list[str], said: str
) -> None:
    out = tmp_path / "o.jsonl"
    assert_error(run("synth", "npov", TOPICS, "--out", out, *arguments), said)
    assert not out.exists()


def test_nothing_is_written_over_and_never_an_input(run: Run, two: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl"
    out.write_text("mine")
    assert_error(run("synth", "npov", two, "--out", out), "exists already")
    assert_error(run("synth", "npov", two, "--out", two, "--force"), "is the input itself")
    assert out.read_text() == "mine"


def test_a_bad_row_names_file_and_line(run: Run, two: Path, tmp_path: Path) -> None:
    two.write_text(two.read_text("utf-8") + "{}\n", encoding="utf-8")
    assert_error(run("synth", "npov", two, "--out", tmp_path / "o.jsonl"), "line 3: 'question' is missing")
