"""Pairs labels with scores at each level: answers, sentences, words, arguments and their words.

What can be had by counting, without reading a word: the floors under every detector's figures.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from eirene.core.scores import Error, Score, Scores, Unscored, WordScore
from eirene.eval.datasets.base import Labelled
from eirene.eval.metrics.bootstrap import Array, clusters_of
from eirene.eval.metrics.ranking import Clusters, Flags
from eirene.text.clauses import units_of
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.words import content_words, word_spans

Floors = Mapping[str, float]
"""Counts by their names."""


class CountedText:
    """An item's texts, cut once: what is counted in them."""

    def __init__(self, case: Labelled) -> None:
        self._item = case.item

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences of the answer, cut as detectors cut them."""
        return tuple(split_sentences(self._item.answer))

    @cached_property
    def _clauses(self) -> dict[int, int]:
        """How many clauses each sentence (from 0) has; one that is not cut is one."""
        units = units_of(self._item.answer, self.sentences)
        counts = dict.fromkeys(range(len(self.sentences)), 0)
        for unit in units:
            counts[unit.sentence] += unit.is_clause
        return {n: max(1, count) for n, count in counts.items()}

    @cached_property
    def _n_given(self) -> int:
        perspectives = self._item.perspectives or []
        return sum(len(p.arguments) for p in perspectives) or len(self._item.context or [])

    def of_answer(self) -> Floors:
        """Words, sentences and clauses of the answer; arguments, or passages, that were given."""
        return {
            "words": _n_words(self._item.answer),
            "sentences": len(self.sentences),
            "clauses": sum(self._clauses.values()),
            "given": self._n_given,
        }

    def of_sentence(self, sentence: Sentence) -> Floors:
        """Words and clauses of the sentence, its position, and how many there are."""
        return {
            "words": _n_words(sentence.raw),
            "clauses": self._clauses[sentence.n - 1],
            "position": sentence.n,
            "sentences": len(self.sentences),
        }

    def of_argument(self, group: str, n: int) -> Floors:
        """Words of the argument, its position, how many were given, words of the answer."""
        return {
            "words": _n_words(self.argument(group, n)),
            "position": n,
            "given": self._n_given,
            "answer's words": _n_words(self._item.answer),
        }

    def argument(self, group: str, n: int) -> str:
        """The text of argument `n` (from 1) of a group."""
        return next(p.arguments[n - 1] for p in self._item.perspectives or [] if p.name == group)


def _n_words(text: str) -> int:
    return sum(1 for _ in word_spans(text))


Place = tuple[Hashable, ...]
Known = tuple[Place, bool, Floors]
"""A place in a case, its label, and what can be counted there."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelLevel:
    """Everything of one kind (answers, sentences ...) that has a label for one error, P things in all.

    `labels` [P], True for an error; `cases` [P], the index of each one's case. `values` has for each detector the
    scores [P], NaN where there is none; `reasons` why, and how often. `floors` has for each count its values [P].
    """

    error: Error
    name: str
    labels: Flags
    cases: np.ndarray[Any, np.dtype[np.int64]]
    clusters: Clusters
    values: Mapping[str, Array]
    reasons: Mapping[str, Mapping[str, int]]
    floors: Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class _LevelKind:
    """How a level's places are found in a case, and their scores among a detector's."""

    error: Error
    name: str
    places: Callable[[Labelled, CountedText], Iterator[Known]]
    read: Callable[[Scores], Callable[[Place], Score | None]]


def levels(cases: Sequence[Labelled], scores: Mapping[str, Sequence[Scores]]) -> list[LabelLevel]:
    """The levels at which the cases have labels. `scores` has for each detector one entry a case, in their order."""
    texts = [CountedText(case) for case in cases]
    found = (_level(kind, cases, texts, scores) for kind in _KINDS)
    return [level for level in found if level is not None]


def _level(
    kind: _LevelKind, cases: Sequence[Labelled], texts: Sequence[CountedText], scores: Mapping[str, Sequence[Scores]]
) -> LabelLevel | None:
    known = [(i, *place) for i, case in enumerate(cases) for place in kind.places(case, texts[i])]
    if not known:
        return None
    values, reasons = {}, {}
    for name, by_case in scores.items():
        values[name], reasons[name] = _values(kind, known, by_case)
    return LabelLevel(
        error=kind.error,
        name=kind.name,
        labels=np.array([label for _, _, label, _ in known], dtype=bool),
        cases=np.array([i for i, *_ in known], dtype=np.int64),
        clusters=clusters_of([cases[i].cluster for i, *_ in known]),
        values=values,
        reasons=reasons,
        floors={name: np.array([float(f[name]) for *_, f in known]) for name in known[0][3]},
    )


