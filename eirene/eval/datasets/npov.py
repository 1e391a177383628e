"""Labelled answers with arguments: known errors, pairs of arguments, and Eirene's own rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from eirene.core.errors import InputError
from eirene.core.records import Item, parse_item
from eirene.core.validation import validated as checked
from eirene.data.json_rows import Row
from eirene.eval.datasets.base import Labelled, Mark, find_span, marked_faults

_SIDES = ("pro", "con")


def npov(data: dict[str, Any], row: Row) -> Labelled | str:
    """An answer of `cases_*` or `mixed_*`, whose errors are known by how it was made.

    Answers with an argument on the wrong side have neither error by definition and are left out. Introductions and
    fillers claim nothing and are not judged. An error-free answer is the other class of every error type.
    """
    if data["error_type"] == "wrong_side":
        return "an argument stands on the wrong side: neither error by definition"
    given = {side: data[f"{side}_arguments"] for side in _SIDES}
    item = parse_item(
        {
            "id": str(data["id"]),
            "question": data["query"],
            "answer": data["response"],
            "perspectives": [
                {"name": side, "arguments": [a["text"] for a in arguments]}
                for side, arguments in given.items()
                if arguments
            ],
        },
        where=row.where,
    )
    lacking = set(data["missing_argument_ids"])
    return Labelled(
        item,
        cluster=str(data["claim_id"]),
        hallucination=bool(data["has_hallucination"]),
        coverage=bool(data["has_coverage_error"]),
        marks=tuple(_marks(data["response"], data["sentences"])),
        missing={
            (side, n): argument["id"] in lacking
            for side, arguments in given.items()
            for n, argument in enumerate(arguments, start=1)
        },
        slices={} if data["error_type"] == "none" else {"error_type": (data["error_type"],)},
    )


def _marks(response: str, sentences: list[dict[str, Any]]) -> Iterator[Mark]:
    """The parts of the sentences; a sentence without a list of parts is one, unless it is an introduction."""
    at = 0
    for sentence in sentences:
        start, end = find_span(response, sentence["text"], at=at) or (at, at)
        parts = sentence.get("parts")
        if parts is None:
            parts = [] if sentence["kind"] == "intro" else [sentence]
        inside = start
        for part in parts:
            span = find_span(response[:end], part["text"].rstrip(". "), at=inside)
            # A part whose wording changed when it was joined to others: it is in the rest of its sentence.
            a, b = span or (inside, end)
            yield Mark(a, b, part["kind"].startswith("unsupported"))
            inside = b
        at = end


def synthetic(data: dict[str, Any], row: Row) -> Labelled | str:
    """An answer of `eirene synth npov`, whose errors are known by how it was made; its topic is the cluster.

    What is neither a full error nor none (an argument on the wrong side, or said in part) is left out. Parts of a
    sentence of which it is not known what it says are not judged.
    """
    item = parse_item(data, where=row.where)
    meta: Any = item.meta
    if meta["has_wrong_side"] or meta["has_partial"]:
        return "an argument stands on the wrong side, or is said in part: neither a full error nor none"
    marks = [
        Mark(part["start"], part["end"], part["kind"] == "unsupported")
        for sentence in meta["sentences"]
        if sentence["unsupported"] is not None
        for part in sentence["parts"]
    ]
    places = [(p.name, n) for p in item.perspectives or [] for n in range(1, len(p.arguments) + 1)]
    return Labelled(
        item,
        cluster=str(meta["topic"]),
        hallucination=bool(meta["has_hallucination"]),
        coverage=bool(meta["has_coverage_error"]),
        marks=tuple(marks),
        missing={place: bool(a["missing"]) for place, a in zip(places, meta["arguments"], strict=True)},
        slices={
            "wording": (str(meta["wording"]),),
            **({} if meta["kind"] == "none" else {"error_type": (meta["kind"],)}),
        },
    )


def equivalence(data: dict[str, Any], row: Row) -> Labelled:
    """A pair of arguments on one side of a claim: the answer (`other`) covers the argument if they are equivalent."""
    return _pair(
        row,
        question=data["claim"],
        side=data["side"],
        given=data["argument"],
        answer=data["other"],
        covered=bool(data["equivalent"]),
        cluster=str(data["claim_id"]),
    )


def key_points(data: dict[str, Any], row: Row) -> Labelled:
    """A pair of ArgKP-2021: the answer (`argument`) covers the key point if annotators matched them."""
    return _pair(
        row,
        question=data["topic"],
        side=data["stance"],
        given=data["key_point"],
        answer=data["argument"],
        covered=bool(data["label"]),
        cluster=data["topic"],
        name=f"{data['arg_id']}-{data['key_point_id']}",
    )


def _pair(
    row: Row, *, question: str, side: str, given: str, answer: str, covered: bool, cluster: str, name: str = ""
) -> Labelled:
    sides = [{"name": side, "arguments": [given]}]
    item = {"question": question, "answer": answer, "perspectives": sides, **({"id": name} if name else {})}
    checked = parse_item(item, where=row.where)
    missing = {(side, 1): not covered}
    return Labelled(checked, cluster, coverage=not covered, missing=missing, slices={"side": (side,)})


class _ArgumentPlace(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    group: str
    n: Annotated[int, Field(ge=1)]


class _Span(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=1)]


class _MetaLabels(BaseModel):
    """`meta.labels` of a row: what is known; a key left out is not known. `missing`, `spans`: all that there are."""

    model_config = ConfigDict(extra="forbid", strict=True)

    hallucination: bool | None = None
    coverage: bool | None = None
    missing: list[_ArgumentPlace] | None = None
    spans: list[_Span] | None = None
    cluster: str | None = None


def own(data: dict[str, Any], row: Row) -> Labelled:
    """A row of Eirene's own form with `labels` in its meta.

    `{"hallucination": bool, "coverage": bool, "missing": [{"group": name, "n": 1}], "spans": [{"start": 0, "end": 9}],
    "cluster": name}`, each key optional. Missing arguments and faulty spans, where they are listed, say whether there
    is an error. Texts and numbers elsewhere in meta are slices. Rows of one question are one cluster by default.
    """
    return own_item(parse_item(data, where=row.where), row.where)


def own_item(item: Item, where: str) -> Labelled:
    """An item that has been read, with `labels` in its meta as `own` has them; `where` it stood."""
    labels = checked(_MetaLabels, item.meta["labels"], where=where, under="meta.labels")
    known = {(p.name, n) for p in item.perspectives or [] for n in range(1, len(p.arguments) + 1)}
    lacking = {(a.group, a.n) for a in labels.missing or []}
    if not lacking <= known:
        group, n = sorted(lacking - known)[0]
        raise InputError(f"there is no argument {n} of {group!r}", field="meta.labels.missing", where=where)
    spans = [(s.start, s.end) for s in labels.spans or []]
    if any(not a < b <= len(item.answer) for a, b in spans):
        raise InputError("a span must lie within the answer", field="meta.labels.spans", where=where)
    return Labelled(
        item,
        cluster=labels.cluster or item.question,
        hallucination=bool(spans)
        if labels.hallucination is None and labels.spans is not None
        else labels.hallucination,
        coverage=bool(lacking) if labels.coverage is None and labels.missing is not None else labels.coverage,
        marks=None if labels.spans is None else marked_faults(item.answer, spans),
        missing={} if labels.missing is None else {place: place in lacking for place in sorted(known)},
        slices=_slices(item.meta),
    )


def _slices(meta: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    plain = {k: v for k, v in meta.items() if isinstance(v, str | int | float) or v is None}
    return {name: (str(value),) for name, value in plain.items()}
