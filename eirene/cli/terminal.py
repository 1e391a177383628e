"""Terminal output: what goes to standard output and standard error, broken pipes, logging."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

_READER_GONE = 141  # what a shell shows for a program that wrote into a closed pipe


def say(line: str) -> None:
    """One line to standard error. Characters that would act on a terminal are shown instead.

    Where nobody reads it any more it is lost: no reason to end a run whose rows are paid for.
    """
    from eirene.views.facts import visible

    with contextlib.suppress(OSError):
        typer.echo(visible(line).replace("\n", " "), err=True)


def console(*, stderr: bool = False) -> Console:
    """A console that takes texts as they are: no markup, no emoji codes, no highlighting of its own."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


@contextlib.contextmanager
def output() -> Iterator[None]:
    """Around all writing to standard output: a closed pipe and Ctrl-C end the command quietly."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Whatever is still buffered would fail again when Python exits.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(_READER_GONE) from None
    except KeyboardInterrupt:
        say("stopped")
        raise typer.Exit(130) from None


def configure_streams() -> None:
    """Lets a stream that is not UTF-8 show what it cannot hold as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def log_to_stderr(*, verbose: bool) -> None:
    """Sends the log to standard error: warnings as one line each, everything with tracebacks if `verbose`."""
    root = logging.getLogger()
    for old in [h for h in root.handlers if isinstance(h, ToStderr)]:  # of an earlier run in the same process
        root.removeHandler(old)
    handler = ToStderr()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s") if verbose else _OneLine())
    root.addHandler(handler)
    logging.getLogger("eirene").setLevel(logging.DEBUG if verbose else logging.WARNING)


class ToStderr(logging.Handler):
    """Writes to what is standard error at that moment, not to what it was when the handler was made."""

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):  # nobody reads the log: no reason to stop
            sys.stderr.write(self.format(record) + "\n")


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        from eirene.views.facts import visible

        return f"{record.levelname.lower()}: {visible(record.getMessage())}".replace("\n", " ")


_MOST = 3
"""Lines of one kind that differ, such as in the name of a row."""

_WarningKind = tuple[str, object]
"""Who says it, and its wording without what is put in."""


@contextlib.contextmanager
def few_warnings() -> Iterator[None]:
    """Lets each warning through once, and of those that differ only in what is put in the first few.

    With `--verbose` everything is logged.
    """
    if logging.getLogger("eirene").isEnabledFor(logging.DEBUG):
        yield
        return
    left_out, handlers = _RepeatFilter(), [h for h in logging.getLogger().handlers if isinstance(h, ToStderr)]
    for handler in handlers:
        handler.addFilter(left_out)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(left_out)
        left_out.tell()


class _RepeatFilter(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._said: dict[_WarningKind, list[str]] = {}
        self._n: Counter[_WarningKind] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        kind = (record.name, record.msg)
        text, said = record.getMessage(), self._said.setdefault(kind, [])
        if text in said or len(said) == _MOST:
            self._n[kind] += 1
            return False
        said.append(text)
        return True

    def tell(self) -> None:
        """Says of each kind how many more there were."""
        for kind, n in self._n.items():
            say(f"warning: {n:,} more times: {self._said[kind][0]}")
