"""Blind A/B: pairs of answers whose modes a reader does not know, what readers marked, and what follows from it.

EIR, section 5.3 and table 5: people say of an original and a refined answer which is comprehensive, and which they
prefer. Here they also say which is faulty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal

from eirene.agent.experiments.compare import CompareRow
from eirene.core.errors import InputError
from eirene.core.records import MODES, Item, Mode
from eirene.core.scores import wilson
from eirene.core.signature import digest
from eirene.core.validation import FrozenModel, validated
from eirene.data.source import read_source
from eirene.eval.metrics.agreement import agreement
from eirene.eval.metrics.bootstrap import Estimate
from eirene.gate.calibration import JudgedRewrite
from eirene.text.unicode import Text

KEY, PAGE, MARKS = "key.jsonl", "blind.html", "marks*.jsonl"
ORIGINAL: Literal["original"] = "original"
"""What the answer that was given is called beside the modes."""
Origin = Mode | Literal["original"]
Letter = Literal["A", "B"]
_LETTERS: tuple[Letter, Letter] = ("A", "B")
_ORDER = (ORIGINAL, *MODES)


class BlindAnswer(FrozenModel):
    """An answer of a pair, and what it came from: modes, `original` among them. One text may be that of several."""

    modes: tuple[Origin, ...]
    text: str


class BlindPair(FrozenModel):
    """One line of `key.jsonl`: an item, and what stands behind A and behind B, in this order."""

    pair: str
    item: Item
    answers: tuple[BlindAnswer, BlindAnswer]

    @property
    def original(self) -> Letter | None:
        """A or B, whichever is the original answer; None where neither is."""
        return next((n for n, answer in zip(_LETTERS, self.answers, strict=True) if ORIGINAL in answer.modes), None)


class BlindMarks(FrozenModel):
    """One line of `marks-READER.jsonl`: what a reader said of a pair."""

    pair: Text
    reader: Text
    comprehensive: Literal["A", "B", "both", "neither"]
    preferred: Literal["A", "B", "tie"]
    faulty: frozenset[Letter]


Key = Mapping[str, BlindPair]
_Said = tuple[BlindMarks, dict[str, Letter]]
"""Marks, and which letter each of two modes has there."""


def blind_pairs(rows: Iterable[CompareRow], items: Iterable[Item]) -> list[BlindPair]:
    """Every two answers to an item that differ, originals included, seed by seed; a failed row has none of its own.

    Which is A, and the order of the pairs, follow from hashes of seed, item and texts: knowing them tells no mode.
    """
    by_id = {item.id: item for item in items}
    texts: dict[tuple[str, int], dict[str, list[Origin]]] = {}
    for row in rows:
        there = texts.setdefault(row.pair, {row.record.original: [ORIGINAL]})
        if row.record.status != "failed":
            there.setdefault(row.record.answer, []).append(row.mode)
    found = []
    for (name, seed), there in texts.items():
        for two in combinations(there.items(), 2):
            ordered = sorted(two, key=lambda one: digest([seed, name, one[0]]))
            a, b = (BlindAnswer(modes=tuple(modes), text=text) for text, modes in ordered)
            number = digest([seed, name, a.text, b.text])[:12]
            found.append(BlindPair(pair=number, item=by_id[name], answers=(a, b)))
    return sorted(found, key=lambda pair: pair.pair)


def read_key(folder: Path) -> dict[str, BlindPair]:
    """The pairs of `key.jsonl` by their names; raises `InputError` where it is not there or is no key."""
    rows = read_source(str(folder / KEY)).rows()
    return {pair.pair: pair for pair in (validated(BlindPair, row.data, where=row.where) for row in rows)}


def read_marks(folder: Path, key: Key) -> list[BlindMarks]:
    """What all readers marked; the same line twice counts once.

    Raises `InputError` for no file, an empty one, half a line, a pair that the key does not have, and a reader who
    marked a pair in two ways.
    """
    files = sorted(folder.glob(MARKS))
    if not files:
        raise InputError(f"has no {MARKS}: put the files that readers saved beside {KEY}", where=str(folder))
    found: dict[tuple[str, str], tuple[BlindMarks, str]] = {}
    for path in files:
        source = read_source(str(path))
        if not source.data.strip():
            raise InputError("is empty: a line for each marked pair was wanted; save the marks anew", where=source.name)
        for row in source.rows():
            marks = validated(BlindMarks, row.data, where=row.where)
            if marks.pair not in key:
                what = f"marks the pair {marks.pair!r}, and {KEY} has no such pair"
                raise InputError(f"{what}: take the marks out, or use the key of their page", where=row.where)
            known, before = found.setdefault((marks.reader, marks.pair), (marks, row.where))
            if known != marks:
                what = f"{marks.reader!r} marked the pair {marks.pair!r} in another way in {before}"
                raise InputError(f"{what}: keep one of the two, or give two readers two names", where=row.where)
    return [marks for marks, _ in found.values()]


def blind_figures(key: Key, marks: Sequence[BlindMarks]) -> dict[str, Any]:
    """How often each of two modes is preferred, comprehensive (alone or both) and faulty, and how far readers agree."""
    compared: dict[tuple[str, ...], list[_Said]] = {}
    for one in marks:
        for two in product(*(answer.modes for answer in key[one.pair].answers)):
            modes = tuple(sorted(two, key=_ORDER.index))
            compared.setdefault(modes, []).append((one, dict(zip(two, _LETTERS, strict=True))))
    order = sorted(compared, key=lambda modes: [*map(_ORDER.index, modes)])
    return {
        "readers": sorted({one.reader for one in marks}), "pairs": len(key), "marks": len(marks),
        "unmarked": len(key.keys() - {one.pair for one in marks}),
        "comparisons": [_comparison(modes, compared[modes], key) for modes in order],
    }  # fmt: skip


def _comparison(modes: Sequence[str], said: Sequence[_Said], key: Key) -> dict[str, Any]:
    """Shares by mode with Wilson's intervals for as many draws as there are items, and how far readers agree."""
    n_items = len({key[one.pair].item.id for one, _ in said})

    def share(found: Sequence[bool]) -> dict[str, Any]:
        value = sum(found) / len(found)
        return Estimate(value, *wilson(value, n_items), n=len(found), clusters=n_items).to_json()

    def named(word: str, of: Mapping[str, Letter]) -> str:
        return next((mode for mode, letter in of.items() if letter == word), word)

    return {
        "modes": list(modes), "pairs": len({one.pair for one, _ in said}), "marks": len(said),
        "per_mode": {
            mode: {
                "comprehensive": share([one.comprehensive in (of[mode], "both") for one, of in said]),
                "preferred": share([one.preferred == of[mode] for one, of in said]),
                "faulty": share([of[mode] in one.faulty for one, of in said]),
            }
            for mode in modes
        },
        "tie": share([one.preferred == "tie" for one, _ in said]),
        "agreement": {
            "comprehensive": _agreed((one.pair, one.reader, named(one.comprehensive, of)) for one, of in said),
            "preferred": _agreed((one.pair, one.reader, named(one.preferred, of)) for one, of in said),
            "faulty": _agreed((one.pair + a, one.reader, str(a in one.faulty)) for one, _ in said for a in _LETTERS),
        },
    }  # fmt: skip


