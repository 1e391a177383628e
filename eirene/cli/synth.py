"""`eirene synth`: synthetic data with known errors. `npov` with a card and control rows; `fava` from a corpus."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eirene.cli import flags
from eirene.cli.batch.flags import LimitFlags
from eirene.cli.data_flags import CorpusEncoder
from eirene.cli.flags import Group, Without, listed, with_groups
from eirene.cli.model_flags import CallFlags
from eirene.cli.progress import watch
from eirene.cli.terminal import output, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.core.records import Item
    from eirene.synth.rows import AnswerTotals

app = typer.Typer(cls=Group, help="Make synthetic data: answers with errors that are known because they were made.")

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


@app.command("fava")
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
        from eirene.cli.fava_journal import Order, by_model
        from eirene.core.critique import HALLUCINATIONS
        from eirene.synth.fava.recipe import GENRES, FavaRecipe, FavaTotals

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


Topics = Annotated[
    str, typer.Argument(metavar="TOPICS", help="The knowledge base: topics with arguments (docs/guides/npov.md).")
]
Out = Annotated[str, typer.Option(metavar="FILE", help="Where to write a line per row; - is standard output.")]
Responses = Annotated[
    str | None, typer.Option(metavar="FILE", help="Error-free responses to work on, as `eirene npov --json` writes.")
]
Kinds = Annotated[str, typer.Option(help="Which kinds of answer, comma-separated.")]
Wordings = Annotated[str, typer.Option(help="Arguments said in the given words, by a paraphrase, or both in turn.")]
PerTopic = Annotated[int, typer.Option(help="Groups (an answer of each kind) for each topic and wording.")]
Most = Annotated[int, typer.Option(help="Arguments given on one side at most.")]


@app.command("npov")
def npov(
    topics: Topics,
    *,
    out: Out,
    responses: Responses = None,
    kinds: Kinds = "none,coverage,hallucination,both,wrong_side,repetition,partial",
    wordings: Wordings = "given,paraphrase",
    per_topic: PerTopic = 2,
    most: Most = 3,
    seed: flags.Seed = 0,
    force: flags.Force = False,
    config: flags.Config = None,
) -> None:
    """Answers to disputed questions with and without known errors, from topics with arguments."""
    with output():
        from eirene.data import check_outside
        from eirene.data.output import STDOUT, check_output
        from eirene.synth import AnswerRecipe, AnswerTotals
        from eirene.synth.plans import KINDS, WORDINGS, parse_names

        names = parse_names(kinds, KINDS, "kinds"), parse_names(wordings, WORDINGS, "wordings")
        recipe = AnswerRecipe(*names, per_topic, most, seed)
        card = None if out == STDOUT else f"{out}.card.json"
        for path in filter(None, (out, card)):
            check_output(path, force=force)
        for source in filter(None, (topics, responses)):
            check_outside(out, source)
        made = AnswerTotals(recipe)
        inputs, rows = _rows(topics, responses, made)
        _write(map(_line, rows), out, "making answers", force=force)
        _report(made.card(inputs=inputs, settings={"responses": responses is not None}), card, out, force=force)
    if not made.rows:
        raise typer.Exit(1)


def _rows(topics: str, responses: str | None, made: AnswerTotals) -> tuple[list[dict[str, str]], Iterator[Item]]:
    """The inputs with their hashes, and the rows to come: everything is read and checked before the first is made."""
    import hashlib

    from eirene.data import open_source, read_items, read_topics
    from eirene.data.json_rows import STDIN
    from eirene.data.open import sha256
    from eirene.synth import synthesise

    if topics == responses == STDIN:
        raise InputError("TOPICS and --responses cannot both be standard input; name a file for one", field="responses")
    source = open_source(topics)
    known = read_topics(source)
    inputs = [{"name": source.name, "sha256": sha256(source)}]
    given: list[Item] | None = None
    if responses is not None:
        given = read_items(responses)
        rows = json.dumps([item.model_dump(mode="json") for item in given], sort_keys=True)
        inputs.append({"name": responses, "rows_sha256": hashlib.sha256(rows.encode()).hexdigest()})
    return inputs, synthesise(known, made.recipe, made, responses=given)


def _line(item: Item) -> str:
    row = {key: value for key, value in item.model_dump(mode="json").items() if value is not None}
    return json.dumps(row, ensure_ascii=False, allow_nan=False)


def _write(lines: Iterable[str], out: str, doing: str, *, force: bool) -> None:
    from eirene.data.output import line_writer

    with watch(0) as progress, line_writer(out, force=force) as write:
        for n, line in enumerate(lines, start=1):
            write(line)
            progress.count(n, doing)


def _report(card: dict[str, Any], path: str | None, out: str, *, force: bool) -> None:
    from eirene.data.output import write_text
    from eirene.views.detectors import control_lines

    if path is not None:
        write_text(path, json.dumps(card, ensure_ascii=False, allow_nan=False, indent=1) + "\n", force=force)
    where = "" if path is None else f" to {out} (card: {path})"
    say(f"{card['rows']} answers in {card['groups']} groups on {card['topics']} topics{where}")
    for cause, count in card["left_out"].items():
        say(f"left out: {count} x {cause}")
    if card["rows"]:
        say("what counting finds (ROC AUC, 0.5 is nothing; 95 % intervals over topics):")
        for line in control_lines(card["controls"]):
            say(line)
    else:
        say("nothing could be made; the causes are above")
