"""What is logged in worker processes and actors is said where the run was started, in its own parts."""

from __future__ import annotations

import asyncio
import functools
import logging
import pickle
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

import pytest

from eirene.agent.batch.processes import ProcessRunner
from eirene.agent.batch.runner import RowWork
from eirene.agent.batch.worker import Inherited, RowWorker, forward_logs, log_here
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.logs import get_logger
from eirene.core.records import Item, Record
from eirene.feedback_model.embedded.critic import EmbeddedFeedback
from tests.agent.batch.worker_parts import deadly

IMPROVE = Settings.of(mode="improve", max_rounds=1)


def rows(*questions: str) -> list[RowWork]:
    return [RowWork(Item(id=f"row-{n}", question=q, answer="An answer."), "") for n, q in enumerate(questions)]


@pytest.fixture
def heard() -> Iterator[SimpleQueue[logging.LogRecord]]:
    """What the package logs in this process, as another process would be told."""
    root, ours, found = logging.getLogger(), logging.getLogger("eirene"), SimpleQueue[logging.LogRecord]()
    handlers, level = root.handlers[:], ours.level
    forward_logs(logging.WARNING, found)
    yield found
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    ours.setLevel(level)


def all_of(queue: SimpleQueue[logging.LogRecord]) -> list[logging.LogRecord]:
    return [queue.get_nowait() for _ in range(queue.qsize())]


def test_a_line_of_another_process_is_said_with_its_parts(
    heard: SimpleQueue[logging.LogRecord], caplog: pytest.LogCaptureFixture
) -> None:
    """So that what differs only in what is put in can be told from what differs in kind."""
    logger = logging.getLogger("eirene.test")
    try:
        raise KeyError("x")
    except KeyError as error:
        logger.warning("row %r took %.1f s: %s", "a", 1.25, error, exc_info=True)
    logger.warning("%(n)d of them", {"n": 3})
    logger.warning("100 % sure")
    logger.info("not asked for")
    lines = [pickle.loads(pickle.dumps(record)) for record in all_of(heard)]
    caplog.clear()
    log_here(lines)
    found = [(record.msg, record.getMessage()) for record in caplog.records]
    assert found[0] == ("row %r took %.1f s: %s", "row 'a' took 1.2 s: 'x'")
    assert [message for _, message in found[1:]] == ["3 of them", "100 % sure"]
    assert "KeyError: 'x'" in (caplog.records[0].exc_text or "")


def test_a_mended_traceback_is_told_as_mended(heard: SimpleQueue[logging.LogRecord]) -> None:
    try:
        raise ValueError("half \ud800")
    except ValueError as error:
        get_logger("eirene.test").warning("failed: %s", error, exc_info=True)
    record = heard.get_nowait()
    assert record.getMessage() == "failed: half \ufffd"
    assert (record.exc_text or "").endswith("ValueError: half \ufffd")


def test_what_no_process_can_read_is_told_as_a_whole(heard: SimpleQueue[logging.LogRecord]) -> None:
    """A value that is no plain one is text; a wording that wants a number of it has been filled in."""

    class Count(int):
        pass

    logging.getLogger("eirene.test").warning("%s and %d", Path("x"), Count(2))
    assert [(record.msg, record.args) for record in all_of(heard)] == [("x and 2", ())]


def test_a_warning_of_python_is_logged_in_the_other_process(heard: SimpleQueue[logging.LogRecord]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)  # pytest has put its own in the place of what was captured
        warnings.warn("this model is old", stacklevel=1)
    record = heard.get_nowait()
    assert record.name == "py.warnings"
    assert "this model is old" in record.getMessage()


def test_warnings_of_workers_reach_the_log_of_this_process(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each once, with the wording that makes them one kind; nothing goes past the log.

    A worker that is still starting when the last row is done is let go, and says nothing: one of two has to speak.
    """
    monkeypatch.setattr(logging.getLogger(), "handlers", [caplog.handler])  # whatever an earlier test has left there

    async def collect() -> int:
        make = functools.partial(deadly, str(tmp_path / "old"))
        runner = ProcessRunner(make, IMPROVE, workers=2, chunk_rows=2)
        return len([outcome async for outcome in runner.run(rows("warn a", "b", "warn c", "warn d"))])

    assert asyncio.run(collect()) == 4
    told = [record for record in caplog.records if record.name == "tests.agent.batch.worker_parts"]
    assert {record.msg for record in told} == {"the parts are old", "the question %r is odd"}
    assert told[0].msg == "the parts are old"  # when they are made, and not with the first rows
    questions = [f"the question 'warn {c}' is odd" for c in "acd"]
    assert sorted({record.getMessage() for record in told}) == ["the parts are old", *questions]
    assert len(told) - len(questions) in (1, 2)  # no question is told twice
    assert "odd" not in capfd.readouterr().err


class Unreadable:
    """An encoder that one text brings down."""

    digest = "d"

    def encode(self, texts: Any) -> Any:
        raise ZeroDivisionError(texts)


def unprepared() -> Parts:
    return replace(deadly("no file"), feedback_model=EmbeddedFeedback(cast(Any, Unreadable())))


def test_a_text_that_cannot_be_prepared_costs_no_other_row(heard: SimpleQueue[logging.LogRecord]) -> None:
    """Its own row will say what is wrong with it."""
    worker = RowWorker(unprepared, IMPROVE, Inherited(logging.INFO, None))
    common, logged = worker.begin()
    assert (type(common), logged) == (list, [])
    made, logged = asyncio.run(worker.rows(rows("a", "b")))
    assert all(isinstance(record, Record) and record.status != "failed" for record in made)
    assert [record.args[:2] for record in logged if isinstance(record.args, tuple)] == [(2, "ZeroDivisionError")]
    assert asyncio.run(worker.rows(rows("a")))[1] == []
