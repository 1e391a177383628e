"""Worker processes: the same records as in one process, whatever happens to a worker."""

from __future__ import annotations

import asyncio
import functools
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import eirene
from eirene.agent.batch.pool import Pool, PoolShape, WorkerDiedError
from eirene.agent.batch.processes import ProcessRunner
from eirene.agent.batch.runner import LocalRunner, RowOutcome, RowWork
from eirene.agent.batch.worker import Replies
from eirene.agent.record import failed_record
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import AuthError, WorkerError
from eirene.core.records import Item, Record
from eirene.data import read_items
from eirene.feedback_model.embedded.critic import EmbeddedFeedback
from eirene.models.encoder import load_encoder
from tests.agent.batch.worker_parts import broken, deadly, embedded, killed
from tests.scripted_parts import scripted_parts

EXAMPLES = Path(__file__).parents[3] / "examples"


def rows(*questions: str) -> list[RowWork]:
    return [RowWork(Item(id=f"row-{n}", question=q, answer="An answer."), "") for n, q in enumerate(questions)]


def run(make: Callable[[], Parts], work: Sequence[RowWork], **options: Any) -> dict[str, RowOutcome]:
    async def collect() -> list[RowOutcome]:
        settings = options.pop("settings", Settings.of(mode="improve"))
        return [o async for o in ProcessRunner(make, settings, **{"workers": 1, **options}).run(work)]

    outcomes = asyncio.run(collect())
    assert len({o.work.item.id for o in outcomes}) == len(outcomes) == len(work)
    return {outcome.work.item.id: outcome for outcome in outcomes}


def bare(record: Record) -> str:
    return record.model_copy(update={"usage": record.usage.model_copy(update={"seconds": 0.0})}).model_dump_json()


def test_records_are_those_of_the_naive_loop_byte_for_byte() -> None:
    """Only `usage.seconds` differs: not chunks, processes, or what was encoded before and with what."""
    items = [*read_items(str(EXAMPLES / "npov.jsonl")), *read_items(str(EXAMPLES / "context-missing-fact.json"))]
    work = [RowWork(item, "") for item in items]
    made = run(embedded, work, workers=2, chunk_rows=3, settings=Settings())
    assert [bare(made[item.id].record) for item in items] == [bare(eirene.refine(item)) for item in items]


def test_what_judging_needs_is_encoded_beforehand() -> None:
    """After `prepare` no critique of these items asks the encoder for a text that it has not seen."""
    items = read_items(str(EXAMPLES / "npov.jsonl"))
    items += [item for name in ("context-missing-fact", "open-question", "three-sides")
              for item in read_items(str(EXAMPLES / f"{name}.json"))]  # fmt: skip
    encoder = load_encoder(threads=1)
    EmbeddedFeedback(encoder).prepare(items)
    known = set(encoder._cache._values)
    from eirene.alignment.features import PROTOTYPES
    from eirene.feedback_model.base import FeedbackRequest
    from eirene.feedback_model.embedded.critic import compared
    from eirene.feedback_model.embedded.evidence import load_critic
    from eirene.text.sentences import split_sentences

    for item in items:
        compared(FeedbackRequest(item, item.answer, split_sentences(item.answer), 0), encoder, load_critic())
    assert set(encoder._cache._values) - known <= set(PROTOTYPES)


def test_a_row_that_kills_its_workers_fails_and_takes_no_other_with_it(tmp_path: Path) -> None:
    """One that kills one alone is made by the next. The record says how the workers ended; the rows of its chunk are
    made, and no worker is left."""
    made = run(functools.partial(deadly, str(tmp_path / "seen")), rows("a", "dies once", "b", "dies always", "c"))
    bad = made.pop("row-3").record
    assert (bad.status, bad.answer) == ("failed", "An answer.")
    assert bad.error is not None and bad.error.kind == "WorkerError"
    assert re.fullmatch("3 workers ended at this row, the last one alone with it: by SIGKILL", bad.error.message)
    assert {o.record.status for o in made.values()} == {"kept"}
    assert multiprocessing.active_children() == []


def test_a_worker_that_cannot_begin_is_told_at_once() -> None:
    with pytest.raises(WorkerError, match="exit code 7"):
        run(broken, rows("a"))


def test_a_worker_that_is_killed_while_it_begins_is_followed_by_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """All rows are made, and the log counts the starts."""
    made = run(functools.partial(killed, str(tmp_path / "seen"), times=2), rows("a", "b"))
    assert {o.record.status for o in made.values()} == {"kept"}
    assert "a worker ended before its first row, by SIGKILL (start 2 of 3)" in caplog.text


def test_workers_that_are_all_killed_while_they_begin_end_the_run_with_their_number(tmp_path: Path) -> None:
    """The rows stay as they were, for the next run; nobody is told of scripts."""
    with pytest.raises(WorkerError, match=r"^3 workers ended before their first row, the last by SIGKILL$"):
        run(functools.partial(killed, str(tmp_path / "seen"), times=99), rows("a"))


