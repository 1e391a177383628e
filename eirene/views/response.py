"""NPOV responses at a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from eirene.core.records import Item
from eirene.core.usage import Usage
from eirene.views.facts import cost, visible
from eirene.views.terminal import section


def render_response(item: Item) -> RenderableType:
    """The response in `item`, whose `meta.npov` says how it was made: question, text, arguments by side, cost."""
    facts: Any = item.meta["npov"]
    parts: list[RenderableType] = [*section("Question", Text(visible(item.question)))]
    if facts["query"].strip() != item.question.strip():
        parts += section("Asked", Text(visible(facts["query"])))
    parts += section("Response", Text(visible(item.answer)))
    for side, sources in zip(item.perspectives or (), facts["argument_sources"], strict=True):
        given = zip(side.arguments, sources, strict=True)
        lines = [Text(f"- {visible(text)}" + (f" [{visible(source)}]" if source else "")) for text, source in given]
        parts += section(f"Arguments: {visible(side.name)}", *lines)
    if facts["sources"]:
        parts += section("Sources", *(Text(visible(source)) for source in facts["sources"]))
    notes = notes_of(item)
    if notes:
        parts += section("To be checked", *(Text(visible(note), style="yellow") for note in notes))
    how = "named word for word" if facts["exact"] else f"similarity {facts['similarity']:.2f}"
    made = f"topic {facts['topic']} ({how}), backend {facts['backend']}, seed {facts['seed']}"
    spent = cost(Usage.model_validate(facts["usage"]))
    parts += section("Made", *(Text(visible(line), style="dim") for line in (made, spent)))
    return Group(*parts)


def render_nearest(nearest: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The topics that come closest to a query for which none fits."""
    lines = [Text(f"{n['similarity']:5.2f}  {visible(n['question'])}") for n in nearest]
    return Group(*section("Nearest topics", *lines))


def notes_of(item: Item) -> list[str]:
    """What a reader should look at, a sentence each."""
    facts: Any = item.meta["npov"]
    notes = []
    if facts["copies_left_out"]:
        n = facts["copies_left_out"]
        notes.append(f"{n} argument{' is' if n == 1 else 's are'} in the topic twice and said once.")
    if facts["check"] is not None:
        sides = zip(item.perspectives or (), facts["argument_ids"], strict=True)
        texts = {i: text for side, ids in sides for i, text in zip(ids, side.arguments, strict=True)}
        notes += [f"Perhaps not said: {texts[i]}" for i in facts["check"]["missing"]]
        notes += [f"Perhaps not among the arguments: {sentence}" for sentence in facts["check"]["unsupported"]]
    return notes
