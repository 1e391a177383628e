"""`eirene batch` as a process: stopped, killed, started twice, cut off. Nothing finished is lost or paid again."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from eirene.testing.loopback import LoopbackServer
from tests.cli.batch.batch_runs import (
    HANGUP,
    INTERRUPT,
    KILL,
    STARTED,
    TERMINATE,
    data,
    end,
    flags,
    ids,
    lines,
    rewrite,
    row_of,
    start,
    wait_for,
)
from tests.cli.run import Run

pytestmark = pytest.mark.usefixtures("loopback")


@pytest.fixture(autouse=True)
def _no_process_stays() -> Iterator[None]:
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.communicate()


def grown(out: Path, n: int) -> Callable[[], bool]:
    """Whether the journal has so many lines."""
    return lambda: out.exists() and out.read_bytes().count(b"\n") >= n


def test_a_signal_finishes_what_is_under_way_and_the_next_run_the_rest(run: Run, tmp_path: Path) -> None:
    """Exit code 130; every call that was made is in the journal, and none is made twice."""
    file, out = data(tmp_path, 24), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite, latency_s=0.1) as server:
        process = start(flags(server, file, out, "--concurrency", "4"))
        wait_for(grown(out, 4), process=process)
        code, said = end(process, TERMINATE)
        assert code == 130, said
        assert "rows under way have 60 s to end" in said and "stopped (by the user)" in said
        assert len(lines(out)) == server.calls < 24
        assert run(*flags(server, file, out)).code == 0
        assert server.calls == 24
    assert len(lines(out)) == len(ids(out)) == 24


@pytest.mark.slow
def test_a_terminal_that_is_closed_costs_no_row(tmp_path: Path) -> None:
    """Its SIGHUP is a request to stop, and that nothing can be written to it any more ends nothing."""
    file, out = data(tmp_path, 60), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite, latency_s=0.1) as server:
        ours, theirs = pty.openpty()
        process = start(
            flags(server, file, out, "--concurrency", "4"), stderr=theirs, stdout=theirs, stdin=theirs,
            preexec_fn=functools.partial(_own_terminal, theirs),
        )  # fmt: skip
        os.close(theirs)
        wait_for(grown(out, 6), process=process)
        os.close(ours)
        assert process.wait() == 130
        assert len(lines(out)) == server.calls < 60


def _own_terminal(number: int) -> None:
    os.setsid()
    fcntl.ioctl(number, termios.TIOCSCTTY, 0)


@pytest.mark.slow
def test_nohup_keeps_its_meaning(tmp_path: Path) -> None:
    """A SIGHUP that is ignored when the command begins stays ignored."""
    file, out = data(tmp_path, 20), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite, latency_s=0.1) as server:
        process = start(
            flags(server, file, out, "--concurrency", "2"),
            preexec_fn=functools.partial(signal.signal, signal.SIGHUP, signal.SIG_IGN),
        )
        wait_for(grown(out, 2), process=process)
        code, said = end(process, HANGUP)
        assert (code, len(lines(out))) == (0, 20), said


@pytest.mark.slow
@pytest.mark.parametrize("twice", [True, False])
def test_a_second_ctrl_c_or_the_end_of_the_grace_stops_at_once(tmp_path: Path, twice: bool) -> None:
    """What is under way is given up; what had ended stays."""
    file, out = data(tmp_path, 40), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite, latency_s=0.05) as server:
        process = start(flags(server, file, out, "--concurrency", "2", "--grace", "600" if twice else "0.3"))
        wait_for(grown(out, 4), process=process)
        server.latency_s = 300.0  # from here on nothing comes back
        wait_for(lambda: server.under_way == 2, process=process)
        process.send_signal(INTERRUPT)
        if twice:
            assert process.stderr is not None
            assert "stopping:" in process.stderr.readline()
            process.send_signal(INTERRUPT)
        code, said = end(process)
    assert code == 130, said
    assert "stopped (by the user)" in said
    assert len(lines(out)) == len(ids(out)) >= 4


@pytest.mark.slow
def test_kill_9_loses_no_more_than_what_was_under_way(tmp_path: Path) -> None:
    """Killed twice and run to the end: every id once, and no row on disk is asked for again."""
    file, out = data(tmp_path, 80), tmp_path / "out.jsonl"
    finished: set[str] = set()
    with LoopbackServer(rewrite, latency_s=0.05) as server:
        for upto in (10, 40):
            begin = server.calls
            process = start(flags(server, file, out, "--concurrency", "4"))
            wait_for(grown(out, upto), process=process)
            end(process, KILL)
            assert not finished & {row_of(request) for request in server.requests[begin:]}
            finished = {json.loads(line)["id"] for line in out.read_text().splitlines(True) if line.endswith("}\n")}
        begin = server.calls
        code, said = end(start(flags(server, file, out)))
        assert code == 0, said
        assert {row_of(r) for r in server.requests[begin:]} == {f"row-{n}" for n in range(80)} - finished
    assert len(lines(out)) == len(ids(out)) == 80


@pytest.mark.slow
def test_a_second_process_on_the_journal_is_refused(tmp_path: Path) -> None:
    """Exit code 2 while the first runs; the status says that it is held."""
    file, out = data(tmp_path, 60), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite, latency_s=300) as server:
        process = start(flags(server, file, out, "--concurrency", "2"))
        wait_for(lambda: server.under_way == 2, process=process)
        code, said = end(start(flags(server, file, out)))
        assert (code, "in use by another run" in said) == (2, True), said
        status = subprocess.run(
            [sys.executable, "-m", "eirene", "batch", "status", str(out), "--json"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert json.loads(status.stdout)["is_held"] is True
        end(process, KILL)


@pytest.mark.slow
def test_a_full_disk_stops_the_run_with_everything_finished_kept(tmp_path: Path) -> None:
    """The journal stays readable, rows that it did not take are in a file that the message names, a rerun goes on."""
    file, out = data(tmp_path, 40), tmp_path / "out.jsonl"
    (tmp_path / "tmp").mkdir()
    with LoopbackServer(rewrite, latency_s=0.1) as server:  # a slow drive gets a few rows at once, not all

        def few_bytes() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))  # and of what is rescued

        process = start(flags(server, file, out, "--concurrency", "1"), preexec_fn=few_bytes)
        code, said = end(process)
        assert code == 1, said
        assert "File too large" in said and "run the same command again to resume" in said
        kept = len(lines(out))
        assert 0 < kept < 40
        rescued = [Path(word) for word in said.split() if "eirene-batch-" in word]
        if rescued:
            path = Path(str(rescued[0]).rstrip(";,"))
            with out.open("ab") as journal:
                journal.write(path.read_bytes())
            path.unlink()
        kept = len(lines(out))
        before = server.calls
        assert before == kept
        assert end(start(flags(server, file, out)))[0] == 0
        assert server.calls - before == 40 - kept
    assert len(lines(out)) == len(ids(out)) == 40


@pytest.mark.slow
def test_a_folder_that_vanishes_stops_the_run(tmp_path: Path) -> None:
    """What was finished and not yet on disk is in a file that the message names."""
    folder = tmp_path / "drive"
    folder.mkdir()
    file, out = data(tmp_path, 200), folder / "out.jsonl"
    with LoopbackServer(rewrite, latency_s=0.05) as server:
        process = start(flags(server, file, out, "--concurrency", "2"))
        wait_for(grown(out, 4), process=process)
        folder.rename(tmp_path / "gone")
        code, said = end(process)
    assert code == 1, said
    assert "has been removed" in said
    kept = lines(tmp_path / "gone" / "out.jsonl")
    (rescued,) = [Path(word.rstrip(";,")) for word in said.split() if "eirene-batch-" in word]
    assert {line["id"] for line in lines(rescued)} | {line["id"] for line in kept} == {
        row_of(request) for request in server.requests
    }
    rescued.unlink()