def _values(
    kind: _LevelKind, known: Sequence[tuple[int, Place, bool, Floors]], scores: Sequence[Scores]
) -> tuple[Array, dict[str, int]]:
    found, reasons = np.full(len(known), np.nan), Counter[str]()
    at, look = -1, None
    for p, (i, place, _, _) in enumerate(known):
        if i != at:
            at, look = i, kind.read(scores[i])
        score = None if look is None else look(place)
        if score is None:
            whole = scores[i].hallucination if kind.error == "hallucination" else scores[i].coverage
            score = whole if isinstance(whole, Unscored) else Unscored(unscored=f"gives no score of this {kind.name}")
        if isinstance(score, Unscored):
            reasons[score.unscored] += 1
        else:
            found[p] = score
    return found, dict(reasons.most_common())


def _answers(error: Error) -> Callable[[Labelled, CountedText], Iterator[Known]]:
    def places(case: Labelled, text: CountedText) -> Iterator[Known]:
        label = case.hallucination if error == "hallucination" else case.coverage
        if label is not None:
            yield (), label, text.of_answer()

    return places


def _sentences(case: Labelled, text: CountedText) -> Iterator[Known]:
    if case.marks is None:
        return
    for sentence, label in zip(text.sentences, case.sentence_labels(text.sentences), strict=True):
        if label is not None:
            yield (sentence.n,), label, text.of_sentence(sentence)


def _words(case: Labelled, text: CountedText) -> Iterator[Known]:
    if case.marks is None:
        return
    for n, word in enumerate(content_words(case.item.answer), start=1):
        label = case.is_faulty(word.start, word.end)
        if label is not None:
            yield (word.start, word.end), label, {"characters": word.end - word.start, "position": n}


def _arguments(case: Labelled, text: CountedText) -> Iterator[Known]:
    for place, label in case.missing.items():
        yield place, label, text.of_argument(*place)


def _argument_words(case: Labelled, text: CountedText) -> Iterator[Known]:
    for (group, n), label in case.missing.items():
        for at, word in enumerate(content_words(text.argument(group, n)), start=1):
            yield (group, n, word.start, word.end), label, {"characters": word.end - word.start, "position": at}


def _table(known: Iterable[tuple[Place, Score]]) -> Callable[[Place], Score | None]:
    return dict(known).get


def _read_argument_words(scores: Scores) -> Callable[[Place], Score | None]:
    known = {(a.group, a.n): _by_offsets(a.words) for a in scores.arguments}

    def look(place: Place) -> Score | None:
        group, n, *offsets = place
        words = known.get((group, n))  # type: ignore[arg-type]  # a group's name and a number
        return None if words is None else words(tuple(offsets))

    return look


def _by_offsets(words: Sequence[WordScore]) -> Callable[[Place], Score | None]:
    """Finds a word's score: its own, or the highest of the words that share a character with it."""
    ordered = sorted(words, key=lambda w: w.start)
    starts = [w.start for w in ordered]
    longest = max((w.end - w.start for w in ordered), default=0)

    def look(place: Place) -> Score | None:
        start, end = cast("tuple[int, int]", place)
        near = ordered[bisect_right(starts, start - longest) : bisect_right(starts, end - 1)]
        shared = [w for w in near if w.end > start]
        own = [w.score for w in shared if (w.start, w.end) == (start, end)]
        return max(own or [w.score for w in shared], default=None)

    return look


_KINDS = (
    _LevelKind("hallucination", "answer", _answers("hallucination"), lambda s: lambda _: s.hallucination),
    _LevelKind(
        "hallucination", "sentence", _sentences, lambda s: _table(((x.n,), x.hallucination) for x in s.sentences)
    ),
    _LevelKind("hallucination", "word", _words, lambda s: _by_offsets(s.words)),
    _LevelKind("coverage", "answer", _answers("coverage"), lambda s: lambda _: s.coverage),
    _LevelKind("coverage", "argument", _arguments, lambda s: _table(((x.group, x.n), x.coverage) for x in s.arguments)),
    _LevelKind("coverage", "argument word", _argument_words, _read_argument_words),
)
