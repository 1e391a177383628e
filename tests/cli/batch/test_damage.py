"""Bytes of a finished run's files are changed, and the same command is run again: no row is wrong without a word."""

from __future__ import annotations

import contextlib
import gc
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eirene.testing.loopback import LoopbackServer
from tests.cli.batch.batch_runs import data, flags, lines, rewrite
from tests.cli.run import Result, Run

pytestmark = pytest.mark.usefixtures("loopback")

N_ROWS = 4


def told(result: Result) -> bool:
    """Whether the user hears of it: one error, or a warning."""
    assert "Traceback" not in result.err and result.code in (0, 2), result
    return result.code == 2 or "warning: " in result.err


def bare(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows by id, without what differs from run to run."""
    assert len({row["id"] for row in rows}) == len(rows) == N_ROWS
    return {row["id"]: {k: v for k, v in row.items() if k not in ("usage", "line_crc32")} for row in rows}


def settled(cache: Path) -> None:
    """Puts what stands in the cache's log into its file."""
    gc.collect()  # the command's own connection
    with contextlib.closing(sqlite3.connect(cache)) as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    assert b"cages make" in cache.read_bytes()


def changed(path: Path, n: int) -> list[bytes]:
    """The file's bytes with one of them changed in some bit, `n` times over; of zeros a database has whole pages."""
    rng, whole = np.random.default_rng(n), path.read_bytes()
    found = []
    for at in rng.choice(np.flatnonzero(np.frombuffer(whole, np.uint8)), n, replace=False):
        other = bytearray(whole)
        other[at] ^= 1 << int(rng.integers(8))
        found.append(bytes(other))
    return found


@pytest.mark.slow
def test_every_changed_byte_of_a_journal_is_told_or_changes_nothing(run: Run, tmp_path: Path) -> None:
    """The rows that come out are those from before, each id once; or an error names the line. `--replace-damaged` then
    has the row made again, and the status is of whole lines alone."""
    file, out = data(tmp_path, N_ROWS), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite) as server:
        assert run(*flags(server, file, out)).code == 0
        want = bare(lines(out))
        for other in changed(out, 20):
            out.write_bytes(other)
            result = run(*flags(server, file, out))
            if told(result) and result.code:
                assert out.read_bytes() == other
                assert "batch --replace-damaged" in result.err
                assert run("batch", "status", out).code == 2
                assert run(*flags(server, file, out, "--replace-damaged")).code == 0
            assert bare(lines(out)) == want
            for aside in tmp_path.glob("out.jsonl.damaged*"):
                aside.unlink()


@pytest.mark.slow
def test_every_changed_byte_of_a_call_cache_costs_a_call_and_no_answer(run: Run, tmp_path: Path) -> None:
    """A new journal from a changed cache has the rows of the first one, or the file is refused."""
    file, cache, first = data(tmp_path, N_ROWS), tmp_path / "calls.sqlite", tmp_path / "first.jsonl"
    with LoopbackServer(rewrite) as server:
        assert run(*flags(server, file, first, "--cache", str(cache))).code == 0
        want = bare(lines(first))
        settled(cache)
        for n, other in enumerate(changed(cache, 80)):
            for left in tmp_path.glob("calls.sqlite-*"):
                left.unlink()
            cache.write_bytes(other)
            out = tmp_path / f"out-{n}.jsonl"
            result = run(*flags(server, file, out, "--cache", str(cache)))
            if result.code == 0:
                assert bare(lines(out)) == want
            else:
                assert told(result) and not out.exists()


@pytest.mark.slow
def test_a_changed_letter_in_the_cache_changes_no_row(run: Run, tmp_path: Path) -> None:
    """As in every reply at once."""
    file, cache = data(tmp_path, N_ROWS), tmp_path / "calls.sqlite"
    with LoopbackServer(rewrite) as server:
        assert run(*flags(server, file, tmp_path / "a.jsonl", "--cache", str(cache))).code == 0
        settled(cache)
        cache.write_bytes(cache.read_bytes().replace(b"cages make", b"wages make"))
        result = run(*flags(server, file, tmp_path / "b.jsonl", "--cache", str(cache)))
    assert result.code == 0 and "are damaged, and are asked for anew" in result.err
    assert bare(lines(tmp_path / "b.jsonl")) == bare(lines(tmp_path / "a.jsonl"))
    assert server.calls == 2 * N_ROWS


@pytest.mark.slow
def test_a_journal_that_lost_its_shape_is_told(run: Run, tmp_path: Path) -> None:
    """Zeros, a line twice, a line cut off, a line that is gone, a line without a checksum: never `nothing to do`."""
    file, out = data(tmp_path, N_ROWS), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite) as server:
        assert run(*flags(server, file, out)).code == 0
        whole, want = out.read_bytes(), bare(lines(out))
        first, *others = whole.splitlines(keepends=True)
        at = len(first) + 200
        for broken, said in (
            (whole[:at] + b"\0" * 50 + whole[at + 50 :], "line 2: does not fit its checksum"),
            (whole + first, "of an earlier line"), (whole[:-30], "was cut off"), (b"".join(others), "made 1 rows"),
        ):  # fmt: skip
            out.write_bytes(broken)
            result = run(*flags(server, file, out))
            assert said in result.err and "nothing to do" not in result.err
            assert result.code == 2 or bare(lines(out)) == want


@pytest.mark.slow
def test_the_rows_of_a_comparison_are_checked(run: Run, tmp_path: Path) -> None:
    """A changed letter is an error that names the line; without that line its row is made again."""
    file, out = data(tmp_path, 2), tmp_path / "out"
    with LoopbackServer(rewrite) as server:
        command = ["compare", str(file), "--out", str(out), "--modes", "improve", "--max-rounds", "1",
                   "--backend", "openai:test", "--base-url", server.base_url]  # fmt: skip
        assert run(*command).code == 0
        rows = out / "rows.jsonl"
        whole = rows.read_bytes()
        rows.write_bytes(whole.replace(b"cages make", b"wages make", 1))
        result = run(*command)
        assert (
            result.code == 2
            and "rows.jsonl, line 1: is no line of a journal: it does not fit its checksum" in result.err
        )
        assert run("report", rows, "-o", tmp_path / "page.html").code == 2
        rows.write_bytes(b"".join(whole.splitlines(keepends=True)[1:]))
        assert run(*command).code == 0
        assert server.calls == 3
    shutil.rmtree(out)
