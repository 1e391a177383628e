"""Salience maps as pictures (PNG, SVG) and as a web page: which words of the given each word of an answer was made of.

In the manner of figure 2 of the NPOV paper. Pictures need the extra `plots`; matplotlib is used without its global
state and without a screen.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from eirene.core.errors import InputError
from eirene.core.grounding import grounding_for
from eirene.core.records import Item, Record
from eirene.core.scores import Scores
from eirene.views.facts import visible
from eirene.views.figures import check_matplotlib, new_figure, save_as
from eirene.views.page import page
from eirene.views.tables import HtmlTable, RowGroup

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_WORDS = 200
"""On a side. A longer one is cut, and the picture says so."""
ENDINGS = (".png", ".svg")
_INCHES_A_WORD = 0.19
_MAP, _ERRORS = "Blues", "Oranges"  # light is little: both are read without telling red from green
_TICK: dict[str, Any] = {"fontsize": 7, "parse_math": False}  # a dollar sign in a word is no formula
_LETTERS, _TITLE = 18, 160


@dataclass(frozen=True, slots=True)
class Heatmap:
    """What is drawn. `values[i][j]` in [0, 1] is what row i gave to column j; `groups[i]` names the row's perspective.

    `contributions` and `attributions` are the rows' and the columns' own error scores in [0, 1], higher is worse.
    """

    title: str
    groups: Sequence[str]
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    contributions: Sequence[float]
    attributions: Sequence[float]


def write_heatmap(heatmap: Heatmap, path: Path) -> None:
    """Writes the picture; the file's ending says which kind. Raises `InputError` for another, and without words."""
    check_matplotlib()
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"a picture ends in {' or '.join(ENDINGS)}, got {path.name!r}", field="out")
    if not heatmap.rows or not heatmap.columns:
        raise InputError("there is no word to show on one of the sides", field="out")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a script that the font lacks shows as boxes
        save_as(draw_heatmap(heatmap), path)


def draw_heatmap(heatmap: Heatmap) -> Figure:
    """The map, with a strip for the error of each row on its right and of each column below."""
    n_rows, n_columns = (min(len(side), MOST_WORDS) for side in (heatmap.rows, heatmap.columns))
    width, height = (max(n, 6) * _INCHES_A_WORD for n in (n_columns, n_rows))
    title = _cut(visible(heatmap.title), _TITLE) + "".join(f"\n{line}" for line in _cut_lines(heatmap))
    figure = new_figure("", width + 3.6, height + 2.6)
    figure.suptitle(title, fontsize=9, wrap=True).set_parse_math(False)
    grid: Any = figure.subplots(2, 2, width_ratios=(width, 0.3), height_ratios=(height, 0.3), squeeze=False)
    (main, right), (below, corner) = grid
    corner.set_axis_off()
    values = [list(row[:n_columns]) for row in heatmap.values[:n_rows]]
    image = main.imshow(values, cmap=_MAP, aspect="auto", vmin=0.0)
    main.set_xticks([])
    _label_rows(main, heatmap, n_rows)
    _strip(right, [[e] for e in heatmap.contributions[:n_rows]]).set_title("not in\nthe answer", fontsize=7)
    strip = _strip(below, [list(heatmap.attributions[:n_columns])])
    strip.set_ylabel("not from the arguments", fontsize=7, rotation=0, ha="right", va="center")
    strip.set_xticks(range(n_columns), _shown(heatmap.columns[:n_columns]), rotation=90, **_TICK)
    for scale, label in ((strip.images[0], "error of a word"), (image, "share of the answer's word")):
        # Beside the whole, with a gap: beside the strip alone its scale looks like a part of it.
        bar = figure.colorbar(scale, ax=list(grid.flat), fraction=0.05, pad=0.03, aspect=30)
        bar.set_label(label, fontsize=7)
        bar.ax.tick_params(labelsize=7)
    return figure


def _label_rows(axes: Axes, heatmap: Heatmap, n_rows: int) -> None:
    axes.set_yticks(range(n_rows), _shown(heatmap.rows[:n_rows]), **_TICK)
    at = 0
    for name, members in groupby(heatmap.groups[:n_rows]):
        count = len(list(members))
        if at:
            axes.axhline(at - 0.5, color="black", linewidth=0.8)
        label = axes.annotate(
            _shown([name])[0], (0, at + (count - 1) / 2), xycoords=("axes fraction", "data"), xytext=(-88, 0),
            textcoords="offset points", rotation=90, va="center", ha="right", fontsize=9, weight="bold",
        )  # fmt: skip
        label.set_parse_math(False)
        at += count


