"""The engine: no paid row is lost, whatever ends a run, and nothing is taken out of a journal before a run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from eirene.agent.batch.control import Control
from eirene.agent.batch.engine import Again, Batch, open_batch, run_batch
from eirene.agent.batch.runner import LocalRunner, RowOutcome, RowWork
from eirene.agent.record import RowHash
from eirene.agent.settings import Settings
from eirene.core.errors import InputError
from eirene.core.records import parse_item
from eirene.data import open_dataset
from eirene.models.limits import Limiter
from tests.agent.batch.worker_parts import deadly

PARTS = deadly("unused")
OLD, NEW = Settings(mode="improve", seed=1), Settings(mode="improve", seed=2)


def make(batch: Batch, settings: Settings) -> None:
    asyncio.run(run_batch(batch, LocalRunner(PARTS, settings), control=Control(grace_s=60)))


def test_what_is_to_be_made_again_stays_in_the_journal_until_a_run_begins(tmp_path: Path) -> None:
    """Looking (a dry run, an export) costs no line that was paid for; a run puts the new ones in their place."""
    rows = [json.dumps({"id": f"row-{n}", "question": "Trams?", "answer": "Trams are quiet."}) for n in range(3)]
    (tmp_path / "in.jsonl").write_text("\n".join(rows), encoding="utf-8")
    data, out = open_dataset(str(tmp_path / "in.jsonl")), tmp_path / "out.jsonl"
    with open_batch(data, out=out, hashes=RowHash(PARTS, OLD), settings=OLD) as batch:
        make(batch, OLD)
    before, again = out.read_bytes(), Again(changed=True)
    with open_batch(data, out=out, hashes=RowHash(PARTS, NEW), settings=NEW, again=again) as batch:
        assert (batch.n_done, batch.n_left, batch.totals.rows, len(list(batch.work()))) == (0, 3, 0, 3)
    assert out.read_bytes() == before
    with open_batch(data, out=out, hashes=RowHash(PARTS, NEW), settings=NEW, again=again) as batch:
        make(batch, NEW)
        assert (batch.n_left, batch.totals.rows) == (0, 3)
    lines = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert sorted((line["id"], line["seed"]) for line in lines) == [("row-0", 2), ("row-1", 2), ("row-2", 2)]
    out.write_bytes(before + before)  # of rows that the data does not have: what they cost would count twice
    (tmp_path / "in.jsonl").write_text(rows[0].replace("row-0", "another"), encoding="utf-8")
    data, doubled = open_dataset(str(tmp_path / "in.jsonl")), r"line 4: has the id 'row-\d' of an earlier line"
    with (
        pytest.raises(InputError, match=doubled),
        open_batch(data, out=out, hashes=RowHash(PARTS, NEW), settings=NEW, again=again),
    ):
        pass


def test_rows_that_come_to_the_file_during_a_run_are_the_next_ones(tmp_path: Path) -> None:
    """They have not been checked, and may have the id of another: the journal would have it twice."""
    row, file = {"question": "Trams?", "answer": "Trams are quiet."}, tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps({"id": name, **row}) + "\n" for name in "abc"), encoding="utf-8")
    hashes = RowHash(PARTS, OLD)
    with open_batch(open_dataset(str(file)), out=tmp_path / "out.jsonl", hashes=hashes, settings=OLD) as batch:
        work = batch.work()
        begun = next(work)
        with file.open("a", encoding="utf-8") as more:
            more.write("".join(json.dumps({"id": name, **row}) + "\n" for name in "da"))
        assert [one.item.id for one in (begun, *work)] == ["a", "b", "c"]


async def test_work_that_cannot_go_on_does_not_cost_the_rows_under_way() -> None:
    """A data set that cannot be read to its end: the rows that were begun are finished first, then it is told."""

    def work() -> Iterator[RowWork]:
        for n in range(3):
            yield RowWork(
                parse_item({"id": f"row-{n}", "question": "Trams?", "answer": "Trams are quiet."}), f"{n:016x}"
            )
        raise InputError("the file is gone")

    made: list[RowOutcome] = []
    with pytest.raises(InputError, match="the file is gone"):
        async for outcome in LocalRunner(PARTS, OLD, limiter=Limiter(8)).run(work()):
            made.append(outcome)
    assert sorted(outcome.record.id for outcome in made) == ["row-0", "row-1", "row-2"]
