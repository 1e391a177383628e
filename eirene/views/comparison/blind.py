"""The page of a blind comparison: two answers side by side, to be marked by keyboard."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple

from eirene.core.records import Item
from eirene.core.signature import digest
from eirene.views.comparison.page import texts_by_group
from eirene.views.page import compact, page, script_safe
from eirene.views.record import shown_conversation


def render_blind_page(pairs: Iterable[tuple[str, Item, str, str]]) -> str:
    """The page of pairs: a name, the item, answers A and B. It holds nothing of what an answer came from."""
    lines = []
    for name, item, a, b in pairs:
        before = shown_conversation(item.history)
        lines.append([name, item.question, None if before is None else astuple(before), texts_by_group(item), a, b])
    return page(
        "comparison/blind.html.j2",
        styles=("page.css", "comparison/page.css", "comparison/blind.css"),
        scripts=("draw.js", "comparison/blind.js"),
        n_pairs=len(lines),
        number=digest([line[0] for line in lines])[:12],
        pairs=script_safe("\n".join(map(compact, lines))),
    )
