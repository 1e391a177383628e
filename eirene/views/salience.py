"""Salience maps for people, on the page of a record: which given word each word of an answer comes from.

In the manner of figure 2 of the NPOV paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eirene.core.grounding import grounding_for
from eirene.core.records import Item, Record
from eirene.core.scores import ArgumentScore, Scores
from eirene.views.facts import visible

MOST_WORDS = 120
"""On a side of a map; a longer one is cut, and the page says so."""
_LETTERS = 16
_STEP = 14  # SVG units a word
_LABEL = 130

Share = tuple[int, int, float]


@dataclass(frozen=True, slots=True)
class ShownMap:
    """A map: what it is of, a note where words are cut, (group, word) of each row, the columns' words, the shares."""

    title: str
    note: str
    rows: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    shares: tuple[Share, ...]


def word_maps(record: Record, item: Item | None) -> Iterator[ShownMap]:
    """The maps of the original and, where a rewrite was accepted, of the answer; each once, whoever has it.

    None without the `item`: a record does not repeat the given text.
    """
    given = None if item is None else grounding_for(item)
    if given is None or given.source == "derived":
        return
    texts = {(group.name, n): text for group in given.groups for n, text in enumerate(group.arguments, start=1)}
    sides = [("the original", record.original, record.scores.original)]
    if record.status == "accepted":
        sides.append(("the answer", record.answer, record.scores.final))
    for what, answer, by_name in sides:
        named: dict[tuple[Share, ...], list[str]] = {}
        for name, found in by_name.items():
            named.setdefault(found.shares, []).append(name)
        for shares, names in named.items():
            scores = by_name[names[0]]
            arguments = [texts.get((argument.group, argument.n), "") for argument in scores.arguments]
            shown = shown_map(f"From the given to {what}, word by word ({', '.join(names)})", answer, arguments, scores)
            if shares and all(word for _, word in shown.rows):  # else the item is not the one that was scored
                yield shown


def shown_map(title: str, answer: str, arguments: Sequence[str], scores: Scores) -> ShownMap:
    """The map that the scores of an answer hold; `arguments` are those that they name, in their order."""
    named = zip(scores.arguments, arguments, strict=True)
    rows = [(argument.group, word) for argument, text in named for word in _cut_out(text, argument)]
    columns = _cut_out(answer, scores)
    note = " and ".join(
        f"the first {MOST_WORDS} of {len(side)} words of {name}"
        for name, side in (("what was given", rows), ("the answer", columns))
        if len(side) > MOST_WORDS
    )
    rows, columns = rows[:MOST_WORDS], columns[:MOST_WORDS]
    shares = tuple(share for share in scores.shares if share[0] < len(rows) and share[1] < len(columns))
    return ShownMap(title, f"Shown are {note}." if note else "", tuple(rows), tuple(columns), shares)


def _cut_out(text: str, scored: Scores | ArgumentScore) -> list[str]:
    return [text[word.start : word.end] for word in scored.words]


def _shown(words: Sequence[str]) -> list[str]:
    return [word if len(word) <= _LETTERS else word[: _LETTERS - 1] + "…" for word in map(visible, words)]


def picture(shown: ShownMap) -> Markup:
    """A map as SVG: a square for each share, whose area is the share's."""
    return Markup("").join(_drawn(shown.rows, shown.columns, shown.shares))


def _drawn(rows: Sequence[tuple[str, str]], columns: Sequence[str], shares: Sequence[Share]) -> Iterator[Markup]:
    width, height = _LABEL + _STEP * len(columns) + _LABEL // 2, _LABEL + _STEP * len(rows)
    yield Markup('<svg width="{}" height="{}" viewBox="0 0 {} {}" aria-hidden="true">').format(
        width, height, width, height
    )
    for j, word in enumerate(_shown(columns)):
        x = _LABEL + _STEP * j + _STEP // 2
        yield Markup('<text x="{}" y="{}" transform="rotate(-60 {} {})">{}</text>').format(
            x, _LABEL - 6, x, _LABEL - 6, word
        )
    for i, (group, word) in enumerate(rows):
        y = _LABEL + _STEP * i
        yield Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
            _LABEL - 6, y + _STEP - 4, _shown([word])[0]
        )
        if i and group != rows[i - 1][0]:
            yield Markup('<line x1="0" x2="{}" y1="{}" y2="{}"/>').format(width, y, y)
    for i, j, share in shares:
        side = (_STEP - 1) * min(1.0, share) ** 0.5
        at = (_LABEL + _STEP * j + (_STEP - side) / 2, _LABEL + _STEP * i + (_STEP - side) / 2)
        yield Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(*at, side, side)
    yield Markup("</svg>")
