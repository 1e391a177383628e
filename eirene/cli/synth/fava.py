"""`eirene synth fava`: passages with errors of known kind and place, from a corpus."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eirene.cli import flags as options
from eirene.cli.batch.flags import LimitFlags
from eirene.cli.data_flags import CorpusEncoder, CorpusFlags
from eirene.cli.flags import Without, listed, with_groups
from eirene.cli.model_flags import CallFlags
from eirene.cli.progress import watch
from eirene.cli.terminal import output, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.synth.fava.recipe import FavaRecipe, FavaTotals

Corpus = Annotated[str, typer.Argument(metavar="FILE|DIR", help="The passages, as --corpus takes them.")]
Out = Annotated[
    str,
    typer.Option(
        metavar="FILE", help="Where to write a line per row; with a backend a journal that a rerun goes on with."
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Errors by rule, without a model.")]
Backend = Annotated[str | None, typer.Option(help="Who writes the texts and puts in the errors.")]
Kinds = Annotated[
    str | None, typer.Option(help="Which kinds of error, comma-separated (default: all six; offline three).")
]
Genres = Annotated[
    str | None,
    typer.Option(help="Genres to rewrite passages into, comma-separated; none keeps them (default: the paper's ten)."),
]
Most = Annotated[int | None, typer.Option(help="Errors in a row at most (default: 5; offline 3).")]
References = Annotated[int, typer.Option(help="Passages given with a row, its own among them.")]
Clean = Annotated[float, typer.Option(help="Share of rows without an error.")]
Tries = Annotated[int, typer.Option(help="Attempts for a reply that cannot be used.")]
Limit = Annotated[int, typer.Option(help="Take the first passages only (0: all).")]
Concurrency = Annotated[int, typer.Option(help="Most model calls at once.")]
Grace = Annotated[float, typer.Option(metavar="S", help="Seconds for running rows to finish after Ctrl-C.")]


@with_groups()
def fava(
    corpus: Corpus,
    *,
    out: Out,
    offline: Offline = False,
    backend: Backend = None,
    kinds: Kinds = None,
    genres: Genres = None,
    most: Most = None,
    references: References = 5,
    clean: Clean = 0.1,
    tries: Tries = 2,
    limit: Limit = 0,
    corpus_encoder: CorpusEncoder = "embedded",
    concurrency: Concurrency = 8,
    grace: Grace = 30.0,
    limit_flags: Annotated[LimitFlags, Without("deadline")],
    seed: options.Seed = 0,
    force: options.Force = False,
    calls: Annotated[CallFlags, Without("prompts")],
    config: options.Config = None,
) -> None:
    """Passages with errors of known kind and place, and references to check them against."""
    with output():
        from eirene.core.critique import HALLUCINATIONS
        from eirene.synth.fava.recipe import GENRES, FavaRecipe, FavaTotals
        from eirene.synth.fava.rules import OFFLINE

        if offline == (backend is not None):
            raise InputError(
                "name the model that writes with --backend provider:model or hf:..., or add --offline for errors by "
                "rule (one of them)", field="offline",
            )  # fmt: skip
        for name, value, least in (("limit", limit, 0), ("concurrency", concurrency, 1)):
            if value < least:
                raise InputError(f"{name} must be at least {least}, got {value}", field=name)
        wanted: Any = listed(kinds) or (OFFLINE if offline else HALLUCINATIONS)
        recipe = FavaRecipe(
            kinds=wanted, most=most if most is not None else 3 if offline else 5, references=references, clean=clean,
            seed=seed, genres=GENRES if genres is None else () if genres == "none" else listed(genres), tries=tries,
        )  # fmt: skip
        limits, made = limit_flags.limits(), FavaTotals()
        check_apart(out, corpus)
        if backend is None:
            _by_rule(corpus, recipe, made, out, limit=limit, encoder=corpus_encoder, force=force)
        else:
            from eirene.cli.synth.fava_model import Order, by_model

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


def _by_rule(
    corpus: str, recipe: FavaRecipe, made: FavaTotals, out: str, *, limit: int, encoder: str, force: bool
) -> None:
    from eirene.data.output import check_output, line_writer
    from eirene.synth.fava import entities, neighbours_by, passages_of, synthesise

    check_output(out, force=force)
    flags = CorpusFlags(corpus_encoder=encoder, passages=recipe.references)
    pool = entities(p.text for p in passages_of(corpus, limit))
    rows = synthesise(
        passages_of(corpus, limit), recipe, made, pool=pool,
        neighbours=neighbours_by(lambda: flags.retriever(corpus), references=recipe.references),
    )  # fmt: skip
    with watch(0) as progress, line_writer(out, force=force) as write:
        for n, item in enumerate(rows, start=1):
            row = {key: value for key, value in item.model_dump(mode="json").items() if value is not None}
            write(json.dumps(row, ensure_ascii=False, allow_nan=False))
            progress.count(n, "making rows")
    for line in made.told():
        say(line)
