"""The same rewrite, with the missing argument, a "not", a link and an insult, by `refine`, the server and a page."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import eirene
from eirene.agent.batch.control import Control
from eirene.agent.batch.engine import open_batch, run_batch
from eirene.agent.batch.runner import LocalRunner
from eirene.agent.record import RowHash
from eirene.agent.server.engine import Engine
from eirene.core.records import Record
from eirene.data import open_dataset
from eirene.views.report import render_page
from tests.agent.server.serving import served
from tests.scripted_parts import ScriptedRefiner

ITEM: dict[str, Any] = json.loads(Path("examples/dropped-argument.json").read_text("utf-8"))
GAIN = " They add that one commuting day less cuts traffic and emissions."
GOOD = ITEM["answer"].replace("depend on them.", "depend on them." + GAIN)
MIXED = (
    GOOD.replace("would finally have", "would not finally have").replace(
        GAIN, GAIN + " More at https://days.example/a."
    )
    + " Whoever doubts it is a fool."
)


def parts() -> eirene.Parts:
    return dataclasses.replace(eirene.resolve_backend("embedded"), refiner=ScriptedRefiner([MIXED] * 9))


def undone(record: Record) -> list[str | None]:
    return [edit.check for edit in record.rounds[0].edits if not edit.taken]


def test_the_argument_stays_and_the_three_are_undone() -> None:
    record = eirene.refine(ITEM, backend=parts())
    assert (record.status, record.answer) == ("accepted", GOOD)
    assert sorted(map(str, undone(record))) == ["polarity", "security", "support"]
    assert record.rounds[0].written == MIXED and record.rounds[0].candidate == GOOD


@pytest.mark.usefixtures("loopback")
def test_the_same_over_the_server() -> None:
    with served(Engine(parts(), eirene.Settings())) as server:
        item = {key: ITEM[key] for key in ("question", "answer", "perspectives")}
        run = httpx.post(f"{server.root}/v1/runs", json=item).json()["id"]
        httpx.get(f"{server.root}/v1/runs/{run}/events", timeout=30)  # ends with the run
        record = Record.model_validate(httpx.get(f"{server.root}/v1/runs/{run}").json()["records"][0])
    assert record.answer == GOOD and len(undone(record)) == 3


def test_the_same_in_a_batch(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps(ITEM), encoding="utf-8")
    settings, made = eirene.Settings(), parts()
    data, out = open_dataset(str(tmp_path / "in.jsonl")), tmp_path / "out.jsonl"
    with open_batch(data, out=out, hashes=RowHash(made, settings), settings=settings) as batch:
        asyncio.run(run_batch(batch, LocalRunner(made, settings), control=Control(grace_s=60)))
    line = json.loads(out.read_text("utf-8").splitlines()[0])
    assert line["answer"] == GOOD and sum(not edit["taken"] for edit in line["rounds"][0]["edits"]) == 3


def test_the_page_says_what_was_undone() -> None:
    record = eirene.refine(ITEM, backend=parts())
    part = render_page(record).partition('id="undone"')[2].partition("</section>")[0]
    assert part.count("<li") == 3 and "https://days.example/a" in part


def test_with_partial_reject_the_rewrite_is_refused_whole() -> None:
    record = eirene.refine(ITEM, backend=parts(), partial="reject", max_rounds=1)
    assert (record.status, record.answer) == ("kept", ITEM["answer"])
    assert "not all of the rewrite could be kept: " in record.why


def test_what_is_no_rewrite_leaves_the_original() -> None:
    for broken in ["", " ", "\n\n", MIXED * 40]:
        bad = dataclasses.replace(parts(), refiner=ScriptedRefiner([broken] * 9))
        assert eirene.refine(ITEM, backend=bad).answer == ITEM["answer"]
