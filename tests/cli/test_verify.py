"""`eirene verify`: rows, texts with passages, the forms of its output, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import eirene
from tests.cli.run import EXAMPLES, GIVEN, Run, assert_error, write

ROW = {
    "id": "a",
    "question": "What is it?",
    "answer": 'The tower is 90 metres high. It "was built by Maria Lind".',
    "context": ["The bridge is old.", "The tower is 90 metres high. It was built by Anna Lind."],
}
TEXT = "The bridge is old.\n\nThe tower is 90 metres high. It was built by Anna Lind.\n"


@pytest.fixture
def passages(tmp_path: Path) -> Path:
    path = tmp_path / "towers.txt"
    path.write_text(TEXT, "utf-8")
    return path


def test_a_reader_sees_outcome_sentences_and_quotations(run: Run, tmp_path: Path) -> None:
    result = run("verify", write(tmp_path / "row.jsonl", ROW))
    assert (result.code, result.err) == (0, "")
    assert [line for line in result.out.splitlines() if line[:1].strip()][:3] == ["Outcome", "Sentences", "Quotations"]
    assert '"Maria" for "Anna"' in result.out


def test_json_is_what_the_function_returns(run: Run, tmp_path: Path) -> None:
    found = eirene.Verification.model_validate(run("verify", write(tmp_path / "r.jsonl", ROW), "--json").record)
    assert found == eirene.verify(str(ROW["answer"]), ROW["context"])
    piped = run("verify", "-", "--json", stdin=json.dumps(ROW).encode()).record
    assert eirene.Verification.model_validate(piped) == found


def test_one_row_of_many_is_picked_by_its_id(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", ROW, {**ROW, "id": "b", "answer": "The bridge is old."})
    assert_error(run("verify", path), "one row is verified at a time, and 2 are there; pick one with --id")
    assert run("verify", path, "--id", "b", "--json").record["answer"] == "The bridge is old."


def test_a_text_is_verified_against_files_of_passages(run: Run, tmp_path: Path, passages: Path) -> None:
    text = tmp_path / "answer.txt"
    text.write_text("The tower is 90 metres high.", "utf-8")
    rows = write(tmp_path / "more.jsonl", {"id": "m1", "text": "Bees like honey."})
    given = ["--context", str(passages), "--context", str(rows), "--json"]
    found = run("verify", text, *given).record
    assert found["passages"] == 3
    assert found["claims"][0]["evidence"] | {"start": 0} == {
        "passage": 2, "id": "towers.txt:2", "start": 0, "end": 28, "text": "The tower is 90 metres high.",
    }  # fmt: skip
    assert run("verify", "--answer", "The tower is 90 metres high.", *given).record == found
    assert run("verify", "-", *given, stdin=b"The tower is 90 metres high.").record == found


def test_passages_are_found_in_a_corpus(run: Run, tmp_path: Path, passages: Path) -> None:
    row = write(tmp_path / "row.jsonl", {**ROW, "context": None})
    found = run("verify", row, "--corpus", passages, "--json").record
    assert found["claims"][0]["evidence"]["id"] == "towers.txt:2"


def test_a_page_holds_it_all_and_loads_nothing(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    row = write(tmp_path / "row.jsonl", ROW)
    result = run("verify", row, "--html", page)
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("1 of 2 checked sentences") or result.err.startswith("2 of 2 checked sentences")
    text = page.read_text("utf-8")
    assert "<h1 dir=\"auto\">What is it?</h1>" in text  # fmt: skip
    assert not any(f"{mark}http" in text for mark in ("src=\"", "href=\"", "url("))  # fmt: skip
    assert_error(run("verify", row, "--html", page), "exists already")


def test_where_nothing_can_be_checked_the_exit_code_says_so(run: Run, tmp_path: Path) -> None:
    result = run("verify", write(tmp_path / "row.jsonl", {**ROW, "answer": "Is it old?"}), "--json")
    assert (result.code, result.err) == (1, "error: no sentence of 1 could be checked: a question\n")
    assert json.loads(result.out)["claims"][0]["verdict"] == "not checked"


def test_what_cannot_be_verified_is_one_clear_error(run: Run, tmp_path: Path, passages: Path) -> None:
    row = write(tmp_path / "row.jsonl", ROW)
    blank = tmp_path / "blank.txt"
    blank.write_text(" \n\n \n", "utf-8")
    assert_error(run("verify"), "give a FILE (- for standard input), or --answer, and not both")
    assert_error(run("verify", row, "--answer", "x"), "and not both")
    assert_error(run("verify", "--answer", "x"), "--answer needs passages: give --context FILE")
    assert_error(run("verify", row, "--context", passages), "FILE is the answer as plain text")
    assert_error(run("verify", "--answer", "x", "--context", passages, "--id", "a"), "--id and --corpus go with rows")
    assert_error(run("verify", "--answer", " ", "--context", passages), "'answer' must not be blank")
    assert_error(run("verify", "--answer", "x", "--context", blank), "'context' must have at least 1 item")
    assert_error(run("verify", "--answer", "x", "--context", tmp_path / "none.txt"), "no such file or folder")
    assert_error(run("verify", blank, "--context", passages), "'answer' must not be blank")
    assert_error(run("verify", write(tmp_path / "sides.jsonl", GIVEN)), "the row has no 'context'")
    (tmp_path / "latin.txt").write_bytes("café".encode("latin-1"))
    assert_error(run("verify", tmp_path / "latin.txt", "--context", passages), "is not UTF-8")


def test_the_example_shows_each_kind_of_verdict(run: Run) -> None:
    found = eirene.Verification.model_validate(run("verify", EXAMPLES / "quotations.json", "--json").record)
    verdicts = ["supported", "supported", "unclear", "unsupported", "not checked"]
    assert [claim.verdict for claim in found.claims] == verdicts
    assert [quotation.verdict for quotation in found.quotations] == ["exact", "altered", "not found"]