SCRIPT = """
import asyncio
from eirene.agent.batch.processes import ProcessRunner
from eirene.agent.batch.runner import RowWork
from eirene.agent.settings import Settings
from eirene.core.records import Item
from tests.agent.batch.worker_parts import embedded
from tests.scripted_parts import scripted_parts

async def go():
    work = [RowWork(Item(id="a", question="q", answer="An answer."), "")]
    return [o async for o in ProcessRunner(embedded, Settings.of(mode="improve"), workers=1).run(work)]

asyncio.run(go())
"""


@pytest.mark.slow
def test_a_script_is_told_of_its_top_level(tmp_path: Path) -> None:
    """Each worker would read it, and start workers."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    path = os.pathsep.join([str(EXAMPLES.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 1
    assert "if __name__ == '__main__':" in done.stderr and "its message stands above" in done.stderr.splitlines()[-1]


def test_no_worker_outlives_the_run_and_work_is_pulled_as_there_is_room(tmp_path: Path) -> None:
    """Also where the reader goes away after the first row."""
    pulled = []

    def endless() -> Iterator[RowWork]:
        for n in range(10_000):
            pulled.append(n)
            yield RowWork(Item(id=str(n), question="q", answer="An answer."), "")

    async def first() -> None:
        make = functools.partial(deadly, str(tmp_path / "seen"))
        outcomes = ProcessRunner(make, Settings.of(mode="improve"), workers=1, chunk_rows=4).run(endless())
        await anext(outcomes)
        await outcomes.aclose()

    asyncio.run(first())
    assert len(pulled) <= 8
    assert multiprocessing.active_children() == []


def test_workers_do_not_hear_what_a_terminal_sends(tmp_path: Path) -> None:
    """The parent alone decides what Ctrl-C or a hangup means: all rows are still made."""

    async def interrupted() -> int:
        make = functools.partial(deadly, str(tmp_path / "seen"))
        n = 0
        async for _ in ProcessRunner(make, Settings.of(mode="improve"), workers=1, chunk_rows=2).run(rows(*"abcdef")):
            for child in multiprocessing.active_children():
                assert child.pid is not None
                os.kill(child.pid, signal.SIGINT)
                os.kill(child.pid, signal.SIGHUP)
            n += 1
        return n

    assert asyncio.run(interrupted()) == 6


def test_a_worker_that_raises_costs_no_row_of_the_others(tmp_path: Path) -> None:
    """They make what they had taken before the fault is raised, and nothing more is pulled."""
    pulled: list[str] = []

    def work() -> Iterator[RowWork]:
        for one in rows("no key", *"abcdef", *"ghijkl"):
            pulled.append(one.item.id)
            yield one

    async def collect() -> list[str]:
        made: list[str] = []
        make = functools.partial(deadly, str(tmp_path / "seen"))
        runner = ProcessRunner(make, Settings.of(mode="improve"), workers=2, chunk_rows=3)
        with pytest.raises(AuthError, match="refused"):
            async for outcome in runner.run(work()):
                made.append(outcome.work.item.id)
        keys = ["row-0", "row-1", "row-2"]
        assert await chunk_with(WorkerDiedError("gone")) == (keys, [keys, ["row-1"], ["row-2"]])
        with pytest.raises(WorkerError, match="broken"):
            await chunk_with(WorkerError("broken"))
        return made

    made = asyncio.run(collect())
    assert set(pulled) - set(made) == {"row-0"}


async def chunk_with(error: Exception) -> tuple[list[str], list[list[str]]]:
    """What comes of three rows whose workers end with the error after one row, and what these were asked for."""
    settings, asked = Settings.of(mode="improve"), []

    class Half:
        async def begin(self) -> None:
            pass

        async def rows(self, rows: list[RowWork]) -> AsyncIterator[Replies]:
            asked.append([work.key for work in rows])
            yield [failed_record(rows[0].item, error, parts=scripted_parts(), settings=settings)], []
            raise error

        def end(self) -> None:
            pass

    async def collect() -> list[str]:
        shape = PoolShape(workers=1, chunk_rows=3)
        pool = Pool(rows("a", "b", "c"), Half, settings, shape=shape, parts=scripted_parts)
        return [outcome.key async for outcome in pool.run()]

    return await asyncio.wait_for(collect(), 10), asked


@pytest.mark.parametrize("workers", [None, 2])
def test_a_runner_that_is_told_to_wait_asks_again_when_a_row_has_ended(tmp_path: Path, workers: int | None) -> None:
    """None among the work is no end of it: with one row let in at a time, all are made."""
    make, settings = functools.partial(deadly, str(tmp_path / "seen")), Settings.of(mode="improve")
    runner = LocalRunner(make(), settings) if workers is None else ProcessRunner(make, settings, workers=workers)
    under_way: set[str] = set()

    def work() -> Iterator[RowWork | None]:
        for one in rows(*"abcde"):
            while under_way:
                yield None
            under_way.add(one.item.id)
            yield one

    async def count() -> int:
        n = 0
        async for outcome in runner.run(work()):
            under_way.discard(outcome.work.item.id)
            n += 1
        return n

    assert asyncio.run(count()) == 5
