"""Ctrl-C on a batch: the first finishes rows in flight, the second stops at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from eirene.agent.batch.control import Control
from eirene.cli.terminal import say
from eirene.core.stop_signals import Terminals, stop_signals


@dataclass(slots=True)
class Stop:
    """What the user did."""

    control: Control
    by_user: bool = False


@contextmanager
def stoppable(*, grace_s: float, under_way: Callable[[], int]) -> Iterator[Stop]:
    """A control that Ctrl-C, SIGTERM and SIGHUP reach, inside a running event loop."""
    stop, outputs = Stop(Control(grace_s=grace_s)), Terminals()

    def told(number: int) -> None:
        outputs.lost(number)
        if stop.by_user:
            stop.control.stop_now("by the user")
            return
        stop.by_user = True
        stop.control.stop("by the user")
        say(f"stopping: {under_way()} rows under way have {grace_s:g} s to end; Ctrl-C again gives them up")

    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in stop_signals()}
    with suppress(NotImplementedError):  # Windows: Ctrl-C is a KeyboardInterrupt there
        for number in before:
            loop.add_signal_handler(number, told, number)
    try:
        yield stop
    finally:
        with suppress(NotImplementedError):
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)  # which the loop has forgotten
