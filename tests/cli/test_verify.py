"""`eirene verify`: rows, texts with passages, the forms of its output, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import eirene
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, Script
from tests.cli.run import EXAMPLES, GIVEN, Run, assert_error, write
from tests.models.test_token_choice import first_token
from tests.rows import each

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
    path = write(tmp_path / "r.jsonl", ROW)
    found = eirene.Verification.model_validate(run("verify", path, "--json").record)
    told = eirene.verify(str(ROW["answer"]), ROW["context"], question=str(ROW["question"]))
    assert found == told.model_copy(update={"id": "a"})
    piped = run("verify", "-", "--json", stdin=json.dumps(ROW).encode()).record
    assert eirene.Verification.model_validate(piped) == found
    two = write(tmp_path / "rows.jsonl", ROW, {**ROW, "id": "b", "answer": "The bridge is old."})
    lines = run("verify", two, "--json").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a", "b"]
    assert eirene.Verification.model_validate_json(lines[0]) == found
    assert run("verify", two, "--id", "b", "--json").out.splitlines() == lines[1:]


NOTHING = "the row gives no 'context' and no 'perspectives'"
WRONG = "The tower is 40 metres high. It was built by Anna Lind."
ROWS = (
    {"id": "wrong", "question": "Tower?", "answer": WRONG, "context": ROW["context"]},
    {"id": "bare", "question": "Why?", "answer": "Because of the rain."},
    {"id": "sides", **GIVEN},
    {"id": "asks", "question": "Tower?", "answer": "Is it old?", "context": ROW["context"]},
)


@each(
    "told, code, failed",
    [
        ((), 0, None),
        (("--fail-on", "contradicted"), 3, {"wrong": "contradicted"}),
        (("--fail-on", "unscored,contradicted"), 3, {"wrong": "contradicted", "bare": "unscored", "asks": "unscored"}),
        (("--threshold", "0.3"), 3, {"wrong": "risk"}),
        (("--threshold", "0.99", "--fail-on", "unread"), 0, {}),
    ],
)
def test_every_row_is_verified_and_some_fail(
    run: Run, tmp_path: Path, told: tuple[str, ...], code: int, failed: dict[str, str] | None
) -> None:
    """Rows without anything to verify against are named and counted, and neither pass nor fail unless asked."""
    xml = tmp_path / "v.xml"
    junit = () if failed is None else ("--junit", xml, "--out", tmp_path / "v.jsonl")  # a resumed run writes it anew
    result = run("verify", write(tmp_path / "rows.jsonl", *ROWS), *told, *junit)
    assert (result.code, result.err) == (code, "")
    assert f"not verified: {NOTHING}\n" in result.out
    verdict = "" if failed is None else f"{'FAILED' if failed else 'passed'}: {len(failed)} of "
    told_all = f"{verdict}4 rows{'' if failed is None else ' failed'}; 2 verified; 1 not verified ({NOTHING}); "
    assert result.out.splitlines()[-1].startswith(f"{told_all}1 not verified (a question); sentences: ")
    if failed is not None:
        suite = ElementTree.fromstring(xml.read_text("utf-8"))[0]
        cases = {case.get("name"): case.find("failure") for case in suite}
        messages = {name: str(case.get("message")) for name, case in cases.items() if case is not None}
        assert {name: said.split(" 0.")[0] for name, said in messages.items()} == failed
        assert suite.get("skipped") == str(sum(name in ("bare", "asks") and name not in failed for name in cases))


def test_a_rerun_goes_on_where_the_last_one_ended(run: Run, tmp_path: Path) -> None:
    out, rows = tmp_path / "v.jsonl", tmp_path / "rows.jsonl"
    told = ("verify", write(rows, *ROWS), "--out", out)
    first = run(*told)
    lines = out.read_bytes().splitlines(keepends=True)
    assert [json.loads(line)["id"] for line in lines] == [row["id"] for row in ROWS]
    out.write_bytes(b"".join(lines[:2]) + lines[2][:50])  # as one that was killed leaves it
    assert (run(*told).out, first.err) == (first.out, "")
    assert out.read_bytes().splitlines(keepends=True) == lines
    for part, more in ((("--limit", "1"), "3 rows"), (("--id", "sides"), "3 rows"), (("--limit", "3"), "1 row")):
        assert run(*told, *part).err == f"{out} also holds {more} that this run did not read\n"
    assert out.read_bytes().splitlines(keepends=True) == lines
    write(rows, {**ROWS[0], "answer": "The tower is high."})
    assert_error(run(*told), "row 'wrong' is another than the one verified")
    out.write_bytes(lines[0].replace(b"verifier=", b"verifier=0", 1))
    assert_error(run(*told), "does not fit its checksum")
    assert run(*told, "--force").code == 0
    assert len(out.read_bytes().splitlines()) == 1


@pytest.mark.usefixtures("loopback")
def test_a_judge_is_asked_where_the_verifier_is_unsure(run: Run, tmp_path: Path) -> None:
    """And of the same sentences by `check`; where it cannot be reached, the row is not verified and not kept."""
    doubted = "Anna Lind made the tower and saw it from the old bridge."
    rows = write(tmp_path / "rows.jsonl", {**ROWS[0], "answer": f"{WRONG} {doubted}"}, {**ROWS[0], "id": "b"})
    cases: list[tuple[Script, int, str]] = [
        (lambda *_: first_token("Yes", Yes=0.95, No=0.05), 0, "; the judge was asked about 1\n"),
        (lambda *_: HttpError(400, "no"), 1, "1 not verified (the judge failed: "),
    ]
    for script, code, said in cases:
        with LoopbackServer(script) as server:
            told = ("--judge", "openai:judge", "--base-url", server.base_url)
            out = tmp_path / f"{code}.jsonl"
            result = run("verify", rows, *told, "--out", out)
            assert (result.code, said in result.out) == (code, True), result
            assert len(server.requests) >= 1
            lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
            assert [line["id"] for line in lines] == (["wrong", "b"] if code == 0 else ["b"])
            if code == 0:
                assert [claim.get("judged") is not None for claim in lines[0]["claims"]] == [False, False, True]
                checked = run("check", rows, *told, "--fail-if", "unsupported > 0", "--json")
                assert checked.err == "the judge was asked about 1\n"
                assert "cascade.hallucination" in {f["quantity"] for f in json.loads(checked.out)["figures"]}


def test_a_text_or_a_row_is_verified_against_files_of_passages(run: Run, tmp_path: Path, passages: Path) -> None:
    rows = write(tmp_path / "more.jsonl", {"id": "m1", "text": "Bees like honey."})
    told = ("verify", "--answer", "The tower is 90 metres high.")
    found = run(*told, "--context", passages, "--context", rows, "--context", "It is red.", "--json").record
    assert (found["id"], found["passages"]) == ("answer", 4)
    assert found["claims"][0]["evidence"] | {"start": 0} == {
        "passage": 2, "id": "towers.txt:2", "start": 0, "end": 28, "text": "The tower is 90 metres high.",
    }  # fmt: skip
    assert run(*told, "--corpus", passages, "--json").record["claims"][0]["evidence"]["id"] == "towers.txt:2"
    assert (
        "con, argument 1: The tower is 90 metres high." in run(*told, "--side", "con=The tower is 90 metres high.").out
    )
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
    assert (result.code, result.err) == (1, "error: nothing could be verified: a question\n")
    assert json.loads(result.out)["claims"][0]["verdict"] == "not checked"
    told = ("verify", write(tmp_path / "row.jsonl", ROWS[1]), "--fail-on", "contradicted")
    assert (run(*told).code, run(*told).err) == (
        2,
        f"error: nothing could be verified, so that nothing has passed: {NOTHING}\n",
    )
    assert run(*told).out.splitlines()[-1].startswith("NOT MEASURED: 0 of 1 row failed; 0 verified; 1 not verified (")


def test_arguments_are_verified_as_passages_are(run: Run, tmp_path: Path) -> None:
    page, row = tmp_path / "p.html", write(tmp_path / "sides.jsonl", GIVEN)
    assert "con, argument 1: Zoos teach children about animals." in run("verify", row).out
    assert run("verify", row, "--html", page).code == 0
    assert ">Arguments</h2>" in page.read_text("utf-8") and "con, argument 1: 1 place used" in page.read_text("utf-8")


def test_what_cannot_be_verified_is_one_clear_error(run: Run, tmp_path: Path, passages: Path) -> None:
    row = write(tmp_path / "row.jsonl", ROW)
    blank = tmp_path / "blank.txt"
    blank.write_text(" \n\n \n", "utf-8")
    assert_error(run("verify"), "nothing to read: give a FILE")
    two = write(tmp_path / "two.jsonl", ROWS[0], ROWS[1])
    assert_error(run("verify", two, "--html", tmp_path / "p.html"), "--html draws one row, and 2 are there")
    assert_error(run("verify", two, "--junit", tmp_path / "j.xml"), "nothing can fail: give --fail-on WORDS")
    assert_error(run("verify", two, "--fail-on", "wrong"), "must be of contradicted, unsupported, unclear")
    assert_error(run("verify", two, "--threshold", "7"), "threshold must be in [0, 1], got the number 7")
    assert_error(run("verify", two, "--out", two), "is the input itself")
    assert_error(run("verify", two, "--out", passages), "is no line of a journal")
    assert_error(run("verify", row, "--answer", "x"), "not both")
    assert run("verify", "--question", "Why?").err == "error: --answer is missing\n"
    assert_error(run("verify", "--answer", "x", "--context", passages, "--id", "a"), "--id goes with rows")
    assert_error(run("verify", "--answer", "x", "--context", passages, "--out", two), "--out is for rows")
    assert_error(run("verify", "--answer", " ", "--context", passages), "'answer' must not be blank")
    assert_error(run("verify", "--answer", "x"), "against: give --context, --side or --corpus")
    assert_error(run("verify", "--answer", "x", "--context", blank), "'context' must have at least 1 item")
    assert_error(run("verify", "--answer", "x", "--context", tmp_path / "none.txt"), "there is no file")


def test_the_example_shows_each_kind_of_verdict(run: Run) -> None:
    found = eirene.Verification.model_validate(run("verify", EXAMPLES / "quotations.json", "--json").record)
    verdicts = ["supported", "supported", "unclear", "unsupported", "not checked"]
    assert [claim.verdict for claim in found.claims] == verdicts
    assert [quotation.verdict for quotation in found.quotations] == ["exact", "altered", "not found"]


def test_an_answer_in_a_language_that_is_not_read_fails_on_unread(run: Run) -> None:
    said = ("--answer", "Das Museum öffnet um neun Uhr. Der Eintritt ist frei.", "--context", "It opens at ten.")
    assert [run("verify", *said, "--fail-on", word).code for word in ("unread", "unscored")] == [3, 3]
