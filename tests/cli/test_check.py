"""`eirene check`: exit codes, files, and answers that got worse."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.run import EXAMPLES, Run, assert_error, write

GOOD, BAD, SIDES = EXAMPLES / "answers.jsonl", EXAMPLES / "answers-worse.jsonl", EXAMPLES / "npov.jsonl"


@pytest.fixture
def baseline(run: Run, tmp_path: Path) -> Path:
    file = tmp_path / "baseline.jsonl"
    result = run("check", GOOD, "--write-baseline", file)
    assert (result.code, result.err) == (0, f"wrote a baseline of 3 rows to {file}\n")
    assert result.out.endswith("measured: 3 answers; no condition was named, so none can fail\n")
    return file


def test_equal_answers_pass_and_worse_ones_fail_with_the_sentence_and_its_evidence(run: Run, baseline: Path) -> None:
    assert run("check", GOOD, "--baseline", baseline, "--fail-if", "worse > 0").code == 0
    result = run("check", BAD, "--baseline", baseline, "--fail-if", "worse > 2%")
    assert result.code == 3
    assert "  new contradicted: It was opened in 1899.\n    evidence: It was opened in March 1890.\n" in result.out
    assert result.out.endswith("FAILED: 3 answers, compared with 3 of the baseline; 2 conditions\n")
    assert result.err == ""


def test_an_answer_that_nobody_can_judge_any_more_fails_by_default(run: Run, baseline: Path, tmp_path: Path) -> None:
    for answer in [
        "...",
        "I'm sorry, but I can't help with that.",
        "Die Brücke wurde von der Königin der Niederlande im Frühling eröffnet.",
    ]:
        rows = [json.loads(line) for line in GOOD.read_text(encoding="utf-8").splitlines()]
        data = write(tmp_path / "now.jsonl", {**rows[0], "answer": answer}, *rows[1:])
        result = run("check", data, "--baseline", baseline, "--fail-if", "contradicted > 0")
        assert result.code == 3
        line = next(line for line in result.out.splitlines() if line.startswith(f"{rows[0]['id']}: lost, unscored ("))
        assert line.endswith(")")  # at no terminal a line is cut nowhere
        assert run("check", data, "--baseline", baseline, "--fail-if", "lost > 1").code == 0


def test_the_same_command_gives_the_same_files(run: Run, baseline: Path, tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        files = [tmp_path / f"{name}.{ending}" for ending in ("xml", "md", "jsonl")]
        told = ("--fail-if", "worse > 99%", "--junit", files[0], "--summary", files[1], "--write-baseline", files[2])
        out = run("check", BAD, "--baseline", baseline, *told)
        assert out.code == 0
        found.append([out.out, *(file.read_bytes() for file in files)])
    assert found[0] == found[1]


def test_junit_has_a_case_for_each_condition(run: Run, baseline: Path, tmp_path: Path) -> None:
    file = tmp_path / "check.xml"
    conditions = ("worse > 2%", "unsupported > 5%", "incomplete > 0")
    told = [word for condition in conditions for word in ("--fail-if", condition)]
    result = run("check", BAD, "--baseline", baseline, *told, "--junit", file)
    assert result.code == 2
    assert "error: --fail-if 'incomplete > 0' cannot be judged: no row has perspectives" in result.err
    suite = ElementTree.fromstring(file.read_text(encoding="utf-8"))[0]
    assert {n: suite.get(n) for n in ("tests", "failures", "errors")} == {"tests": "4", "failures": "2", "errors": "1"}
    failure = suite.find("testcase/failure")
    assert failure is not None and "It was opened in 1899." in (failure.text or "")


def test_hostile_text_stays_text_in_every_report(run: Run, tmp_path: Path) -> None:
    """An answer may hold a fence, a mention, markup and terminal escapes."""
    passage = "The zoo of Basel opened in 1874. It keeps 7,000 animals."
    claim = "The zoo ````` was sold to <img src=x onerror=1> @everyone ]]> \x1b[31m singers from Vienna in 1999."
    data = write(tmp_path / "d.jsonl", {"id": "z|`@a", "question": "Zoo?", "answer": claim, "context": [passage]})
    xml, page = tmp_path / "c.xml", tmp_path / "c.md"
    result = run(
        "check",
        data,
        "--fail-if",
        "unsupported >= 0",
        "--fail-if",
        "contradicted >= 0",
        "--junit",
        xml,
        "--summary",
        page,
    )
    assert result.code == 3 and "new" not in result.out  # there is no baseline
    assert "\x1b" not in result.out + page.read_text(encoding="utf-8")
    ElementTree.fromstring(xml.read_text(encoding="utf-8"))
    before, fence, rest = page.read_text(encoding="utf-8").partition("``````text\n")
    assert fence and "@everyone" not in before and "@everyone" in rest
    assert rest.endswith("\n``````\n")


def test_no_baseline_is_written_where_a_condition_holds(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "base.jsonl"
    result = run("check", BAD, "--fail-if", "contradicted > 0", "--write-baseline", file)
    assert (result.code, file.exists()) == (3, False)
    assert "no baseline written" in result.err


def test_perspectives_tell_of_missing_arguments(run: Run) -> None:
    result = run("check", SIDES, "--fail-if", "incomplete > 0", "--json")
    found = json.loads(result.out)
    assert (result.code, found["state"]) == (3, "holds")
    row = next(row for row in found["rows"] if row["id"] == "dropped-argument")
    assert {"kind": "missing", "text": "One commuting day less cuts traffic and emissions."} in row["faults"]
    assert next(f for f in found["figures"] if f["quantity"] == "contradicted")["unmeasured"]


def test_named_detectors_take_the_place_of_the_usual_ones(run: Run, baseline: Path, tmp_path: Path) -> None:
    told = ("--detectors", "rouge", "--fail-if", "worse > 0")
    assert_error(run("check", BAD, "--baseline", baseline, *told), "scores cannot be compared")
    own = tmp_path / "rouge.jsonl"
    assert run("check", GOOD, "--detectors", "rouge", "--write-baseline", own).code == 0
    result = run("check", BAD, "--baseline", own, *told, "--fail-if", "rouge.hallucination > 0.9")
    assert result.code == 3
    assert "rouge.hallucination" in result.out


def test_rows_with_nothing_given_are_unscored_and_no_pass(run: Run, tmp_path: Path) -> None:
    data = write(tmp_path / "d.jsonl", {"id": "a", "question": "Why?", "answer": "Because of the rain."})
    result = run("check", data, "--fail-if", "unsupported > 5%")
    assert result.code == 2
    assert "1 row unscored: there is nothing to compare with" in " ".join(result.out.split())
    assert "cannot be judged: no row has given text" in result.err
    assert run("check", data, "--fail-if", "unscored > 10%").code == 3


def test_bad_usage_is_one_clear_error(run: Run) -> None:
    for told, said in [
        ((), "nothing can fail"),
        (("--fail-if", "worse > 2%"), "name one, or write one first"),
        (("--fail-if", "worse ~ 2%"), "must be QUANTITY > LIMIT"),
        (("--fail-if", "new > 2", "--baseline", "no-such-file"), "no such file"),
        (("--fail-if", "unsupported > 2", "--tolerance", "2"), "'tolerance' must be"),
        (("--fail-if", "unsupported > 2", "--detectors", "nothing"), "unknown detector"),
        (("--fail-if", "unsupported > 2", "--junit", "x.xml", "--summary", "x.xml"), "written twice"),
    ]:
        assert_error(run("check", GOOD, *told), said)


def test_rows_need_ids_of_their_own_to_be_found_again(run: Run, tmp_path: Path) -> None:
    data = write(tmp_path / "d.jsonl", {"question": "Why?", "answer": "Because.", "context": ["It rains."]})
    assert_error(run("check", data, "--write-baseline", tmp_path / "b.jsonl"), "row 1 has no 'id'")


def test_files_are_written_over_only_with_force(run: Run, baseline: Path) -> None:
    assert_error(run("check", GOOD, "--write-baseline", baseline), "exists already")
    assert run("check", GOOD, "--write-baseline", baseline, "--force").code == 0
