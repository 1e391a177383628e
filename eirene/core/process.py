"""The process: stop signals, and settings of the interpreter while many rows are made.

Stop signals are Ctrl-C (SIGINT), SIGTERM, and SIGHUP of a terminal that was closed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

_YOUNG = 20_000
"""New objects before a collection. Python's own 700 are reached several times a row, and few of them are garbage that
needs it: reference counts free the rest."""
_YOUNG_WHILE_LOADING = 100_000
"""The same for a short command, which mostly imports."""


@contextlib.contextmanager
def settings_for_rows() -> Iterator[None]:
    """Settings for a batch or a server: garbage is collected seldom, and busy threads yield soon.

    What there is (libraries, models, a file's rows) is collected once and then left alone, unless the process around
    has frozen objects of its own. The event loop releases the
    GIL with every write to a socket; other threads give it back within half a millisecond, rather than five.
    """
    before, is_frozen = sys.getswitchinterval(), gc.get_freeze_count() > 0
    if not is_frozen:
        gc.collect()
        gc.freeze()
    sys.setswitchinterval(0.0005)
    try:
        with _collecting_after(_YOUNG):
            yield
    finally:
        sys.setswitchinterval(before)
        if not is_frozen:
            gc.unfreeze()


@contextlib.contextmanager
def settings_for_loading() -> Iterator[None]:
    """Settings for a short command: garbage is collected seldom, as what is imported stays."""
    with _collecting_after(_YOUNG_WHILE_LOADING):
        yield


@contextlib.contextmanager
def _collecting_after(young: int) -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(young, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def stop_signals() -> tuple[signal.Signals, ...]:
    """SIGINT, SIGTERM and SIGHUP, as far as the system has them; without SIGHUP where `nohup` ignores it."""
    named = ("SIGINT", "SIGTERM", "SIGHUP")
    found = [getattr(signal, name) for name in named if hasattr(signal, name)]
    return tuple(n for n in found if n.name != "SIGHUP" or signal.getsignal(n) != signal.SIG_IGN)


@contextlib.contextmanager
def acting_as_ctrl_c() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP do what Ctrl-C does at that moment. Does nothing outside the main thread.

    Output to a terminal that hung up is dropped, and raises no error.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    outputs = Terminals()

    def interrupt(number: int, _: FrameType | None) -> None:
        outputs.lost(number)
        if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell starts what runs in the background
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    handled = [number for number in stop_signals() if number != signal.SIGINT]
    before = {number: signal.signal(number, interrupt) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Terminals:
    """Which of standard output and standard error are terminals, noted now: a terminal that hung up cannot tell."""

    def __init__(self) -> None:
        self._numbers = [number for number in (1, 2) if os.isatty(number)]

    def lost(self, number: int) -> None:
        """If the signal is SIGHUP, redirects output to terminals to the null device."""
        if number != getattr(signal, "SIGHUP", None):
            return
        with contextlib.suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for output in self._numbers:
                os.dup2(nowhere, output)
            os.close(nowhere)
