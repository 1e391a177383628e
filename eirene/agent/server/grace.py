"""Graceful shutdown with a bound: seconds for what is in flight, and an end of the process that waits for nothing."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

from eirene.core.stop_signals import Terminals, stop_signals

_MARGIN_S = 2.0
"""Seconds beyond the grace for cancelled work to end, before the process ends without it."""


class Grace:
    """Counts from the first signal. `seconds` may be infinity: then what is in flight is waited for to its end."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: float | None = None

    def begin(self) -> None:
        """From now on time runs out; a second call changes nothing."""
        if self._until is None:
            self._until = time.monotonic() + self._seconds

    @property
    def left_s(self) -> float | None:
        """Seconds that are left, all of them where nothing has begun; None for no bound."""
        left = self._seconds if self._until is None else max(0.0, self._until - time.monotonic())
        return left if math.isfinite(left) else None


def end_process_within(seconds: float, code: int, *, unless: threading.Event | None = None) -> None:
    """Ends the process with this code when the time is up, whatever its threads are at; not where `unless` is set."""
    ended = threading.Event() if unless is None else unless

    def end() -> None:
        if not ended.wait(seconds):
            os._exit(code)  # the streams may be locked by a thread that hangs; what was written to stderr is out

    threading.Thread(target=end, name="eirene-end", daemon=True).start()


class StopSignals:
    """SIGINT, SIGTERM and SIGHUP in a server: the first begins the grace and calls `stop`, then all act by default.

    So a second one ends the process at once, by the operating system: no code of ours has to have its turn.
    """

    def __init__(self, grace: Grace, stop: Callable[[], None]) -> None:
        self._grace, self._stop = grace, stop
        self._first: int | None = None
        self._asked, self._ended = threading.Event(), threading.Event()
        # It waits from the start: a handler must not begin a thread, since what it interrupts may just be doing that.
        threading.Thread(target=self._watch, name="eirene-grace", daemon=True).start()
        self._outputs = Terminals()
        self._before = {number: signal.signal(number, self._handle) for number in stop_signals()}

    @property
    def exit_code(self) -> int:
        """130 after SIGINT, else 0."""
        return 130 if self._first == signal.SIGINT else 0

    def restore(self) -> None:
        """Puts back the handlers that were there before; the grace ends nothing any more."""
        self._ended.set()
        self._asked.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._outputs.lost(number)
        self._first = number
        self._grace.begin()
        self._stop()
        self._asked.set()
        for known in self._before:
            signal.signal(known, signal.SIG_DFL)

    def _watch(self) -> None:
        self._asked.wait()
        left_s = self._grace.left_s
        if left_s is not None:
            end_process_within(left_s + _MARGIN_S, self.exit_code, unless=self._ended)
