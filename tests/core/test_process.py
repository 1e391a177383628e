"""SIGTERM and SIGHUP do what Ctrl-C does; settings of the interpreter are put back."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator

import pytest

from eirene.core.process import acting_as_ctrl_c, settings_for_loading, settings_for_rows, stop_signals


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("in_background", [False, True])
def test_they_interrupt_and_the_handlers_of_before_are_back(number: signal.Signals, in_background: bool) -> None:
    """Also where a shell has Ctrl-C ignored, as it does for what it starts in the background."""
    if in_background:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt), acting_as_ctrl_c():
        signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_what_handles_ctrl_c_at_the_moment_hears_them() -> None:
    heard: list[int] = []
    with acting_as_ctrl_c():
        signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
        signal.raise_signal(signal.SIGTERM)
    assert heard == [signal.SIGINT]


def test_what_is_ignored_stays_ignored() -> None:
    """As `nohup` wants it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with acting_as_ctrl_c():
        assert signal.SIGHUP not in stop_signals()
        signal.raise_signal(signal.SIGHUP)


def test_settings_are_put_back_after_an_error_too() -> None:
    """And what the process around has frozen stays so."""
    before, interval = gc.get_threshold(), sys.getswitchinterval()
    held = gc.get_freeze_count()
    assert held > 0  # as the tests' own start leaves it
    for settings in (settings_for_rows, settings_for_loading):
        with pytest.raises(RuntimeError), settings():
            assert gc.get_threshold()[0] > before[0]
            assert gc.get_freeze_count() == held
            raise RuntimeError("a row")
        assert (gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()) == (before, interval, held)
    gc.unfreeze()
    try:
        with settings_for_rows():
            assert gc.get_freeze_count() > 0
        assert gc.get_freeze_count() == 0
    finally:
        gc.freeze()
