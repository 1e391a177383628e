"""The output folder of a comparison or an evaluation: rows that a rerun resumes, figures that are written anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from eirene.cli.terminal import say
from eirene.core.errors import AuthError, InputError, MissingExtraError

_ROWS = "rows.jsonl"
_MADE = ("summary.json", "table.md", "report.html", *(
    f"{name}.{ending}" for name in ("differences", "before-after", "cost-gain", "roc", "precision-recall")
    for ending in ("png", "svg")
))  # fmt: skip


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


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Around the making of rows: Ctrl-C ends the command with 130, and a key that is not accepted with 2."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped: what is done is in {folder}; run the same command again to resume")
        raise typer.Exit(130) from None
    except AuthError as error:  # bad usage, to be mended before anything else
        say(f"error: {error}")
        raise typer.Exit(2) from None


def write_results(
    folder: Path, summary: Mapping[str, Any], texts: Mapping[str, str], plot: Callable[[], object] | None
) -> None:
    """The figures as JSON, what shows them, and their plots, where the packages for these are there."""
    from eirene.data.output import write_text

    figures = json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
    for name, text in {"summary.json": figures, **texts}.items():
        write_text(str(folder / name), text, force=True)
    if plot is not None:
        try:
            plot()
        except MissingExtraError as error:
            say(f"no plots: {error}")


def tell_rows(made: str, n: int, *, before: int, left_out: int, failed: int, see: str) -> None:
    """How many rows there are, and what became of the others."""
    known = f", {before} of them there before" if before else ""
    more = f"; {left_out} other rows in the folder are left out" if left_out else ""
    bad = f"; {failed} failed (--retry-failed does them again)" if failed else ""
    say(f"{made} {n} rows{known}{more}{bad}; see {see}")
