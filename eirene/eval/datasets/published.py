"""Readers of published labelled sets: with passages, with arguments, and with nothing given.

With passages: BEGIN, ExpertQA, FRANK, QA-Feedback, RAGTruth, WikiBio. With arguments: NPOV answers and pairs, ArgKP,
what `eirene synth npov` makes. With nothing: FacTool, HaluEval, HaluQuestQA, which only who knows the world can judge.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from eirene.core.records import Item, parse_item
from eirene.data.haluquestqa import names_whole
from eirene.data.json_rows import Row
from eirene.eval.datasets.base import Labelled, Mark, find_span, marked_faults, parse_feedback_case

_SUMMARY = "What does the text say?"
_TALK = "What can be said to this?"
_OTHER_PREDICTIONS = ("prediction 2", "prediction 3", "prediction 4")
_UNFAITHFUL = ("Unverifiable", "Wrong-Grounding")
_SIDES = ("pro", "con")
_FRANK_KINDS = ("RelE", "EntE", "CircE", "OutE", "GramE", "CorefE", "LinkE", "Other")


def _item(row: Row, name: str, question: str, answer: str, context: list[str]) -> Item:
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
        _item(row, "", question, data["response"], [data["knowledge"]]),
        cluster=data["knowledge"],
        hallucination={"Not fully attributable": True, "Fully attributable": False}[label],
        slices={"data_source": (data["data_source"],), "model_name": (data["model_name"],)},
    )


def expertqa(data: dict[str, Any], row: Row) -> Labelled:
    """An answer judged claim by claim against the evidence shown with each claim; all evidence is the given text.

    Faulty: support Partial or Incomplete. Claims without evidence, or that need none, are not judged; an answer with
    such a claim and no faulty one is not known to be free of errors.
    """
    answer, claims = data["answer"], data["claims"]
    faulty = {"Complete": False, "Partial": True, "Incomplete": True}
    labels = [faulty.get(claim["support"]) for claim in claims]
    marks = []
    for claim, label in zip(claims, labels, strict=True):
        span = None if label is None else find_span(answer, claim["claim"])
        if span is not None and label is not None:
            marks.append(Mark(*span, label))
    known = True if True in labels else False if labels and None not in labels else None
    return Labelled(
        _item(row, "", data["question"], answer, [text for claim in claims for text in claim["evidence"]]),
        cluster=data["question"],
        hallucination=known,
        marks=tuple(marks) if marks else None,
        slices={"field": (str(data["field"]),), "system": (str(data["system"]),)},
    )


def frank(data: dict[str, Any], row: Row, articles: Mapping[str, Any]) -> Labelled:
    """A summary; it has an error if annotators found one of its sentences not factual (`Factuality` below 1)."""
    faulty = data["Factuality"] < 1
    kinds = tuple(kind for kind in _FRANK_KINDS if data[kind] < 1)
    return Labelled(
        _item(
            row, f"{data['hash']}-{data['model_name']}", _SUMMARY, data["summary"], [articles[data["hash"]]["article"]]
        ),
        cluster=data["hash"],
        hallucination=faulty,
        slices={
            "dataset": (data["dataset"],),
            "model_name": (data["model_name"],),
            **({"error": kinds} if kinds else {}),
        },
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
    question, passages = _SUMMARY, [source]
    if data["task"] == "qa":
        question = source["question"]
        passages = [p for p in source["passages"].split("\n\n") if p.strip()]
    elif not isinstance(source, str):
        passages = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in source.items()]
    labels = data["labels"]
    return Labelled(
        _item(row, f"{data['source_id']}-{data['model']}", question, data["response"], passages),
        cluster=str(data["source_id"]),
        hallucination=bool(labels),
        marks=marked_faults(data["response"], ((mark["start"], mark["end"]) for mark in labels)),
        slices={
            "task": (data["task"],),
            "model": (data["model"],),
            **({"label_type": tuple(dict.fromkeys(m["label_type"] for m in labels))} if labels else {}),
        },
    )


def wikibio(data: dict[str, Any], row: Row) -> Labelled:
    """A passage that GPT-3 wrote, its sentences judged; the Wikipedia text is given. Minor and major errors count."""
    passage, at, marks = data["passage"], 0, []
    for sentence in data["sentences"]:
        span = find_span(passage, sentence["text"], at=at)
        if span is not None:
            marks.append(Mark(*span, sentence["label"] != "accurate"))
            at = span[1]
    return Labelled(
        _item(row, str(data["wiki_bio_test_idx"]), data["prompt"], passage, [data["reference"]]),
        cluster=str(data["wiki_bio_test_idx"]),
        hallucination=any(s["label"] != "accurate" for s in data["sentences"]),
        marks=tuple(marks),
    )


def factool(data: dict[str, Any], row: Row) -> Labelled:
    """An answer of a chat model, judged as a whole: an error if it is not factual."""
    item = parse_item({"question": data["prompt"], "answer": data["response"]}, where=row.where)
    return Labelled(item, cluster=item.question, hallucination=not data["label"])


def halueval(data: dict[str, Any], row: Row) -> Labelled:
    """An answer of a chat model with the texts that annotators marked; one that is not found leaves the places open."""
    answer = data["response"]
    item = parse_item({"question": data["query"], "answer": answer}, where=row.where)  # the set's ids are in part blank
    faulty = {"yes": True, "no": False}[data["hallucination"]]
    found = [find_span(answer, line) for span in data["spans"] for line in span.split("\n") if line.strip()]
    spans = [span for span in found if span is not None]
    placed = bool(spans) == faulty and len(spans) == len(found)
    marks = marked_faults(answer, spans) if placed else None
    return Labelled(item, cluster=item.question, hallucination=faulty, marks=marks)


def haluquestqa(data: dict[str, Any], row: Row) -> Iterator[Labelled]:
    """The two annotated answers to a question. Hallucination: a remark on factuality; coverage: on incompleteness."""
    for which, item in haluquestqa_answers(data, row):
        answer = item.answer
        remarks = [r for r in data["annotations"] if r["target"] == which]
        facts = [r["span"] or "" for r in remarks if r["aspect"] == "factuality"]
        found = [marked_place(answer, text) for text in facts]
        spans = [span for span in found if span is not None]
        yield Labelled(
            item,
            cluster=item.question,
            hallucination=bool(facts),
            coverage=any(r["aspect"] == "incomplete_ans" for r in remarks),
            marks=marked_faults(answer, spans) if len(spans) == len(found) else None,
            slices={"category": (data["category"],), "source": (data[f"{which}_source"],)},
        )


def marked_place(answer: str, span: str) -> tuple[int, int] | None:
    """Where a remark's text stands; the word for the answer itself is on all of it."""
    return (0, len(answer)) if names_whole(span) else find_span(answer, span)


def haluquestqa_answers(data: dict[str, Any], row: Row) -> Iterator[tuple[str, Item]]:
    """`answer1` and `answer2`, each as an item."""
    for which in ("answer1", "answer2"):
        name = f"{data['source_file'].removesuffix('.txt')}-{which}"
        yield which, parse_item({"id": name, "question": data["question"], "answer": data[which]}, where=row.where)


def haluquestqa_sentences(data: dict[str, Any], row: Row) -> Labelled:
    """An answer whose sentences are tagged Complete or Incomplete: a coverage error if one is Incomplete."""
    case = parse_feedback_case(row)
    return Labelled(case.item, cluster=case.item.question, coverage=case.lacks)


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
