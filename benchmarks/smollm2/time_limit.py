"""A time limit for a training: it stops at a checkpoint, says so in a line, and the same command goes on there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from eirene.core.errors import TrainingStoppedError


@contextmanager
def time_limit(minutes: float) -> Iterator[Callable[[], bool]]:
    """Whether the time is over, for `should_stop`; a training that stopped for it ends the command with one line."""
    end = time.monotonic() + 60 * minutes
    try:
        yield lambda: time.monotonic() > end
    except TrainingStoppedError as error:
        raise SystemExit(f"{minutes:g} minutes are over: {error}") from None
