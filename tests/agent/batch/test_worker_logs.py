"""What is logged in worker processes and actors is said where the run was started, in its own parts."""

from __future__ import annotations

import asyncio
import functools
import logging
import pickle
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from eirene.agent.batch.processes import ProcessRunner
from eirene.agent.batch.ray_cluster import RowActor
from eirene.agent.batch.runner import RowWork
from eirene.agent.batch.worker import Reply, Said, _Sender, listen, say
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.logs import get_logger
from eirene.core.records import Item, Record
from eirene.feedback_model.embedded.critic import EmbeddedFeedback
from tests.agent.batch.worker_parts import deadly

SAID = Said("eirene.test", logging.WARNING, "so", (), None)
IMPROVE = Settings.of(mode="improve", max_rounds=1)


def rows(*questions: str) -> list[RowWork]:
    return [RowWork(Item(id=f"row-{n}", question=q, answer="An answer."), "") for n, q in enumerate(questions)]


@pytest.fixture
def heard() -> Iterator[list[Said]]:
    """What the package logs in this process, as another process would be told."""
    root, ours, found = logging.getLogger(), logging.getLogger("eirene"), list[Said]()
    handlers, level = root.handlers[:], ours.level
    listen(logging.WARNING, found.append)
    yield found
    root.handlers[:], ours.level = handlers, level
    ours.setLevel(level)


def test_a_line_of_another_process_is_said_with_its_parts(heard: list[Said], caplog: pytest.LogCaptureFixture) -> None:
    """So that what differs only in what is put in can be told from what differs in kind."""
    logger = logging.getLogger("eirene.test")
    try:
        raise KeyError("x")
    except KeyError as error:
        logger.warning("row %r took %.1f s: %s", "a", 1.25, error, exc_info=True)
    logger.warning("%(n)d of them", {"n": 3})
    logger.warning("100 % sure")
    logger.info("not asked for")
    lines = [pickle.loads(pickle.dumps(said)) for said in heard]
    caplog.clear()
    for said in lines:
        say(said)
    found = [(record.msg, record.getMessage()) for record in caplog.records]
    assert found[0] == ("row %r took %.1f s: %s", "row 'a' took 1.2 s: 'x'")
    assert [message for _, message in found[1:]] == ["3 of them", "100 % sure"]
    assert "KeyError: 'x'" in (caplog.records[0].exc_text or "")


def test_a_mended_traceback_is_told_as_mended(heard: list[Said]) -> None:
    try:
        raise ValueError("half \ud800")
    except ValueError as error:
        get_logger("eirene.test").warning("failed: %s", error, exc_info=True)
    assert heard[0].wording == "failed: half \ufffd"
    assert (heard[0].traceback or "").endswith("ValueError: half \ufffd")


def test_what_no_process_can_read_is_told_as_a_whole(heard: list[Said]) -> None:
    """A value that is no plain one is text; a wording that wants a number of it has been filled in."""

    class Count(int):
        pass

    logging.getLogger("eirene.test").warning("%s and %d", Path("x"), Count(2))
    assert heard == [Said("eirene.test", logging.WARNING, "x and 2", (), None)]


def test_warnings_of_workers_reach_the_log_of_this_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each once, with the wording that makes them one kind; nothing goes past the log."""

    async def collect() -> int:
        make = functools.partial(deadly, str(tmp_path / "seen"))
        runner = ProcessRunner(make, IMPROVE, workers=2, chunk_rows=2)
        return len([outcome async for outcome in runner.run(rows("warn a", "b", "warn c", "warn d"))])

    assert asyncio.run(collect()) == 4
    told = [record for record in caplog.records if record.name == "tests.agent.batch.worker_parts"]
    assert {record.msg for record in told} == {"the question %r is odd"}
    assert sorted(record.getMessage() for record in told) == [f"the question 'warn {c}' is odd" for c in "acd"]
    assert "odd" not in capfd.readouterr().err


class Unreadable:
    """An encoder that one text brings down."""

    digest = "d"

    def encode(self, texts: Any) -> Any:
        raise ZeroDivisionError(texts)


def unprepared() -> Parts:
    return replace(deadly("no file"), feedback_model=EmbeddedFeedback(cast(Any, Unreadable())))


def test_a_text_that_cannot_be_prepared_costs_no_other_row(heard: list[Said]) -> None:
    """Its own row will say what is wrong with it."""
    actor = RowActor(unprepared, IMPROVE, logging.INFO)
    assert isinstance(actor.begin(), list)
    made, said = asyncio.run(actor.rows(rows("a", "b")))
    assert all(isinstance(record, Record) and record.status != "failed" for record in made)
    assert [line.values[:2] for line in said] == [(2, "ZeroDivisionError")]
    assert asyncio.run(actor.rows(rows("a")))[1] == []


def test_a_line_that_is_logged_while_a_reply_is_sent_goes_after_it() -> None:
    """By the same thread, as what the collector finds may, and by another that holds the log's own lock."""
    sent: list[Reply] = []

    class Pipe:
        def send(self, reply: Reply) -> None:
            if reply[0] == "record":
                sender.say(SAID)
                other = threading.Thread(target=sender.say, args=(SAID,))
                other.start()
                other.join(5)
                assert not other.is_alive()
            sent.append(reply)

    sender = _Sender(cast(Any, Pipe()))
    sender.send(("record", None))
    sender.say(SAID)
    assert [kind for kind, _ in sent] == ["record", "said", "said", "said"]
