"""What a training shows on standard error, and what Ctrl-C does to it."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer

from eirene.cli.terminal import say
from eirene.core.errors import TrainingStoppedError

if TYPE_CHECKING:
    from rich.progress import Progress

    from eirene.models.training import Step

_SAY_EVERY = 25  # steps between two lines where no terminal shows a bar
_STOPPED = 130


class Steps:
    """Shows each step: as a bar on a terminal, else as a line now and then."""

    def __init__(self) -> None:
        self._bar: Progress | None = None

    def __enter__(self) -> Steps:
        if sys.stderr.isatty():
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            from eirene.cli.terminal import console

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=20),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
            )
            self._bar = Progress(*columns, console=console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("preparing", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Takes the bar off the terminal, before something is said."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def show(self, text: str, step: int, steps: int) -> None:
        """Shows one step of `steps`."""
        if self._bar is not None:
            self._bar.update(self._task, total=steps, completed=step, description=text)
        elif step % _SAY_EVERY == 0 or step in (1, steps):
            say(text)


class Training:
    """Around one training: shows its steps, and ends it with what was done on disk.

    The first Ctrl-C lets the step end and a checkpoint be written, a second one stops at once; both end the command
    with 130. Before the first step there is nothing to keep, and one Ctrl-C stops at once.
    """

    def __init__(self) -> None:
        self._steps = Steps()
        self._has_begun = False
        self._is_asked = False
        self._before: Any = None

    def __enter__(self) -> Training:
        self._steps.__enter__()
        if threading.current_thread() is threading.main_thread():  # nobody else may set a handler
            self._before = signal.signal(signal.SIGINT, self._asked)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._steps.__exit__()
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if isinstance(error, TrainingStoppedError):
            say(str(error))
            raise typer.Exit(_STOPPED) from None

    def told(self, step: Step) -> None:
        """Shows one step."""
        self._has_begun = True
        accuracy = "" if step.accuracy is None else f", accuracy {step.accuracy:.2f}"
        self._steps.show(f"step {step.step} of {step.steps}, loss {step.loss:.3f}{accuracy}", step.step, step.steps)
        if step.step == step.steps:
            self._steps.close()

    def should_stop(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._is_asked

    def _asked(self, _: int, __: FrameType | None) -> None:
        if self._is_asked or not self._has_begun:
            raise KeyboardInterrupt
        self._is_asked = True
        say("stopping after this step; Ctrl-C again stops at once")
