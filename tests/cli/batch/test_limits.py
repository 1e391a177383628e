"""`eirene batch` under a limit of cost, tokens or time: it stops cleanly, and starting it again spends no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from eirene.testing.loopback import LoopbackServer
from tests.cli.batch.batch_runs import data, flags, lines, rewrite
from tests.cli.run import Run, assert_error

pytestmark = pytest.mark.usefixtures("loopback")


def test_a_limit_stops_cleanly_and_holds_for_the_next_run(run: Run, tmp_path: Path) -> None:
    """What is under way is finished, the exit code is 0, what is left is told, and a rerun spends nothing."""
    file = data(tmp_path, 40)
    for limit, more in (("--max-tokens 120", ()), ("--max-cost 0.0001", ("--price", "1,1"))):
        out = tmp_path / f"{limit[6:9]}.jsonl"
        with LoopbackServer(rewrite) as server:
            command = flags(server, file, out, "--concurrency", "1", *limit.split(), *more)
            result = run(*command)
            made = len(lines(out))
            assert result.code == 0, result.err
            assert 0 < made < 10
            assert f"stopped ({limit}): {40 - made} of 40 rows are left" in result.err
            calls = server.calls
            assert run(*command).code == 0
            assert (server.calls, len(lines(out))) == (calls, made)


def test_a_deadline_stops_cleanly(run: Run, tmp_path: Path) -> None:
    file, out = data(tmp_path, 40), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite, latency_s=0.2) as server:
        result = run(*flags(server, file, out, "--concurrency", "1", "--deadline", "0.5"))
    assert result.code == 0, result.err
    assert "stopped (--deadline 0.5)" in result.err
    assert 0 < len(lines(out)) < 40


def test_a_cost_limit_without_a_price_is_an_error(run: Run, tmp_path: Path) -> None:
    """An unknown cost must not pass for none: nothing is spent, and the message names the model, a judge too."""
    file, out = data(tmp_path, 8), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite) as server:
        assert_error(run(*flags(server, file, out, "--max-cost", "1")), "--price")
        more = ("--max-cost", "1", "--price", "1,1", "--judge", "openai:judge")
        assert_error(run(*flags(server, file, out, *more)), "openai:judge cost: give --price")
        assert server.calls == 0


def test_rows_under_way_do_not_carry_a_run_past_its_limit(run: Run, tmp_path: Path) -> None:
    """However many may be under way, rows that cost the same end within the limit and use it up but for one row."""
    file, out = data(tmp_path, 120), tmp_path / "out.jsonl"
    with LoopbackServer(rewrite, latency_s=0.02) as server:
        assert run(*flags(server, file, tmp_path / "one.jsonl", "--limit", "1")).code == 0
        row = server.input_tokens + server.output_tokens
        result = run(*flags(server, file, out, "--concurrency", "64", "--max-tokens", str(30 * row)))
    assert result.code == 0 and "--max-tokens" in result.err, result.err
    assert 28 <= len(lines(out)) <= 30
