"""A salience map as a web page that needs nothing else: both texts shaded word by word, the map, the largest shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eirene.views.facts import visible
from eirene.views.heatmap import MOST_WORDS, Heatmap, cut_lines
from eirene.views.page import HtmlTable, page

_STEP = 14  # SVG units a word
_LEAST = 0.01  # smaller shares are not drawn
_LARGEST = 40
_LEVELS = 4
_LABEL = 130


@dataclass(frozen=True, slots=True)
class ShadedText:
    """A text and its words' errors: (start, end, error in [0, 1]), in the order of the text."""

    text: str
    words: Sequence[tuple[int, int, float]]


def render_salience_page(
    heatmap: Heatmap,
    *,
    answer: ShadedText,
    arguments: Sequence[tuple[str, Sequence[ShadedText]]],
    scores: str,
    model: str,
) -> str:
    """The page; everything in it is escaped. `arguments` are those of each group, by its name."""
    return page(
        "salience.html.j2",
        styles=("page.css", "salience.css"),
        scripts=("scroll.js",),
        map=heatmap,
        answer=shaded(answer),
        arguments=[(name, [shaded(text) for text in texts]) for name, texts in arguments],
        scores=scores,
        model=model,
        cut=cut_lines(heatmap),
        picture=_whole(heatmap),
        largest=_largest(heatmap),
    )


def shaded(text: ShadedText) -> Markup:
    """The text with each word in a mark of one of five levels, and its error in words for who cannot see it."""
    found, at = [Markup('<p class="text" dir="auto">')], 0
    for start, end, error in text.words:
        level = min(_LEVELS, int(error * (_LEVELS + 1)))
        found.append(Markup("{}").format(visible(text.text[at:start])))
        found.append(
            Markup('<mark class="shaded s{}" title="{:.2f}">{}</mark>').format(
                level, error, visible(text.text[start:end])
            )
        )
        at = end
    found.append(Markup("{}</p>").format(visible(text.text[at:])))
    return Markup("").join(found)


def _whole(heatmap: Heatmap) -> Markup:
    rows = list(zip(heatmap.groups, heatmap.rows, strict=True))[:MOST_WORDS]
    columns = heatmap.columns[:MOST_WORDS]
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
    for j, word in enumerate(columns):
        x = _LABEL + _STEP * j + _STEP // 2
        yield Markup('<text x="{}" y="{}" transform="rotate(-60 {} {})">{}</text>').format(
            x, _LABEL - 6, x, _LABEL - 6, _short(word)
        )
    for i, (group, word) in enumerate(rows):
        y = _LABEL + _STEP * i
        yield Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(_LABEL - 6, y + _STEP - 4, _short(word))
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
    rows = [
        (heatmap.groups[i], heatmap.rows[i], heatmap.columns[j], f"{value:.3f}") for value, i, j in found[:_LARGEST]
    ]
    caption = f"The {len(rows)} largest of {len(found)} shares of at least {_LEAST}"
    return HtmlTable.plain(
        caption, ("Side", "Word of an argument", "Word of the answer", "Share"), rows, first_number=3
    )


def _short(word: str) -> str:
    text = visible(word)
    return text if len(text) <= 16 else text[:15] + "…"
