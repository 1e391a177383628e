"""What is logged where rows are made is said where they are asked for, once for all workers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

_OURS = "eirene"
_FORMAT = logging.Formatter()


@dataclass(frozen=True, slots=True)
class Said:
    """A line of a log that can be sent to another process: its wording and what is put in are kept apart."""

    name: str
    level: int
    wording: str
    values: tuple[object, ...]
    traceback: str | None


def level_here() -> int:
    """From which level on this process wants to hear of the package."""
    return logging.getLogger(_OURS).getEffectiveLevel()


def listen(level: int, tell: Callable[[Said], None]) -> None:
    """From here on, what this process logs goes to `tell`, from any of its threads; of the package from `level` on."""
    logging.getLogger().addHandler(_Listener(tell))
    logging.getLogger(_OURS).setLevel(level)


def say(said: Said) -> None:
    """Logs it as if it had been said in this process."""
    logger = logging.getLogger(said.name)
    if logger.isEnabledFor(said.level):
        record = logger.makeRecord(said.name, said.level, "", 0, said.wording, said.values, None)
        record.exc_text = said.traceback
        logger.handle(record)


class _Listener(logging.Handler):
    def __init__(self, tell: Callable[[Said], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        wording, values = _parts(record)
        traceback = record.exc_text or (_FORMAT.formatException(record.exc_info) if record.exc_info else None)
        with suppress(OSError):  # nobody hears it any more
            self._tell(Said(record.name, record.levelno, wording, values, traceback))


def _parts(record: logging.LogRecord) -> tuple[str, tuple[object, ...]]:
    """The wording and plain values, which any process can read; the whole line where it cannot be had in parts."""
    if isinstance(record.msg, str) and isinstance(record.args, tuple):
        values = tuple(v if type(v) in (str, int, float) else str(v) for v in record.args)
        with suppress(TypeError, ValueError):
            if not values or record.msg % values:
                return record.msg, values
    return record.getMessage(), ()
