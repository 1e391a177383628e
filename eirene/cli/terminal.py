"""What a command writes: standard output and standard error, the log, and a folder of results that a rerun resumes."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from eirene.core.errors import AuthError, InputError

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


@contextlib.contextmanager
def few_warnings() -> Iterator[None]:
    """Lets each warning through once, and of those that differ only in what is put in the first few.

    How many more there were is said at the end. With `--verbose` everything is logged.
    """
    said: dict[tuple[str, object], list[str]] = {}  # by who says it, and its wording without what is put in
    more: Counter[tuple[str, object]] = Counter()

    def is_new(record: logging.LogRecord) -> bool:
        kind, text = (record.name, record.msg), record.getMessage()
        before = said.setdefault(kind, [])
        if text in before or len(before) == _MOST:
            more[kind] += 1
            return False
        before.append(text)
        return True

    is_verbose = logging.getLogger("eirene").isEnabledFor(logging.DEBUG)
    handlers = [h for h in logging.getLogger().handlers if isinstance(h, ToStderr) and not is_verbose]
    for handler in handlers:
        handler.addFilter(is_new)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(is_new)
        for kind, n in more.items():
            say(f"warning: {n:,} more times: {said[kind][0]}")


_ROWS = "rows.jsonl"
_MADE = ("summary.json", "table.md", "report.html", "curves.json")


def results_folder(out: str) -> Path:
    """The folder for results, made where there is none.

    Raises `InputError` for one with a file of the user's that figures would be written over. An earlier run's
    has its rows beside.
    """
    from eirene.data.output import make_folder, unusable_folder

    folder = make_folder(out)
    try:
        taken = next((name for name in _MADE if (folder / name).exists()), None)
        is_of_a_run = (folder / _ROWS).is_file() and (folder / _ROWS).stat().st_size > 0
    except OSError as error:
        raise unusable_folder(out, error) from None
    if taken is not None and not is_of_a_run:
        raise InputError(f"has a {taken} that is of no earlier run (no {_ROWS}); name another folder", where=out)
    return folder


@contextlib.contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Around the making of rows: Ctrl-C ends the command with 130, and a key that is not accepted with 2.

    A folder that is made meanwhile and stays empty is taken away again; none that was there before.
    """
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped: what is done is in {folder}; run the same command again to resume")
        raise typer.Exit(130) from None
    except AuthError as error:  # bad usage, to be mended before anything else
        say(f"error: {error}")
        raise typer.Exit(2) from None
    finally:
        for place in [*(Path(at) for at, _, _ in os.walk(folder, topdown=False)), *new[1:]] if new else []:
            with contextlib.suppress(OSError):  # it holds something
                place.rmdir()


def write_results(folder: Path, summary: Mapping[str, Any], texts: Mapping[str, str]) -> None:
    """The figures as JSON, and what shows them."""
    from eirene.data.output import write_text

    figures = json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    for name, text in {"summary.json": figures, **texts}.items():
        write_text(str(folder / name), text, force=True)


def tell_rows(made: str, n: int, *, before: int, left_out: int, failed: int, see: str) -> None:
    """How many rows there are, and what became of the others."""
    known = f", {before} of them there before" if before else ""
    more = f"; {left_out} other rows in the folder are left out" if left_out else ""
    bad = f"; {failed} failed (--retry-failed does them again)" if failed else ""
    say(f"{made} {n} rows{known}{more}{bad}; see {see}")
