"""Readers of published labelled sets: with passages, with arguments, and with nothing given.

With passages: BEGIN, QA-Feedback, RAGTruth. With arguments: what `eirene synth npov` makes. With nothing: FacTool and
the tagged sentences of HaluQuestQA, which only who knows the world can judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from eirene.core.records import Item, parse_item
from eirene.data.json_rows import Row
from eirene.eval.datasets.base import Labelled, Mark, marked_faults, parse_feedback_case

SUMMARY = "What does the text say?"
_TALK = "What can be said to this?"
_OTHER_PREDICTIONS = ("prediction 2", "prediction 3", "prediction 4")
_UNFAITHFUL = ("Unverifiable", "Wrong-Grounding")


def passage_item(row: Row, name: str, question: str, answer: str, context: list[str]) -> Item:
    """The item of an answer, each passage once; without a `name` it has an id of its text."""
    passages = [text for text in dict.fromkeys(context) if text.strip()]
    data = {"question": question, "answer": answer, **({"id": name} if name else {})}
    return parse_item({**data, "context": passages} if passages else data, where=row.where)


def begin(data: dict[str, Any], row: Row) -> Labelled | str:
    """A dialogue turn that is attributable to a snippet or not; what claims nothing ("Generic") is left out."""
    label = data["begin_label"]
    if label == "Generic":
        return "Generic: claims nothing that could be attributed"
    question = data["message"] if data["message"].strip() else _TALK
    return Labelled(
        passage_item(row, "", question, data["response"], [data["knowledge"]]),
        cluster=data["knowledge"],
        hallucination={"Not fully attributable": True, "Fully attributable": False}[label],
    )


def qa_feedback(data: dict[str, Any], row: Row) -> Labelled:
    """The annotated answer. Hallucination: spans that contradict the passages or are not in them; other faults of it
    (irrelevant, redundant, incoherent) are none. Coverage error: annotators listed information that is missing. The
    model's three other predictions are the samples of `selfcheck-*`.
    """
    case = parse_feedback_case(row)
    others = [data[key] for key in _OTHER_PREDICTIONS if isinstance(data.get(key), str) and data[key].strip()]
    item = case.item.model_copy(update={"meta": {**case.item.meta, "samples": others}}) if others else case.item
    errors = data["feedback"]["errors"]
    spans = [(e["start"], e["end"]) for e in errors if e["error type"] in _UNFAITHFUL]
    return Labelled(
        item,
        cluster=item.question,
        hallucination=bool(spans) if case.item.context else None,
        coverage=case.lacks,
        marks=marked_faults(case.item.answer, spans) if case.item.context else None,
    )


def ragtruth(data: dict[str, Any], row: Row, sources: Mapping[str, Any]) -> Labelled:
    """A response with the spans that annotators marked as conflicting with the source or as not in it."""
    source = sources[str(data["source_id"])]["source"]
    question, passages = SUMMARY, [source]
    if data["task"] == "qa":
        question = source["question"]
        passages = [p for p in source["passages"].split("\n\n") if p.strip()]
    elif not isinstance(source, str):
        passages = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in source.items()]
    labels = data["labels"]
    return Labelled(
        passage_item(row, f"{data['source_id']}-{data['model']}", question, data["response"], passages),
        cluster=str(data["source_id"]),
        hallucination=bool(labels),
        marks=marked_faults(data["response"], ((mark["start"], mark["end"]) for mark in labels)),
    )


def factool(data: dict[str, Any], row: Row) -> Labelled:
    """An answer of a chat model, judged as a whole: an error if it is not factual."""
    item = parse_item({"question": data["prompt"], "answer": data["response"]}, where=row.where)
    return Labelled(item, cluster=item.question, hallucination=not data["label"])


def haluquestqa_sentences(data: dict[str, Any], row: Row) -> Labelled:
    """An answer whose sentences are tagged Complete or Incomplete: a coverage error if one is Incomplete."""
    case = parse_feedback_case(row)
    return Labelled(case.item, cluster=case.item.question, coverage=case.lacks)


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
    )
