"""Salience maps as a web page: which words of the given each word of an answer was made of.

In the manner of figure 2 of the NPOV paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from eirene.core.grounding import grounding_for
from eirene.core.records import Item, Record
from eirene.core.scores import Scores, WordScore
from eirene.views.facts import ERRORS, shown_score, visible
from eirene.views.page import page
from eirene.views.tables import HtmlTable, RowGroup

MOST_WORDS = 200
"""On a side. A longer one is cut, and the picture says so."""
_LETTERS = 16


@dataclass(frozen=True, slots=True)
class Heatmap:
    """What is drawn. Rows are the (group, word) of arguments, columns the words of the answer.

    `values[i][j]` in [0, 1] is what row i gave to column j. Errors in [0, 1], of each row and column: higher is worse.
    """

    title: str
    rows: Sequence[tuple[str, str]]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    row_errors: Sequence[float]
    column_errors: Sequence[float]


def heatmap_of(
    title: str, answer: str, arguments: Sequence[str], scores: Scores, values: Sequence[Sequence[float]]
) -> Heatmap:
    """The map of an answer's scores, which were made of `values`; `arguments` are those that `scores` names."""
    rows, columns = _words_of(scores, arguments, answer)
    row_errors = [word.score for argument in scores.arguments for word in argument.words]
    return Heatmap(title, rows, columns, values, row_errors, [word.score for word in scores.words])


def _words_of(scores: Scores, arguments: Sequence[str], answer: str) -> tuple[list[tuple[str, str]], list[str]]:
    """(group, word) of each row of a map, and the word of each column."""
    rows = [
        (argument.group, text[word.start : word.end])
        for argument, text in zip(scores.arguments, arguments, strict=True)
        for word in argument.words
    ]
    return rows, [answer[word.start : word.end] for word in scores.words]


def _shown(words: Sequence[str]) -> list[str]:
    return [_cut(visible(word), _LETTERS) for word in words]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _cut_sides(rows: Sequence[object], columns: Sequence[object], most: int) -> list[str]:
    """What of a map is not shown, in words for each side."""
    return [
        f"the first {most} of {len(side)} words of {name}"
        for name, side in (("what was given", rows), ("the answer", columns))
        if len(side) > most
    ]


_STEP = 14  # SVG units a word
_LEAST = 0.01  # smaller shares are not drawn
_LARGEST = 20
_LEVELS = 4
_BOUNDS = tuple(f"{n / (_LEVELS + 1):.1f} to {(n + 1) / (_LEVELS + 1):.1f}" for n in range(_LEVELS + 1))
_APART = 0.6  # the error from which a word counts as coming little from the other side: the two darkest levels
_NAMED = 5
_LABEL = 130


def render_salience_page(heatmap: Heatmap, *, answer: str, arguments: Sequence[str], scores: Scores, model: str) -> str:
    """The page; everything in it is escaped. `arguments` are those that `scores` names, in its order."""
    found = list(zip(scores.arguments, arguments, strict=True))
    groups = [
        (name, [shaded(text, argument.words) for argument, text in members])
        for name, members in groupby(found, key=lambda pair: pair[0].group)
    ]
    return page(
        "salience.html.j2",
        styles=("page.css", "record.css", "salience.css"),
        scripts=("scroll.js",),
        map=heatmap,
        verdict=list(_verdict(heatmap)),
        levels=_BOUNDS,
        answer=shaded(answer, scores.words),
        arguments=groups,
        scores={name: shown_score(getattr(scores, name)) for name in ERRORS},
        model=model,
        cut=_cut_sides(heatmap.rows, heatmap.columns, MOST_WORDS),
        picture=_whole(heatmap),
        largest=_largest(heatmap),
    )


