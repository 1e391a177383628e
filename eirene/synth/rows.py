"""Synthetic answers made, as items, and the controls on them.

The control rows say how well errors are told by counting alone: near 0.5, or the set flatters whoever counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from eirene._version import __version__
from eirene.core.records import Item, parse_item
from eirene.data.topics import Topic
from eirene.eval.metrics.bootstrap import Estimate, Resamples, clusters_of
from eirene.eval.metrics.ranking import auc_and_ap
from eirene.synth.matching import AnswerGroup, AnswerRecipe, Candidate, Counts, groups_of
from eirene.synth.material import ArgumentPart, ComposedSentence, Tally, answer_of, material_of
from eirene.synth.plans import CORE, Kind
from eirene.synth.responses import bases_of, groups_from


def item_of(group: AnswerGroup, kind: Kind) -> Item:
    """The group's answer of this kind.

    `meta` has: `kind`; `has_coverage_error` and `has_hallucination`, the full errors of the NPOV paper, and
    `has_wrong_side`, `has_repetition`, `has_partial`; the ids of the arguments concerned; `arguments`, a label for each
    given one in order; `sentences`, each with offsets, the side that speaks, what its parts say (offsets, argument,
    kind) and whether one of them was not given (null where it is not known); and the `counts` of the controls.
    """
    candidate = group.answers[kind]
    plan, material = candidate.plan, candidate.material
    names = material.names
    parts = [part for sentence in candidate.sentences for part in sentence.parts]
    return parse_item(
        {
            "id": f"{group.name}-{kind}",
            "question": material.question,
            "answer": answer_of(candidate.sentences),
            "perspectives": [
                {"name": name, "arguments": [point.given for point in points]}
                for name, points in zip(names, plan.given, strict=True)
            ],
            "meta": {
                "topic": material.topic,
                "group": group.name,
                "kind": kind,
                "wording": group.wording,
                **({"source": candidate.source} if candidate.source else {}),
                "has_coverage_error": bool(plan.missing),
                "has_hallucination": bool(plan.foreign),
                "has_wrong_side": _has(parts, "wrong_side"),
                "has_repetition": _has(parts, "repeated"),
                "has_partial": _has(parts, "half"),
                "missing_argument_ids": [point.id for point in plan.missing],
                "foreign_argument_ids": [point.id for point in plan.foreign],
                "misplaced_argument_ids": _ids(parts, "wrong_side"),
                "repeated_argument_ids": _ids(parts, "repeated"),
                "partial_argument_ids": _ids(parts, "half"),
                "arguments": _arguments(candidate, names, parts),
                "sentences": [_sentence(s, names) for s in candidate.sentences],
                "counts": asdict(candidate.counts),
            },
        }
    )


def _has(parts: list[ArgumentPart], kind: str) -> bool:
    return any(part.kind == kind for part in parts)


def _ids(parts: list[ArgumentPart], kind: str) -> list[str]:
    return list(dict.fromkeys(part.argument for part in parts if part.kind == kind))


def _arguments(candidate: Candidate, names: tuple[str, ...], parts: list[ArgumentPart]) -> list[dict[str, Any]]:
    missing, half = {p.id for p in candidate.plan.missing}, set(_ids(parts, "half"))
    return [
        {"id": p.id, "side": names[p.side], "missing": p.id in missing, "partial": p.id in half}
        for points in candidate.plan.given
        for p in points
    ]


def _sentence(sentence: ComposedSentence, names: tuple[str, ...]) -> dict[str, Any]:
    """Of a given response it may be unknown what a sentence says: then nothing is claimed about it."""
    unsupported = any(part.kind == "unsupported" for part in sentence.parts)
    return {
        "start": sentence.start,
        "end": sentence.end,
        "side": None if sentence.side is None else names[sentence.side],
        "unsupported": unsupported if sentence.known or unsupported else None,
        "parts": [
            {
                "start": part.start,
                "end": part.end,
                "argument_id": part.argument,
                "side": names[part.side],
                "kind": part.kind,
            }
            for part in sentence.parts
        ],
    }


DRAWS = 1000
ERRORS = ("coverage", "hallucination")
COUNTS: Mapping[str, Callable[[Counts], float]] = {
    "arguments": lambda c: c.arguments,
    "sentences": lambda c: c.sentences,
    "clauses": lambda c: c.clauses,
    "words": lambda c: c.words,
    "clauses - arguments": lambda c: c.clauses - c.arguments,
    "words - given words": lambda c: c.words - c.argument_words,
}
READ: Mapping[str, Callable[[Counts], float]] = {
    "empty clauses": lambda c: c.empty,
    "repeated arguments": lambda c: c.repeats,
}
"""What takes reading to count. An answer with an argument less, and one with an argument more, cannot be alike in
everything; this is where they differ, and how much it tells."""


@dataclass(frozen=True, slots=True)
class CountedRow:
    """An answer as the controls see it: its topic, the group it was picked in, its kind and its counts."""

    topic: str
    group: str
    kind: Kind
    counts: Counts

    def has(self, error: str) -> bool:
        """Whether it has a coverage error, or a hallucination."""
        return self.kind in (error, "both")


@dataclass(frozen=True, slots=True)
class CountingControl:
    """ROC AUC of one count as a score of one error, with a 95 % interval by bootstrap over topics."""

    error: str
    count: str
    auc: Estimate
    errors: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"error": self.error, "count": self.count, "auc": self.auc.to_json(), "errors": self.errors}


def controls(rows: Sequence[CountedRow], *, seed: int = 0, draws: int = DRAWS) -> list[CountingControl]:
    """The controls of a set of answers: for each error every count, over the kinds of the paper; and for each further
    kind every count, against the answers without an error of the same groups.

    0.5 gives nothing away; 0.4 gives as much away as 0.6.
    """
    resamples = Resamples(draws=draws, seed=seed)
    found = []
    core = [row for row in rows if row.kind in CORE]
    for error in ERRORS:
        found += _of(core, error, [row.has(error) for row in core], resamples)
    for kind in dict.fromkeys(row.kind for row in rows if row.kind not in CORE):
        groups = {row.group for row in rows if row.kind == kind}
        pairs = [row for row in rows if row.group in groups and row.kind in ("none", kind)]
        found += _of(pairs, kind, [row.kind == kind for row in pairs], resamples)
    return found


def _of(rows: Sequence[CountedRow], error: str, labels: Sequence[bool], resamples: Resamples) -> list[CountingControl]:
    topics, numbers = clusters_of([row.topic for row in rows])
    found = []
    for name, count in {**COUNTS, **READ}.items():
        auc = Estimate(None, unscored="no rows")
        if rows:
            metric = auc_and_ap(topics, numbers.tolist(), [float(count(row.counts)) for row in rows], labels)
            auc = resamples.estimate(topics, metric, n=len(rows))[0]
        found.append(CountingControl(error, name, auc, sum(labels)))
    return found


CARD_VERSION = 1


@dataclass(slots=True)
class AnswerTotals:
    """What has been made so far: the answers as the controls see them, and what was left out and why."""

    recipe: AnswerRecipe
    rows: list[CountedRow] = field(default_factory=list)
    groups: int = 0
    left_out: Tally = field(default_factory=Counter)

    def controls(self) -> list[CountingControl]:
        """The control rows of what has been made."""
        return controls(self.rows, seed=self.recipe.seed)

    def card(self, *, inputs: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> dict[str, Any]:
        """The card as plain JSON; the same inputs, settings and version give the same card. `inputs` names the files
        with their SHA-256, `settings` holds what the recipe does not."""
        kinds = Counter(row.kind for row in self.rows)
        return {
            "card": CARD_VERSION,
            "made_by": f"eirene {__version__}, synth npov",
            "inputs": [dict(entry) for entry in inputs],
            "seed": self.recipe.seed,
            "settings": {
                "kinds": list(self.recipe.kinds),
                "wordings": list(self.recipe.wordings),
                "per_topic": self.recipe.per_topic,
                "most": self.recipe.most,
                **settings,
            },
            "rows": len(self.rows),
            "groups": self.groups,
            "topics": len({row.topic for row in self.rows}),
            "by_kind": {kind: kinds[kind] for kind in self.recipe.kinds},
            "left_out": dict(sorted(self.left_out.items())),
            "controls": [control.to_json() for control in self.controls()],
        }


def synthesise(
    topics: Sequence[Topic],
    recipe: AnswerRecipe,
    made: AnswerTotals,
    *,
    responses: Iterable[Item] | None = None,
) -> Iterator[Item]:
    """The rows, group by group in the order of the topics; `made` is kept up to date.

    Without `responses` answers are composed from the topics' arguments. With them, those responses' arguments are
    changed (see `eirene.synth.responses`). The same topics, recipe and responses give the same rows, whatever has been
    made before.

    Examples:
        >>> from eirene.synth import AnswerRecipe, AnswerTotals, synthesise
        >>> from eirene.data.topics import read_topics
        >>> recipe = AnswerRecipe(per_topic=1, seed=7)
        >>> made = AnswerTotals(recipe)
        >>> rows = list(synthesise(read_topics("examples/topics.jsonl"), recipe, made))
        >>> len(rows) == len(made.rows) and rows[0].meta["kind"]
        'none'
    """
    groups: Iterator[AnswerGroup]
    if responses is None:
        groups = (group for topic in topics for group in _of_topic(topic, recipe, made.left_out))
    else:
        groups = groups_from(list(bases_of(responses, topics, made.left_out)), recipe, made.left_out)
    for group in groups:
        made.groups += bool(group.answers)
        yield from _rows(group, recipe, made)


def _of_topic(topic: Topic, recipe: AnswerRecipe, tally: Tally) -> Iterator[AnswerGroup]:
    material = material_of(topic, tally)
    if material is not None:
        yield from groups_of(material, recipe, tally)


def _rows(group: AnswerGroup, recipe: AnswerRecipe, made: AnswerTotals) -> Iterator[Item]:
    for kind in recipe.kinds:
        if kind in group.answers:
            found = group.answers[kind]
            made.rows.append(CountedRow(found.material.topic, group.name, kind, found.counts))
            yield item_of(group, kind)
        else:
            made.left_out[f"{kind}: not possible in a group"] += 1
