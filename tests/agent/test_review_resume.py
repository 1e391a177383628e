"""A run with a person in it goes on later: saved edits, failed steps, another process, the same thread."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from eirene.agent.session import ReviewedRun
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import UnreachableError
from eirene.core.records import Item, Record
from tests.agent.loop import FAULTY, ITEM
from tests.agent.reviewed import GO_ON, SAVERS, on, opened, parts, reasons
from tests.scripted_parts import scripted_parts


@SAVERS
def test_edits_that_were_saved_come_with_the_question_again_and_decide_nothing(saver: str, tmp_path: Path) -> None:
    async def work(store: Any) -> None:
        first = opened(parts(), saver=store)
        await first.begin()
        assert first.question is not None and first.question["draft"] is None
        for n in (1, 2):
            await first.answer({"action": "save", "replace": [{"sentence": n, "reason": "Say why."}]})
        second = opened(parts(samples=[]), saver=store)
        await second.begin()
        assert second.question is not None
        assert second.question["draft"]["replace"] == [{"sentence": 2, "reason": "Say why."}]
        assert second.question["critique"]["sentences"][1]["reason"] is None  # still as it was drawn
        await second.answer(GO_ON)
        critique = second.record.rounds[0].critique
        assert critique is not None and critique.review is not None
        assert critique.review.model_dump(mode="json", exclude_defaults=True) == GO_ON

    on(saver, tmp_path, work)


@SAVERS
def test_a_thread_goes_on_at_the_question_without_drawing_again(saver: str, tmp_path: Path) -> None:
    """The second run's feedback model has nothing to give: it would fail if it were asked."""

    async def work(store: Any) -> None:
        first = opened(parts(), saver=store)
        await first.begin()
        second = opened(parts(samples=[]), saver=store)
        assert (await second.look(), second.question) == ("question", None)
        await second.begin()
        assert (second.found, second.question) == ("question", first.question)
        await second.answer({**GO_ON, "replace": [{"sentence": 1, "reason": "Say why."}]})
        assert (second.record.status, second.record.usage.calls) == ("accepted", 21)
        third = opened(parts(samples=[], rewrites=[]), saver=store)
        await third.begin()
        assert (third.found, third.record, third.question) == ("finished", second.record, None)

    on(saver, tmp_path, work)


@SAVERS
def test_a_step_that_failed_is_tried_again_and_the_answer_before_it_stays(saver: str, tmp_path: Path) -> None:
    async def work(store: Any) -> None:
        first = opened(parts(rewrites=[UnreachableError("no route")]), saver=store)
        await first.begin()
        await first.answer({**GO_ON, "replace": [{"sentence": 1, "reason": "Say why."}]})
        assert first.record.status == "failed" and first.record.usage.calls == 21
        for attempt, rewrite in enumerate([UnreachableError("still none"), "better"], start=2):
            again = opened(parts(samples=[], rewrites=[rewrite]), saver=store)
            await again.begin()
            assert (again.found, again.question) == ("failed", None)
            assert again.record.usage.calls == 20 + attempt  # what the attempts before cost counts
        assert (again.record.status, reasons(again.record)[0], len(again.record.rounds)) == ("accepted", "Say why.", 1)

    on(saver, tmp_path, work)


@SAVERS
def test_a_vote_that_failed_is_drawn_anew_and_what_it_cost_counts(saver: str, tmp_path: Path) -> None:
    async def work(store: Any) -> None:
        first = opened(scripted_parts(samples=[FAULTY, UnreachableError("no route")]), saver=store)
        await first.begin()
        assert (first.record.status, first.record.usage.calls) == ("failed", 2)
        again = opened(parts(), saver=store)
        await again.begin()
        assert (again.found, again.question is not None) == ("failed", True)
        await again.answer(GO_ON)
        assert (again.record.status, again.record.usage.calls) == ("accepted", 23)

    on(saver, tmp_path, work)


@SAVERS
def test_a_run_past_its_deadline_goes_on_after_its_last_step(saver: str, tmp_path: Path) -> None:
    class Slow:
        name = "slow"

        async def refine(self, task: Any, *, meter: Any) -> str:
            await asyncio.sleep(60)
            raise AssertionError("not reached")

    async def work(store: Any) -> None:
        slow = Parts("scripted", parts().feedback_model, Slow(), parts().detectors)
        first = opened(slow, saver=store, deadline_s=0.3)
        await first.begin()
        await first.answer({**GO_ON, "drop": [1], "add": [{"sentence": 2, "reason": "Say why."}]})
        assert first.record.error is not None and first.record.error.kind == "Deadline"
        later = ReviewedRun(
            Item(**ITEM), parts=parts(samples=[]), settings=Settings(deadline_s=0.3), checkpointer=store
        )
        later.thread_id = first.thread_id  # its refiner has another name, and so the thread too
        await later.begin()
        assert (later.found, later.record.status) == ("unfinished", "accepted")
        assert reasons(later.record) == [None, "Say why."]

    on(saver, tmp_path, work)


def test_another_row_setting_or_model_is_another_thread() -> None:
    runs = [
        opened(parts()),
        opened(parts(), item={**ITEM, "answer": "Trams."}),
        opened(parts(), seed=1),
        opened(parts(), tolerance=0.1),
        opened(Parts("other", parts().feedback_model, parts().refiner, parts().detectors)),
    ]
    assert len({run.thread_id for run in runs}) == len(runs)
    assert opened(parts()).thread_id == runs[0].thread_id


_ONE_PROCESS = """
    import asyncio, os, sys
    sys.path.insert(0, sys.argv[1])
    from tests.agent.loop import BAD, FAULTY, GOOD, ITEM, ORIGINAL
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from eirene.agent.session import ReviewedRun
        from eirene.agent.settings import Settings
    from eirene.core.records import Item

    async def main(path, step):
        samples = [FAULTY] * 20 if step == "ask" else []
        parts = scripted_parts(samples=samples, rewrites=["better"], scores={ORIGINAL: BAD, "better": GOOD})
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            run = ReviewedRun(Item(**ITEM), parts=parts, settings=Settings(), checkpointer=saver)
            await run.begin()
            if step == "ask":
                os.kill(os.getpid(), 9)
            await run.answer({"action": "go on", "replace": [{"sentence": 1, "reason": "Say why."}]})
            print(run.record.to_json())

    asyncio.run(main(sys.argv[2], sys.argv[3]))
"""


@pytest.mark.slow
def test_a_process_that_was_killed_at_the_question_is_followed_by_one_that_goes_on(tmp_path: Path) -> None:
    """`kill -9`, no chance to tidy up; the second process could not draw a single critique."""
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(_ONE_PROCESS), encoding="utf-8")
    command = [sys.executable, str(script), str(Path(__file__).parents[2]), str(tmp_path / "runs.sqlite")]
    killed = subprocess.run([*command, "ask"], capture_output=True, text=True, check=False, timeout=120)
    assert killed.returncode == -9, killed.stderr
    done = subprocess.run([*command, "answer"], capture_output=True, text=True, check=False, timeout=120)
    record = Record.model_validate_json(done.stdout)
    assert (record.status, record.usage.calls, reasons(record)[0]) == ("accepted", 21, "Say why.")
