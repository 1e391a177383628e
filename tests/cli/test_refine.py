"""`eirene refine`: what it prints, where, and how it ends."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from eirene.agent.settings import Settings
from eirene.cli.flags import LoopFlags
from eirene.core.records import Record
from tests.cli.run import EXAMPLES, GIVEN, Run, assert_error, write


def test_json_is_the_record_alone_on_one_line(run: Run) -> None:
    result = run("refine", EXAMPLES / "no-error.json", "--json")
    assert (result.code, result.err, result.out.count("\n")) == (0, "", 1)
    assert Record.model_validate_json(result.out).id == "no-error"


def test_the_same_seed_gives_the_same_record(run: Run) -> None:
    """All but the seconds that it took."""
    first, second = (run("refine", EXAMPLES / "dropped-argument.json", "--json").record for _ in range(2))
    first["usage"].pop("seconds"), second["usage"].pop("seconds")
    assert first == second


def test_several_rows_give_a_line_each_in_order(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", *({**GIVEN, "id": i} for i in "cab"))
    result = run("refine", path, "--json")
    assert [json.loads(line)["id"] for line in result.out.splitlines()] == ["c", "a", "b"]


def test_one_row_of_many_is_picked_by_id(run: Run) -> None:
    assert run("refine", EXAMPLES / "npov.jsonl", "--id", "no-error", "--json").record["id"] == "no-error"


def test_flags_reach_the_loop(run: Run) -> None:
    flags = ("--samples", "7", "--seed", "5", "--stop", "exact", "--max-rounds", "3")
    record = run("refine", EXAMPLES / "no-error.json", "--json", *flags).record
    assert record["seed"] == 5
    assert {"n:7", "stop:exact", "rounds:3", "seed:5"} <= set(record["signature"].split("|"))


def test_a_question_and_an_answer_need_no_file(run: Run) -> None:
    result = run("refine", "--question", "Why?", "--answer", "Because.", "--json")
    assert (result.record["status"], result.code) == ("not_checked", 0)


def test_passages_and_sides_stand_beside_a_question_and_an_answer(run: Run, tmp_path: Path) -> None:
    """Passages are texts or files of them; arguments stand under the names of their sides."""
    file = tmp_path / "notes.txt"
    file.write_text("The bridge is long.\n\nIt was opened in March 1890.", "utf-8")
    asked = ("refine", "--question", "When?", "--answer", "It was opened in 1899.", "--json")
    for given in ("It was opened in March 1890.", file):
        assert run(*asked, "--context", given).record["answer"] == "It was opened in 1890."
    asked = ("refine", "--question", "When?", "--answer", "-", "--context", file, "--json")
    assert run(*asked, stdin=b"It was opened in 1899.\n").record["answer"] == "It was opened in 1890."
    assert_error(run(*asked, "--context", "-"), "standard input is one text")
    unclear, tracks = "So it would carry trains for long.", "The bridge carries two railway tracks."
    asked_too = ("refine", "--question", "When?", "--answer", f"{tracks} {unclear}", "--context", tracks)
    shown = " ".join(run(*asked_too).out.split())
    assert f"no fault found 0/20 {unclear}" in shown and f'Unclear, left unchanged: "{unclear}"' in shown
    assert "1 of 2 checked sentences found supported by the passages; 1 unclear." in shown
    record = run(*asked_too, "--json").record
    assert (record["verdicts"], record["unclear"]) == ({"supported": 1, "unclear": 1}, [unclear])
    asked = ("refine", "--question", "Who?", "--answer", "It was painted by forty men. We love it.", "--json")
    flagged = run(*asked, "--context", "The bridge was opened in 1890.").record
    assert (flagged["status"], len(flagged["rounds"])) == ("flagged", 1)
    mine = ("--question", "When?", "--answer", "It was opened in 1899.", "--context", "-")
    assert run("score", *mine, stdin=file.read_bytes()).out.startswith("errors from 0 to 1, lower is better\nrouge: ")
    assert run("check", *mine, "--fail-if", "contradicted > 0", stdin=file.read_bytes()).code == 3
    asked = ("refine", "--question", "When?", "--answer", "It was opened in 1899.", "--json")
    assert "context When is taken as a text: there is no such file" in run(*asked, "--context", "When").err
    sides = ("--side", "pro=Families save money.", "--side", "con=Buses are slow.", "--side", "pro=It is clean.")
    scored = run(*asked, *sides).record["scores"]["original"]["alignment"]["arguments"]
    assert [argument["group"] for argument in scored] == ["pro", "pro", "con"]


def test_the_reader_sees_every_part_of_the_record(run: Run) -> None:
    shown = run("refine", EXAMPLES / "dropped-argument.json").out
    for part in ("Question", "Critique", "tag consistency", "no fault found", "missing here", "Rewrite", "+ ", "Scores",
                 "rouge", "alignment", "coverage", "Round 1", "ACCEPTED", "Answer", "Cost"):  # fmt: skip
        assert part in shown
    assert max(len(line) for line in shown.splitlines()) <= 80


def test_a_page_is_written_and_named(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("refine", EXAMPLES / "no-error.json", "--html", page)
    assert (result.code, result.out) == (0, "")
    assert str(page) in result.err
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_json_and_a_page_come_from_one_run(run: Run, tmp_path: Path) -> None:
    result = run("refine", EXAMPLES / "no-error.json", "--json", "--html", tmp_path / "page.html")
    assert result.record["status"] == "complete"
    assert (tmp_path / "page.html").exists()


def test_each_setting_is_a_flag_and_an_error_names_it(run: Run) -> None:
    """What is declared once reaches settings, flags and messages."""
    assert [field.name for field in fields(LoopFlags)] == list(Settings.model_fields)
    assert LoopFlags().settings() == Settings()
    row = EXAMPLES / "no-error.json"
    assert_error(run("refine", row, "--tolerance", "2"), "--tolerance must be less than or equal to 1, got 2")
    assert_error(run("refine", row, "--item-deadline", "0"), "--item-deadline must be greater than 0, got 0")
    record = run("refine", row, "--after-accept", "continue", "--json").record
    assert "|after:continue|" in record["signature"]
