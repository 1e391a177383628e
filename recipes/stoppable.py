"""A training at the command line: shows its steps, and ends it by Ctrl-C with what was done on disk."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from types import FrameType
from typing import Any, Self

import typer

from eirene.cli.progress import Watch, watch
from eirene.cli.terminal import output, say
from recipes.train.run import TrainingStoppedError

_SAY_EVERY = 25  # steps between two lines where no terminal shows a bar
_STOPPED = 130


class Stoppable:
    """Around one training: shows its steps, and ends it with what was done on disk.

    The first Ctrl-C lets the step end and a checkpoint be written, a second one stops at once; both end the command
    with 130. Before the first step there is nothing to keep, and one Ctrl-C stops at once.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._bar: Watch
        self._has_begun = False
        self._is_asked = False
        self._before: Any = None

    def __enter__(self) -> Self:
        self._stack.enter_context(output())
        self._bar = self._stack.enter_context(watch(0, "preparing"))
        if threading.current_thread() is threading.main_thread():  # nobody else may set a handler
            self._before = signal.signal(signal.SIGINT, self._on_ctrl_c)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        self._bar.close()
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        self._stack.__exit__(kind, error, trace)
        if isinstance(error, TrainingStoppedError):
            say(str(error))
            raise typer.Exit(_STOPPED) from None

    def should_stop(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._is_asked

    def show(self, text: str, done: int, total: int, *, is_step: bool = True) -> None:
        """Shows how far it is, as a bar on a terminal, else as a line now and then; a step done is kept by Ctrl-C."""
        self._has_begun |= is_step
        if self._bar.is_shown:
            self._bar.update(text, done=done, total=total)
        elif done % _SAY_EVERY == 0 or done in (1, total):
            say(text)

    def _on_ctrl_c(self, _: int, __: FrameType | None) -> None:
        if self._is_asked or not self._has_begun:
            raise KeyboardInterrupt
        self._is_asked = True
        say("stopping after this step; Ctrl-C again stops at once")