def _agreed(ratings: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """How far readers agree, from (what was judged, by whom, what was said)."""
    table: dict[str, dict[str, str]] = {}
    for thing, reader, word in ratings:
        table.setdefault(thing, {})[reader] = word
    readers = sorted({reader for told in table.values() for reader in told})
    return agreement([[told.get(reader) for reader in readers] for told in table.values()]).to_json()


def judged_rewrites(key: Key, marks: Iterable[BlindMarks]) -> Iterator[JudgedRewrite]:
    """Rewrites with passages for `eirene calibrate gate`, better or worse than the original by most readers.

    To a reader a rewrite is better that is preferred, and worse where it alone is faulty, or the original is preferred.
    Where readers balance it is left out.
    """
    votes: dict[str, list[bool]] = {}
    for one in marks:
        original = key[one.pair].original
        if original and one.faulty and original not in one.faulty:
            votes.setdefault(one.pair, []).append(False)
        elif original and one.preferred != "tie":
            votes.setdefault(one.pair, []).append(one.preferred != original)
    for pair, most in ((key[name], _majority(said)) for name, said in votes.items()):
        before, after = (answer.text for answer in sorted(pair.answers, key=lambda one: ORIGINAL not in one.modes))
        context = tuple(pair.item.context or ())
        if context and most is not None:
            yield JudgedRewrite(question=pair.item.question, context=context, before=before, after=after, better=most)


def labelled_answers(key: Key, marks: Iterable[BlindMarks]) -> Iterator[dict[str, Any]]:
    """A row for each answer for `eirene calibrate detectors`: whether most readers of its pairs call it faulty.

    `faulty` is the label hallucination. Where readers balance the answer is left out.
    """
    votes: dict[tuple[str, str], list[bool]] = {}
    items = {pair.item.id: pair.item for pair in key.values()}
    for one in marks:
        for letter, answer in zip(_LETTERS, key[one.pair].answers, strict=True):
            votes.setdefault((key[one.pair].item.id, answer.text), []).append(letter in one.faulty)
    for (name, text), said in votes.items():
        if (faulty := _majority(said)) is not None:
            row = items[name].model_dump(mode="json", exclude_none=True, exclude={"feedback"})
            yield {**row, "answer": text, "meta": {"labels": {"hallucination": faulty}}}


def _majority(votes: Sequence[bool]) -> bool | None:
    return None if 2 * sum(votes) == len(votes) else 2 * sum(votes) > len(votes)
