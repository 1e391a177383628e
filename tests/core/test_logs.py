"""The loggers of the library: what they say can be written to any UTF-8 log."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from eirene.core.logs import get_logger
from tests.rows import each

ROOT = Path(__file__).parents[2] / "eirene"
HALF = "half \ud800"


class Unreadable:
    """A value with a fault of its own."""

    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log file of UTF-8, which fails the test where a line does not fit in."""
    return tmp_path / "log.txt"


def written(log: Path, say: object) -> str:
    assert callable(say)
    logger, handler = get_logger("eirene.test_logs"), logging.FileHandler(log, encoding="utf-8")
    logger.addHandler(handler)
    try:
        say(logger)
    finally:
        logger.removeHandler(handler)
        handler.close()
    return log.read_text("utf-8")


def test_a_half_pair_is_mended_in_message_and_values(log: Path) -> None:
    text = written(log, lambda logger: logger.warning(f"{HALF}: 50%% of %s and %d", ValueError(HALF), 3))
    assert text == "half \ufffd: 50% of half \ufffd and 3\n"


def test_a_half_pair_is_mended_in_a_traceback_with_all_that_the_error_came_from(log: Path) -> None:
    def say(logger: logging.Logger) -> None:
        try:
            raise ValueError(HALF) from KeyError(HALF)
        except ValueError as error:
            error.add_note(HALF)
            logger.warning("failed", exc_info=True)

    text = written(log, say)
    assert "ValueError: half \ufffd\nhalf \ufffd\n" in text
    assert "KeyError" in text


def test_a_line_that_is_whole_stays_in_its_parts(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise ValueError("ä 😀")
    except ValueError as error:
        get_logger("eirene.test_logs").warning("%s and %d", error, 2, exc_info=True)
    record = caplog.records[-1]
    assert record.msg == "%s and %d"
    assert isinstance(record.args, tuple)
    assert isinstance(record.args[0], ValueError)
    assert record.getMessage() == "ä 😀 and 2"


@each("say", [("%d", "x"), ("%s", Unreadable())])
def test_a_line_that_cannot_be_put_together_raises_nowhere_but_in_a_handler(say: tuple[str, object]) -> None:
    logger, got = get_logger("eirene.test_logs"), list[logging.LogRecord]()

    class Keeps(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            got.append(record)

    handler = Keeps()
    logger.addHandler(handler)
    logger.propagate = False
    try:
        logger.warning(*say)
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
    assert [r.msg for r in got] == [say[0]]


def test_a_logger_mends_once_however_often_it_is_asked_for() -> None:
    assert len(get_logger("eirene.test_logs").filters) == len(get_logger("eirene.test_logs").filters) == 1


def test_no_module_has_a_logger_of_another_kind() -> None:
    """All are made with `get_logger`, but for the package's own."""
    own = [path for path in ROOT.rglob("*.py") if "logging.getLogger(__name__)" in path.read_text("utf-8")]
    assert own == [ROOT / "__init__.py"]