def _strip(axes: Axes, errors: list[list[float]]) -> Axes:
    axes.imshow(errors, cmap=_ERRORS, aspect="auto", vmin=0.0, vmax=1.0)
    axes.set_yticks([])
    axes.set_xticks([])
    return axes


def _shown(words: Sequence[str]) -> list[str]:
    return [_cut(visible(word), _LETTERS) for word in words]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _cut_lines(heatmap: Heatmap) -> list[str]:
    """What of the map is not shown, a line a side."""
    return [
        f"{what}: the first {MOST_WORDS} of {len(whole)} words"
        for what, whole in (("arguments", heatmap.rows), ("answer", heatmap.columns))
        if len(whole) > MOST_WORDS
    ]


_STEP = 14  # SVG units a word
_LEAST = 0.01  # smaller shares are not drawn
_LARGEST = 20
_LEVELS = 4
_BOUNDS = tuple(f"{n / (_LEVELS + 1):.1f} to {(n + 1) / (_LEVELS + 1):.1f}" for n in range(_LEVELS + 1))
_APART = 0.6  # the error from which a word counts as coming little from the other side: the two darkest levels
_NAMED = 5
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
    scores: Mapping[str, str],
    model: str,
) -> str:
    """The page; everything in it is escaped. `arguments` are those of each group, by its name; `scores` by error."""
    return page(
        "salience.html.j2",
        styles=("page.css", "record.css", "salience.css"),
        scripts=("scroll.js",),
        map=heatmap,
        verdict=list(_verdict(answer, [text for _, texts in arguments for text in texts])),
        levels=_BOUNDS,
        answer=shaded(answer),
        arguments=[(name, [shaded(text) for text in texts]) for name, texts in arguments],
        scores=scores,
        model=model,
        cut=_cut_lines(heatmap),
        picture=_whole(heatmap),
        largest=_largest(heatmap),
    )


def _verdict(answer: ShadedText, arguments: Sequence[ShadedText]) -> Iterator[str]:
    """How much of either side stands apart from the other, and its words that do most."""
    words = [(error, answer.text[start:end]) for start, end, error in answer.words]
    given = [(error, text.text[start:end]) for text in arguments for start, end, error in text.words]
    for found, whose, does in (
        (words, "the answer's", "come little from the arguments"),
        (given, "the arguments'", "went little into the answer"),
    ):
        apart = sum(error >= _APART for error, _ in found)
        if apart:
            yield f"{apart:,} of {whose} {len(found):,} words {does} (error of {_APART} or more){_most(found)}."
        elif found:
            yield f"None of {whose} {len(found):,} words has an error of {_APART} or more."


def _most(words: Sequence[tuple[float, str]]) -> str:
    """The words that count, those with the largest errors first, each once."""
    named = dict.fromkeys(word for error, word in sorted(words, key=lambda entry: -entry[0]) if error >= _APART)
    return ", most of all " + ", ".join(f'"{_short(word)}"' for word in list(named)[:_NAMED])


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
    caption = f"The {len(rows):,} largest of {len(found):,} shares of at least {_LEAST}."
    columns = ("Side", "Word of an argument", "Word of the answer", "Share")
    return HtmlTable(caption, columns, (RowGroup("", rows),), first_number=3)


def _short(word: str) -> str:
    text = visible(word)
    return text if len(text) <= 16 else text[:15] + "…"


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
    rows = [
        (argument.group, texts.get((argument.group, argument.n), "")[word.start : word.end])
        for argument in scores.arguments
        for word in argument.words
    ]
    if not all(word for _, word in rows):  # the item is not the one that was scored
        return None
    columns = [answer[word.start : word.end] for word in scores.words]
    cut = [
        f"the first {MOST_WORDS_OF_RECORD} of {len(side)} words of {name}"
        for name, side in (("what was given", rows), ("the answer", columns))
        if len(side) > MOST_WORDS_OF_RECORD
    ]
    note = f"Shown are {' and '.join(cut)}." if cut else ""
    rows, columns = rows[:MOST_WORDS_OF_RECORD], columns[:MOST_WORDS_OF_RECORD]
    shares = tuple(share for share in scores.shares if share[0] < len(rows) and share[1] < len(columns))
    return ShownMap(title, note, tuple(rows), tuple(columns), shares)