def _verdict(heatmap: Heatmap) -> Iterator[str]:
    """How much of either side stands apart from the other, and its words that do most."""
    given = [word for _, word in heatmap.rows]
    for errors, words, whose, does in (
        (heatmap.column_errors, heatmap.columns, "the answer's", "come little from the arguments"),
        (heatmap.row_errors, given, "the arguments'", "went little into the answer"),
    ):
        apart = sorted((-error, n) for n, error in enumerate(errors) if error >= _APART)
        named = list(dict.fromkeys(words[n] for _, n in apart))[:_NAMED]
        if named:
            most = ", ".join(f'"{_cut(visible(word), _LETTERS)}"' for word in named)
            counted = f"{len(apart):,} of {whose} {len(words):,} words {does} (error of {_APART} or more)"
            yield f"{counted}, most of all {most}."
        elif words:
            yield f"None of {whose} {len(words):,} words has an error of {_APART} or more."


def shaded(text: str, words: Sequence[WordScore]) -> Markup:
    """The text with each word in a mark of one of five levels, and its error in words for who cannot see it."""
    found, at = [Markup('<p class="text" dir="auto">')], 0
    mark = Markup('{}<mark class="shaded s{}" title="{:.2f}">{}</mark>')
    for word in words:
        level = min(_LEVELS, int(word.score * (_LEVELS + 1)))
        before, shown = visible(text[at : word.start]), visible(text[word.start : word.end])
        found.append(mark.format(before, level, word.score, shown))
        at = word.end
    found.append(Markup("{}</p>").format(visible(text[at:])))
    return Markup("").join(found)


def _whole(heatmap: Heatmap) -> Markup:
    rows, columns = heatmap.rows[:MOST_WORDS], heatmap.columns[:MOST_WORDS]
    shares = (
        (i, j, value)
        for i, values in enumerate(heatmap.values[: len(rows)])
        for j, value in enumerate(values[: len(columns)])
        if value >= _LEAST
    )
    return picture(rows, columns, shares)


def picture(
    rows: Sequence[tuple[str, str]], columns: Sequence[str], shares: Iterable[tuple[int, int, float]]
) -> Markup:
    """A map as SVG: rows as (group, word), a square for each share (row, column, share) whose area is the share's."""
    return Markup("").join(_drawn(rows, columns, shares))


def _drawn(
    rows: Sequence[tuple[str, str]], columns: Sequence[str], shares: Iterable[tuple[int, int, float]]
) -> Iterator[Markup]:
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


def _largest(heatmap: Heatmap) -> HtmlTable:
    found = sorted(
        ((value, i, j) for i, row in enumerate(heatmap.values) for j, value in enumerate(row) if value >= _LEAST),
        key=lambda entry: (-entry[0], entry[1], entry[2]),
    )
    rows = [(*heatmap.rows[i], heatmap.columns[j], f"{value:.3f}") for value, i, j in found[:_LARGEST]]
    caption = f"The {len(rows):,} largest of {len(found):,} shares of at least {_LEAST}."
    columns = ("Side", "Word of an argument", "Word of the answer", "Share")
    return HtmlTable(caption, columns, (RowGroup("", rows),), first_number=3)


MOST_WORDS_OF_RECORD = 120
"""On a side of a map on a record's page; a longer one is cut, and the page says so."""

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
            title = f"From the given to {what}, word by word ({', '.join(names)})"
            shown = _word_map(title, answer, by_name[names[0]], texts) if shares else None
            if shown is not None:
                yield shown


def _word_map(title: str, answer: str, scores: Scores, texts: Mapping[tuple[str, int], str]) -> ShownMap | None:
    arguments = [texts.get((argument.group, argument.n), "") for argument in scores.arguments]
    rows, columns = _words_of(scores, arguments, answer)
    if not all(word for _, word in rows):  # the item is not the one that was scored
        return None
    cut = _cut_sides(rows, columns, MOST_WORDS_OF_RECORD)
    note = f"Shown are {' and '.join(cut)}." if cut else ""
    rows, columns = rows[:MOST_WORDS_OF_RECORD], columns[:MOST_WORDS_OF_RECORD]
    shares = tuple(share for share in scores.shares if share[0] < len(rows) and share[1] < len(columns))
    return ShownMap(title, note, tuple(rows), tuple(columns), shares)
