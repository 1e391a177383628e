"""`python -m recipes.fava`: FAVA's synthetic data from a corpus, by any model; `recipes.fava.by_rule` needs none.

python -m recipes.fava examples/corpus --backend openai:gpt-4o-mini --out rows.jsonl --max-cost 5
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from eirene.cli import flags
from eirene.cli.app import run_app
from eirene.cli.batch.flags import LimitFlags
from eirene.cli.data_flags import CorpusEncoder
from eirene.cli.flags import Command, Without, listed, with_groups
from eirene.cli.model_flags import CallFlags
from eirene.cli.terminal import output
from eirene.core.errors import InputError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

Corpus = Annotated[str, typer.Argument(metavar="FILE|DIR", help="The passages, as --corpus takes them.")]
FavaOut = Annotated[str, typer.Option(metavar="FILE", help="The journal, a line per row; a rerun goes on with it.")]
Backend = Annotated[str, typer.Option(help="Who writes the texts and puts in the errors: provider:model, or hf:...")]
FavaKinds = Annotated[str | None, typer.Option(help="Which kinds of error, comma-separated (default: all six).")]
Genres = Annotated[
    str | None,
    typer.Option(help="Genres to rewrite passages into, comma-separated; none keeps them (default: the paper's ten)."),
]
FavaMost = Annotated[int, typer.Option(help="Errors in a row at most.")]
References = Annotated[int, typer.Option(help="Passages given with a row, its own among them.")]
Clean = Annotated[float, typer.Option(help="Share of rows without an error.")]
Tries = Annotated[int, typer.Option(help="Attempts for a reply that cannot be used.")]
Limit = Annotated[int, typer.Option(help="Take the first passages only (0: all).")]
Concurrency = Annotated[int, typer.Option(help="Most model calls at once.")]
Grace = Annotated[float, typer.Option(metavar="S", help="Seconds for running rows to finish after Ctrl-C.")]


@app.command(cls=Command)
@with_groups()
def fava(
    corpus: Corpus,
    *,
    out: FavaOut,
    backend: Backend,
    kinds: FavaKinds = None,
    genres: Genres = None,
    most: FavaMost = 5,
    references: References = 5,
    clean: Clean = 0.1,
    tries: Tries = 2,
    limit: Limit = 0,
    corpus_encoder: CorpusEncoder = "embedded",
    concurrency: Concurrency = 8,
    grace: Grace = 30.0,
    limit_flags: Annotated[LimitFlags, Without("deadline")],
    seed: flags.Seed = 0,
    force: flags.Force = False,
    calls: Annotated[CallFlags, Without("prompts")],
    config: flags.Config = None,
) -> None:
    """Passages with errors of known kind and place, and references to check them against."""
    with output():
        from eirene.core.critique import HALLUCINATIONS
        from recipes.fava.journal import Order, by_model
        from recipes.fava.recipe import GENRES, FavaRecipe, FavaTotals

        for name, value, least in (("limit", limit, 0), ("concurrency", concurrency, 1)):
            if value < least:
                raise InputError(f"{name} must be at least {least}, got {value}", field=name)
        wanted: Any = listed(kinds) or HALLUCINATIONS
        recipe = FavaRecipe(
            kinds=wanted, most=most, references=references, clean=clean, seed=seed, tries=tries,
            genres=GENRES if genres is None else () if genres == "none" else listed(genres),
        )  # fmt: skip
        limits, made = limit_flags.limits(), FavaTotals()
        check_apart(out, corpus)
        order = Order(corpus, out, limit, corpus_encoder, concurrency, grace, limits, force=force)
        by_model(order, recipe, made, backend=backend, calls=calls)
    if not made.rows or made.failed:
        raise typer.Exit(1)


def check_apart(out: str, corpus: str) -> None:
    """Raises `InputError` where what is written would be written over, or among, the passages."""
    from pathlib import Path

    from eirene.data.output import STDOUT
    from eirene.retrieval.passages import corpus_files

    files, target = corpus_files(corpus), Path(out).resolve()
    if out == STDOUT:
        return
    if any(target == file.resolve() for file in files):
        raise InputError("holds the passages; name another file for --out", where=out)
    if Path(corpus).is_dir() and Path(corpus).resolve() in target.parents:
        raise InputError("would be among the passages; name a place outside of the corpus for --out", where=out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes rows as `arguments` (default: those of the process) say, and returns the exit code."""
    return run_app(app, arguments, name="python -m recipes.fava")


if __name__ == "__main__":
    sys.exit(main())
