"""`eirene batch`: each row once, on disk before it counts, and never paid for again."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import BrokenReply, HttpError, RawReply, ScriptedReply, ScriptedRequest, TextReply
from tests.cli.batch.batch_runs import data, flags, ids, lines, rewrite, row_of, rows, scripted
from tests.cli.run import EXAMPLES, Run, assert_error, write

pytestmark = pytest.mark.usefixtures("loopback")


def test_the_second_run_does_nothing_and_says_so(run: Run, tmp_path: Path) -> None:
    """Every row is in the journal once, with its record and hash; the same command again asks no model."""
    file, out = data(tmp_path, 5), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite) as server:
        first = run(*flags(server, file, out))
        calls, again = server.calls, run(*flags(server, file, out))
        whole = out.read_bytes()
        out.write_bytes(whole + b'{"torn')  # of a row that came again, by another run
        assert "was cut off" in run(*flags(server, file, out)).err
        assert (calls, server.calls, out.read_bytes()) == (5, 5, whole)
        out.write_bytes(whole + b"notes\n")  # damage that is no row of the data
        assert run(*flags(server, file, out, "--replace-damaged")).code == 0
        assert (out.read_bytes(), (tmp_path / "out.jsonl.damaged").read_bytes()) == (whole, b"notes\n")
    assert (first.code, again.code) == (0, 0), first.err
    assert "made 5 rows: 5 accepted; 5 model calls" in first.err
    assert again.err == f"nothing to do: all 5 rows are in {out}\n"
    assert {line["status"] for line in lines(out)} == {"accepted"}
    assert all(len(line["hash"]) == 16 for line in lines(out))


def test_what_is_true_of_every_row_is_said_once(run: Run, tmp_path: Path) -> None:
    """A server that copies is told of in the first row, and the others are counted at the end."""
    file, out = data(tmp_path, 9), tmp_path / "out.jsonl"

    def copies(request: ScriptedRequest, index: int) -> str:
        return "1. [Incomplete] Reasons: The animals are missing." if request.n > 1 else rewrite(request)

    with LoopbackServer(copies) as server:
        result = run(*flags(server, file, out), "--mode", "fine-grained")
    said = [line for line in result.err.splitlines() if "all are the same" in line]
    assert len(said) == 2 and said[1].startswith("warning: "), result.err
    assert int(said[1].split()[1]) >= 8 and "more times: " in said[1]


def test_the_shipped_rows_run_on_the_embedded_default(run: Run, tmp_path: Path) -> None:
    """The command of the README works without a key, and its journal is a report's and a status's input."""
    out = tmp_path / "out.jsonl"
    assert run("batch", EXAMPLES / "npov.jsonl", "--out", out, "--limit", "2").code == 0
    assert run("batch", EXAMPLES / "npov.jsonl", "--out", out, "--limit", "3").err.startswith("made 1 rows (2 were")
    assert run("report", out, "-o", tmp_path / "page.html").code == 0
    status = run("batch", "status", out, "--json")
    assert json.loads(status.out)["rows"] == 3


def test_status_counts_and_tells_why_rows_failed(run: Run, tmp_path: Path) -> None:
    """Rows by status, tokens and the kinds of failure are those of the journal."""
    file, out = data(tmp_path, 4), tmp_path / "out.jsonl"
    with LoopbackServer(scripted(row_2=HttpError(400, "too long"))) as server:
        assert run(*flags(server, file, out, "--fail-on-error", "0.5")).code == 0
        spent = (server.input_tokens, server.output_tokens)
    found = json.loads(run("batch", "status", out, "--json").out)
    assert {status: n for status, n in found["statuses"].items() if n} == {"accepted": 3, "failed": 1}
    assert found["failures"] == {"RequestRefusedError": 1}
    assert (found["usage"]["input_tokens"], found["usage"]["output_tokens"]) == spent
    assert (found["accepted_share"], found["is_held"]) == (0.75, False)
    shown = run("batch", "status", out).out
    assert "RequestRefusedError" in shown and "75.0 %" in shown and "no run holds this journal" in shown


def test_status_of_what_is_no_whole_journal_is_an_error(run: Run, tmp_path: Path) -> None:
    """A file that is not there, a line that is broken, another file, with or without line ends."""
    assert_error(run("batch", "status", tmp_path / "no.jsonl"), "no such file")
    file = tmp_path / "x.jsonl"
    for text, said in (
        ('{"id": "a"}\n', "line 1: is no line of a batch; "), ('{"id": "a"}', "line 1: is no line of a batch; "),
        ("notes", "its only line was cut off"), ("\x00", "its only line was cut off"), ("\n", "line 1: is not JSON"),
        ('{"id":"a","question":"', "its only line was cut off"),
    ):  # fmt: skip
        file.write_text(text)
        found = run("batch", "status", file)
        assert_error(found, said)
        assert "is no journal of a batch" in found.err and "--replace-damaged" not in found.err
        assert file.read_text() == text


def test_rows_that_fail_hold_the_original_and_the_cause(run: Run, tmp_path: Path) -> None:
    """Their neighbours are refined; above the limit of failures the exit code is 1."""
    file, out = data(tmp_path, 5), tmp_path / "out.jsonl"
    causes = {
        "row_1": (HttpError(400, "too long"), "RequestRefusedError"),
        "row_2": (HttpError(429, headers={"Retry-After": "500"}), "RateLimitError"),
        "row_3": (TextReply("half", finish_reason="length"), None),
    }
    with LoopbackServer(scripted(**{row: outcome for row, (outcome, _) in causes.items()})) as server:
        assert run(*flags(server, file, out)).code == 1
    found = {line["id"]: line for line in lines(out)}
    for row, (_, kind) in causes.items():
        line = found[row.replace("_", "-")]
        assert line["answer"] == line["original"]
        assert (line["error"] or {}).get("kind") == kind, row
    assert sum(line["status"] == "accepted" for line in found.values()) == 2


def test_failed_rows_are_done_again_when_asked(run: Run, tmp_path: Path) -> None:
    """Without the flag a failed row is finished; with it, it alone is asked for, and stands there once."""
    file, out = data(tmp_path, 4), tmp_path / "out.jsonl"
    with LoopbackServer(scripted(row_1=HttpError(400), row_3=HttpError(400))) as server:
        assert run(*flags(server, file, out)).code == 1
    with LoopbackServer(rewrite) as server:
        assert run(*flags(server, file, out)).code == 1
        assert server.calls == 0
        result = run(*flags(server, file, out, "--retry-failed"))
        assert {row_of(request) for request in server.requests} == {"row-1", "row-3"}
    assert result.code == 0, result.err
    assert set(ids(out).values()) == {1}
    assert {line["status"] for line in lines(out)} == {"accepted"}


def test_rows_of_another_configuration_are_refused_or_replaced(run: Run, tmp_path: Path) -> None:
    """A journal never mixes settings unseen: the error names the row and what differs; a flag has them made again."""
    file, out = data(tmp_path, 3), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite) as server:
        run(*flags(server, file, out))
        before = out.read_bytes()
        result = run(*flags(server, file, out, "--seed", "7"))
        assert_error(result, "--replace-changed")
        assert re.search(r"'row-\d' \(and 2 more\) made from other settings", result.err)
        assert out.read_bytes() == before
        changed = write(tmp_path / "in2.jsonl", *rows(2), {**rows(3)[2], "answer": "Another answer."})
        assert "'row-2' made from another input row, or other models" in run(*flags(server, changed, out)).err
        calls = server.calls
        assert run(*flags(server, file, out, "--seed", "7", "--replace-changed")).code == 0
        assert server.calls == calls + 3
    assert {line["seed"] for line in lines(out)} == {7}
    assert len(lines(out)) == 3


def test_a_dry_run_takes_no_line_out_and_leaves_nothing_behind(run: Run, tmp_path: Path) -> None:
    file, out = data(tmp_path, 6), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite) as server:
        assert run(*flags(server, file, out, "--dry-run")).code == 0
        assert list(tmp_path.iterdir()) == [file]
        assert run(*flags(server, file, out, "--seed", "1")).code == 0
        before = lines(out)
        assert run(*flags(server, file, out, "--replace-changed", "--dry-run")).code == 0
        assert lines(out) == before


def test_what_cannot_be_run_is_told_before_anything_is_spent(run: Run, tmp_path: Path) -> None:
    """Equal ids, the input as the journal: an input error, no call, and no journal left behind."""
    file = write(tmp_path / "in.jsonl", *rows(3), rows(1)[0])
    with LoopbackServer(rewrite) as server:
        assert_error(run(*flags(server, file, tmp_path / "out.jsonl")), "the id 'row-0' is taken by")
        assert_error(run(*flags(server, file, file)), "is the input itself")
        assert server.calls == 0
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_key_that_is_refused_stops_the_run_and_a_rerun_goes_on(run: Run, tmp_path: Path) -> None:
    """The rows that met it are not written as failed."""
    file, out = data(tmp_path, 6), tmp_path / "out.jsonl"
    with LoopbackServer(scripted(row_3=HttpError(401, "bad key"))) as server:
        result = run(*flags(server, file, out, "--concurrency", "1"))
    assert result.code == 2
    assert "run the same command again to resume" in result.err and "bad key" in result.err
    assert "row-3" not in ids(out)
    left = 6 - len(lines(out))
    with LoopbackServer(rewrite) as server:
        assert run(*flags(server, file, out)).code == 0
        assert server.calls == left
    assert set(ids(out).values()) == {1} and len(lines(out)) == 6


def test_a_server_that_redirects_elsewhere_stops_the_run(run: Run, tmp_path: Path) -> None:
    """Every row would meet it: none is written as failed, no prompt went there, and the line names both addresses."""
    file, out = data(tmp_path, 6), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite) as other:
        there = f"{other.base_url}/chat/completions"
        with LoopbackServer(lambda *_: HttpError(308, headers={"Location": there})) as server:
            result = run(*flags(server, file, out, "--concurrency", "1"))
        assert other.calls == 0
    assert (result.code, out.exists()) == (1, False)
    assert f"{server.base_url}/chat/completions redirects to {there}" in result.err


@pytest.mark.slow
def test_a_web_page_or_redirect_of_a_server_that_has_answered_costs_one_row(run: Run, tmp_path: Path) -> None:
    """The row is tried as often as any that fails; one bad reply alone costs nothing."""
    file, out = data(tmp_path, 5), tmp_path / "out.jsonl"
    asked: Counter[str] = Counter()

    def script(request: ScriptedRequest, index: int) -> ScriptedReply:
        row = row_of(request)
        asked[row] += 1
        if row == "row-2" and asked[row] == 1:
            return HttpError(302, headers={"Location": "http://127.0.0.2:1/"})
        page = RawReply.body([b"<html>Busy</html>"], kind="text/html")
        return page if row == "row-3" else rewrite(request)

    with LoopbackServer(script) as server:
        result = run(*flags(server, file, out, "--concurrency", "1", "--fail-on-error", "0.5"))
    assert result.code == 0, result.err
    statuses = {line["id"]: line["status"] for line in lines(out)}
    assert statuses == {f"row-{n}": "failed" if n == 3 else "accepted" for n in range(5)}
    assert (asked["row-2"], asked["row-3"] > 2) == (2, True)


@pytest.mark.slow
def test_a_reply_without_end_costs_its_row_a_round_and_no_other_row_anything(run: Run, tmp_path: Path) -> None:
    endless = RawReply.body(itertools.repeat(b"a" * 2**14))
    file, out = data(tmp_path, 6), tmp_path / "out.jsonl"
    with LoopbackServer(scripted(row_3=endless)) as server:
        assert run(*flags(server, file, out)).code == 0
        assert server.calls == 6
    by_id = {line["id"]: line for line in lines(out)}
    assert (by_id["row-3"]["status"], by_id["row-3"]["answer"]) == ("not_checked", by_id["row-3"]["original"])
    assert "reading it was given up" in by_id["row-3"]["why"]
    assert {line["status"] for name, line in by_id.items() if name != "row-3"} == {"accepted"}


@pytest.mark.slow
def test_faults_of_every_kind_leave_every_row_accounted_for(run: Run, tmp_path: Path) -> None:
    """First attempts are refused, dropped, cut, garbled or left hanging for many rows; retries make all good."""
    faults: list[ScriptedReply] = [HttpError(429, headers={"Retry-After": "0"}), HttpError(500), BrokenReply("drop"),
                             BrokenReply("cut"), BrokenReply("garbage"), BrokenReply("hang")]  # fmt: skip

    def script(request, index):  # type: ignore[no-untyped-def]  # a script of the loopback server
        number = int(row_of(request).removeprefix("row-"))
        return faults[number % 6] if request.attempt == 1 and number < 12 else rewrite(request, index)

    file, out = data(tmp_path, 20), tmp_path / "out.jsonl"
    with LoopbackServer(script) as server:
        assert run(*flags(server, file, out, "--timeout", "2")).code == 0
        assert server.calls >= 32  # on a busy machine a reply may come too late as well
    assert len(lines(out)) == len(ids(out)) == 20
    assert sum(line["usage"]["retries"] for line in lines(out)) == server.calls - 20


@pytest.mark.slow
def test_a_file_that_changed_is_read_again(run: Run, tmp_path: Path) -> None:
    """Rows that were added are made, and two of one id are refused."""
    file, out = data(tmp_path, 3), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite) as server:
        run(*flags(server, file, out))
        write(file, *rows(4))
        assert "made 1 rows (3 were there before)" in run(*flags(server, file, out)).err
        write(file, *rows(4), rows(1)[0])
        assert_error(run(*flags(server, file, out)), "the id 'row-0' is taken by")
        assert server.calls == 4
