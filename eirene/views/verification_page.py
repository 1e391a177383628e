"""A verification as a web page: sentences with verdict and evidence, quotations, passages with what was used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from eirene.core.verification import Evidence, Verification
from eirene.views.claims import shown_verification
from eirene.views.facts import visible
from eirene.views.page import page, script_safe
from eirene.views.verification import CAUTION, MEANING


def render_verification_page(
    found: Verification, passages: Sequence[str], *, question: str = "", ids: Sequence[str] = ()
) -> str:
    """The page; everything in it is escaped. `passages` are those that were read, with their `ids` if any."""
    shown = shown_verification(found)
    return page(
        "verification.html.j2",
        styles=("page.css", "record.css", "verification.css"),
        scripts=("page.js",),
        found=found,
        question=question,
        shown=shown,
        caution=CAUTION["passage"],
        words=[(word, MEANING[word]) for word in shown.words],
        passages=list(_passages(found, passages, ids)),
        json=script_safe(found.model_dump_json()),
    )


def _passages(found: Verification, passages: Sequence[str], ids: Sequence[str]) -> Iterator[tuple[str, Markup]]:
    """The name and the text of each passage, what is evidence in it marked."""
    places: dict[int, list[Evidence]] = {}
    for place in [*(claim.evidence for claim in found.claims), *(quoted.evidence for quoted in found.quotations)]:
        if place is not None:
            places.setdefault(place.passage, []).append(place)
    for n, text in enumerate(passages, start=1):
        own = places.get(n, [])
        used = len(set(own))
        name = f"Passage {n}" + (f" ({ids[n - 1]})" if ids else "")
        yield name + (f": {used:,} {'place' if used == 1 else 'places'} used" if used else ""), _marked(text, own)


def _marked(text: str, places: Sequence[Evidence]) -> Markup:
    """The text with a mark around each place; places that overlap share one."""
    parts, at = list[Markup](), 0
    for start, end in _merged(places):
        parts.append(Markup("{}<mark>{}</mark>").format(visible(text[at:start]), visible(text[start:end])))
        at = end
    return Markup("").join([*parts, Markup("{}").format(visible(text[at:]))])


def _merged(places: Sequence[Evidence]) -> Iterator[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for start, end in sorted((place.start, place.end) for place in places):
        if runs and start < runs[-1][1]:
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((start, end))
    yield from runs
