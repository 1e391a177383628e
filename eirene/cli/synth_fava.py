"""`eirene synth fava`: passages with errors whose kind and place are known, from a corpus."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eirene.cli import options
from eirene.cli.progress import watch
from eirene.cli.terminal import output, say
from eirene.errors import InputError

if TYPE_CHECKING:
    from eirene.retrieval.passages import Passage
    from eirene.synth.fava.run import Neighbours

Corpus = Annotated[str, typer.Argument(metavar="FILE|DIR", help="The passages, as --corpus takes them.")]
Out = Annotated[str, typer.Option(metavar="FILE", help="Where to write a line per row; - is standard output.")]
Offline = Annotated[bool, typer.Option("--offline", help="Errors by rule, without a model.")]
Kinds = Annotated[str, typer.Option(help="Which kinds of error, with commas between.")]
Most = Annotated[int, typer.Option(help="Errors in a row at most.")]
References = Annotated[int, typer.Option(help="Passages given with a row, its own among them.")]
Clean = Annotated[float, typer.Option(help="Share of rows without an error.")]


def fava(
    corpus: Corpus,
    *,
    out: Out,
    offline: Offline = False,
    kinds: Kinds = "entity,relation,subjective",
    most: Most = 3,
    references: References = 5,
    clean: Clean = 0.1,
    seed: options.Seed = 0,
    force: options.Force = False,
    config: options.Config = None,
) -> None:
    """Passages with errors of known kind and place, and the references that tell."""
    with output():
        from eirene.output import check_output, line_writer
        from eirene.retrieval import read_corpus
        from eirene.synth.fava import Made, Recipe, synthesise

        if not offline:
            raise InputError("errors are made by rule so far: add --offline", field="offline")
        chosen: Any = tuple(kind.strip() for kind in kinds.split(",") if kind.strip())
        recipe = Recipe(chosen, most, references, clean, seed)
        check_output(out, force=force)
        passages, made = list(read_corpus(corpus)), Made()
        with watch(0) as progress, line_writer(out, force=force) as write:
            rows = synthesise(passages, recipe, made, neighbours=_nearest(passages, references - 1))
            for n, item in enumerate(rows, start=1):
                row = {key: value for key, value in item.model_dump(mode="json").items() if value is not None}
                write(json.dumps(row, ensure_ascii=False, allow_nan=False))
                progress.count(n, "making rows")
        errors = ", ".join(f"{n} {kind}" for kind, n in sorted(made.errors.items())) or "none"
        say(f"{made.rows} rows of {len(passages)} passages, {made.clean} of them without an error; errors: {errors}")
        for cause, count in made.dropped.items():
            say(f"left out: {count} x {cause}")
    if not made.rows:
        raise typer.Exit(1)


def _nearest(passages: list[Passage], count: int) -> Neighbours:
    """The passages nearest to one by the shipped encoder."""
    import numpy as np

    from eirene.encoder import load_encoder

    if count < 1:
        return lambda _: ()
    vectors = load_encoder().encode([p.shown for p in passages])

    def nearest(number: int) -> list[int]:
        order = np.argsort(-(vectors @ vectors[number]), kind="stable")
        return [int(i) for i in order if i != number][:count]

    return nearest
