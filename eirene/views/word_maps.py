"""The maps of words that a record's scores hold: which words of the given went into which words of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from eirene.given import given_for
from eirene.records import Item, Record
from eirene.scores import Scores

MOST_WORDS = 120
"""On a side; a longer one is cut, and the page says so."""

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
    given = None if item is None else given_for(item)
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
            shown = _shown(title, answer, by_name[names[0]], texts) if shares else None
            if shown is not None:
                yield shown


def _shown(title: str, answer: str, scores: Scores, texts: Mapping[tuple[str, int], str]) -> ShownMap | None:
    rows = [
        (argument.group, texts.get((argument.group, argument.n), "")[word.start : word.end])
        for argument in scores.arguments
        for word in argument.words
    ]
    if not all(word for _, word in rows):  # the item is not the one that was scored
        return None
    columns = [answer[word.start : word.end] for word in scores.words]
    cut = [
        f"the first {MOST_WORDS} of {len(side)} words of {name}"
        for name, side in (("what was given", rows), ("the answer", columns))
        if len(side) > MOST_WORDS
    ]
    note = f"Shown are {' and '.join(cut)}." if cut else ""
    rows, columns = rows[:MOST_WORDS], columns[:MOST_WORDS]
    shares = tuple(share for share in scores.shares if share[0] < len(rows) and share[1] < len(columns))
    return ShownMap(title, note, tuple(rows), tuple(columns), shares)
