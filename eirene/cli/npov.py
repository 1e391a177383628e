"""`eirene npov`: a response with what each side of a disputed question argues, from a file of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import flags
from eirene.cli.flags import Without, with_groups
from eirene.cli.model_flags import BackendFlags
from eirene.cli.progress import watch
from eirene.cli.refine import run_items
from eirene.cli.terminal import console, output, say
from eirene.core.errors import NoTopicError

if TYPE_CHECKING:
    from eirene.agent.backends import BackendOptions
    from eirene.core.records import Item
    from eirene.models.local.model import LocalModel
    from eirene.npov import KnowledgeBase

Query = Annotated[str, typer.Option(help="The question to answer.")]
Topics = Annotated[
    str, typer.Option(metavar="FILE|-", help="The knowledge base: topics with arguments (docs/guides/npov.md).")
]
K = Annotated[int, typer.Option("--k", help="How many of the nearest topics are listed.")]
Threshold = Annotated[float | None, typer.Option(help="Similarity from which a topic fits.", show_default="0.63")]
PerSide = Annotated[int | None, typer.Option(help="Arguments of each side at most, drawn with the seed.")]
Refine = Annotated[bool, typer.Option("--refine", help="Send the response through the loop and show its record.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the response as a row, or with --refine the record.")]


@with_groups()
def npov(
    *,
    query: Query,
    topics: Topics,
    models: Annotated[BackendFlags, Without("prompts")],
    k: K = 3,
    threshold: Threshold = None,
    per_side: PerSide = None,
    seed: flags.Seed = 0,
    refine: Refine = False,
    as_json: AsJson = False,
    config: flags.Config = None,
) -> None:
    """Write a response that gives each side of a disputed question its say, from the arguments in a file."""
    with output():
        from eirene.models.resolve import ChatOptions
        from eirene.npov import respond
        from eirene.npov.knowledge import THRESHOLD

        base = _load(topics)
        limit = THRESHOLD if threshold is None else threshold
        options = models.options()
        writer: str | LocalModel = models.backend
        if refine and models.base_url is None and base.find(query, k=k, threshold=limit).match is not None:
            writer = _loaded(models.backend)
        try:
            response = respond(
                query, base, backend=writer, chat_options=ChatOptions.of(options), k=k, threshold=limit,
                per_side=per_side, seed=seed,
            )  # fmt: skip
        except NoTopicError as error:
            _show_nearest(error, as_json=as_json)
            raise typer.Exit(1) from None
        item = response.item()
        if refine:
            errors = _refine(item, writer, options, seed, as_json=as_json)
            if errors:
                raise typer.Exit(2 if "AuthError" in errors else 1)
            return
        _show(item, as_json=as_json)


def _load(path: str) -> KnowledgeBase:
    from eirene.npov import load_topics

    with watch(0) as progress:
        return load_topics(path, progress=lambda done, total: progress.advance(done, "encoding questions", total=total))


def _loaded(backend: str) -> str | LocalModel:
    """A local model, loaded once for the writer and the loop; any other backend as it is named."""
    from eirene.models.local.model import load_local
    from eirene.models.local.spec import PREFIX

    return load_local(backend) if backend.startswith(PREFIX) else backend


def _refine(item: Item, backend: str | LocalModel, options: BackendOptions, seed: int, *, as_json: bool) -> list[str]:
    from eirene.agent.backends import resolve_backend
    from eirene.agent.settings import Settings

    parts = resolve_backend(backend, options)
    return run_items([item], Settings.of(seed=seed), backend=parts, as_json=as_json, html=None, force=False)


def _show(item: Item, *, as_json: bool) -> None:
    from eirene.data.output import STDOUT, line_writer
    from eirene.views.terminal import notes_of, render_response

    if not as_json:
        console().print(render_response(item))
        return
    with line_writer(STDOUT) as write:
        write(item.model_dump_json(exclude_defaults=True))
    for note in notes_of(item):
        say(f"note: {note}")


def _show_nearest(error: NoTopicError, *, as_json: bool) -> None:
    import json

    from eirene.data.output import STDOUT, line_writer
    from eirene.npov.respond import nearest_json
    from eirene.views.terminal import render_nearest

    nearest = [nearest_json(match) for match in error.nearest]
    if as_json:
        with line_writer(STDOUT) as write:
            write(json.dumps({"query": error.query, "topic": None, "nearest": nearest}, ensure_ascii=False))
    elif nearest:
        console().print(render_nearest(nearest))
    say(f"no topic fits: similarity {error.threshold:g} is wanted; ask otherwise, or lower --threshold")
