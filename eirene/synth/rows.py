"""A synthetic answer as an item: the truth about it stands in `meta`, where no model is shown it.

The control rows: how well errors are told by counting alone. Near 0.5, or the set flatters whoever counts.

Synthetic answers as training pairs in the curly-braces form: what a model is shown, and what it is to write.

A pair is `{"id", "task", "prompt", "reply", "label"}`; prompt and reply put together are the text that a model is
trained on, with the loss on the reply. Braces in a text become parentheses (see `eirene.prompts.curly`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from eirene.core.errors import InputError
from eirene.core.records import Item, parse_item
from eirene.eval.statistics.bootstrap import Estimate, Resamples, clusters_of
from eirene.eval.statistics.ranking import auc_and_ap
from eirene.prompts.curly import COVERED, FAITHFUL, curly_reply, response_prompt, verdict_prompt
from eirene.synth.compose import ArgumentPart, ComposedSentence, answer_of
from eirene.synth.matching import AnswerGroup, Candidate, Counts
from eirene.synth.plans import CORE, Kind


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
                "counts": _counts(candidate),
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


def _counts(candidate: Candidate) -> dict[str, int]:
    counts = candidate.counts
    return {name: getattr(counts, name) for name in counts.__dataclass_fields__}


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


Task = Literal["hallucination", "coverage", "generate"]
TASKS: tuple[Task, ...] = get_args(Task)
NO, YES = "NO", "YES"
"""The labels of the NPOV paper (section 3.3): NO where there is a full error, YES where there is none."""


def pairs_of(item: Item, tasks: tuple[Task, ...] = TASKS) -> Iterator[dict[str, Any]]:
    """The training pairs of a synthetic answer, one a task; a generator learns from answers without an error alone."""
    arguments = [(side.name, text) for side in item.perspectives or () for text in side.arguments]
    for task in tasks:
        if task == "generate":
            if item.meta["kind"] == "none":
                prompt = response_prompt(item.question, arguments).text
                yield _pair(item, task, prompt, curly_reply(item.answer), None)
            continue
        has_error = item.meta["has_hallucination" if task == "hallucination" else "has_coverage_error"]
        asks = FAITHFUL if task == "hallucination" else COVERED
        label = NO if has_error else YES
        prompt = verdict_prompt(item.question, arguments, item.answer, asks=asks)
        yield _pair(item, task, prompt, curly_reply(label), label)


def parse_tasks(names: str) -> tuple[Task, ...]:
    """Tasks from a list with commas, in the order of `TASKS`; raises `InputError` for one that is not known."""
    asked = [name.strip() for name in names.split(",") if name.strip()]
    wrong = [name for name in asked if name not in TASKS]
    if wrong or not asked:
        what = f"unknown: {', '.join(map(repr, wrong))}" if wrong else "none is named"
        raise InputError(f"{what}; tasks are {', '.join(TASKS)}", field="tasks")
    return tuple(task for task in TASKS if task in asked)


def _pair(item: Item, task: Task, prompt: str, written: str, label: str | None) -> dict[str, Any]:
    found = {"id": f"{item.id}-{task}", "task": task, "prompt": prompt, "reply": written}
    return found if label is None else {**found, "label": label}
