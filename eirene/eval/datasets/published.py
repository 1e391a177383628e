"""Readers of published labelled sets: what each label says of an answer.

Sets with one label an answer are rows of a table: a reader of `eirene.data.published`, a column, and what its words
say. The others mark sentences, claims or spans.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eirene.core.records import Item, parse_item
from eirene.data import haluquestqa as hqa
from eirene.data.json_rows import Row
from eirene.data.published import ASKS_TEXT, READERS
from eirene.eval.datasets.base import Labelled, Mark, list_of, marked_faults, meaning, parse_feedback_case, stretch

_SIDES = ("pro", "con")
_OTHER_PREDICTIONS = ("prediction 2", "prediction 3", "prediction 4")
_UNFAITHFUL = dict.fromkeys(("Unverifiable", "Wrong-Grounding"), True)
_UNFAITHFUL |= dict.fromkeys(("Irrelevant", "Redundant", "Incoherent"), False)
_FRANK = dict.fromkeys(("RelE", "EntE", "CircE", "OutE", "GramE", "CorefE", "LinkE", "OtherE"), True) | {"NoE": False}
_WRONG = {"accurate": 0.0, "minor_inaccurate": 0.5, "major_inaccurate": 1.0}
"""WikiBio GPT-3 (Manakul et al. 2023, section 6): a passage's grade is the mean of its sentences'."""


def passage_item(row: Row, name: str, question: str, answer: str, context: Iterable[str]) -> Item:
    """The item of an answer, each passage once; without a `name` it has an id of its text."""
    passages = [text for text in dict.fromkeys(context) if text.strip()]
    data = {"question": question, "answer": answer, **({"id": name} if name else {})}
    return parse_item({**data, "context": passages} if passages else data, where=row.where)


def labelled_by(
    reader: str, column: str, says: Mapping[str, bool | None], *, spans: str | None = None
) -> Callable[[dict[str, Any], Row], list[Labelled | str]]:
    """Reads a set with one label an answer, under `column`: whether its words say that there is a hallucination.

    None: neither. `spans` has the texts that annotators marked, one below another.
    """

    def one(row: Row) -> Labelled | str:
        data: Any = row.data
        fields = READERS[reader].read(data, row.where).values
        if not str(fields.get("id", "")).strip():  # in part blank
            fields.pop("id", None)
        item = parse_item(fields, where=row.where)
        wrong = meaning(says, data[column], column)
        if wrong is None:
            return f"{data[column]}: neither right nor wrong"
        told = list_of(data[spans], spans, str) if spans and spans in data else None
        if told is not None and not wrong and any(map(str.strip, told)):
            return "labelled as sound, with words marked"
        marks = None if told is None else placed(item.answer, told, faulty=wrong)
        return Labelled(item, "\n".join(item.context or [item.question]), hallucination=wrong, marks=marks)

    spread = READERS[reader].spread or (lambda row: (row,))
    return lambda _, row: [one(answer) for answer in spread(row)]


def placed(answer: str, texts: Iterable[str], *, faulty: bool) -> tuple[Mark, ...] | None:
    """The marks of an answer of which these texts are faulty; None where one is not found, or they belie `faulty`."""
    found = [hqa.find_span(answer, line) for text in texts for line in text.split("\n") if line.strip()]
    spans = [span for span in found if span is not None]
    return marked_faults(answer, spans) if bool(spans) is faulty and len(spans) == len(found) else None


def by_offsets(answer: str, faults: Iterable[Mapping[str, Any]]) -> tuple[Mark, ...] | None:
    """The marks of an answer of which these stretches are faulty; None where one does not stand in it."""
    spans = [stretch(answer, fault) for fault in faults]
    return None if None in spans else marked_faults(answer, filter(None, spans))


def in_turn(answer: str, judged: Iterable[tuple[str, bool]]) -> tuple[Mark, ...]:
    """The marks of texts that stand in the answer one after another, each with whether it is faulty."""
    marks, at = [], 0
    for text, faulty in judged:
        span = hqa.find_span(answer, text, at=at)
        if span is not None:
            marks.append(Mark(*span, faulty))
            at = span[1]
    return tuple(marks)


def qa_feedback(data: dict[str, Any], row: Row) -> Labelled:
    """The annotated answer. Hallucination: spans that contradict the passages or are not in them; other faults of it
    (irrelevant, redundant, incoherent) are none. Coverage error: annotators listed information that is missing. The
    model's three other predictions are the samples of `selfcheck-*`.
    """
    case = parse_feedback_case(row)
    others = [data[key] for key in _OTHER_PREDICTIONS if isinstance(data.get(key), str) and data[key].strip()]
    item = case.item.model_copy(update={"meta": {**case.item.meta, "samples": others}}) if others else case.item
    errors = list_of(data["feedback"]["errors"], "errors", dict)
    spans = [e for e in errors if meaning(_UNFAITHFUL, e["error type"], "error type")]
    return Labelled(
        item,
        cluster=item.question,
        hallucination=bool(spans) if case.item.context else None,
        coverage=case.lacks,
        marks=by_offsets(case.item.answer, spans) if case.item.context else None,
    )


def ragtruth(data: dict[str, Any], row: Row, told: Mapping[str, Any]) -> Labelled:
    """A response with the spans that annotators marked as conflicting with the source, `told`, or as not in it."""
    source = told.get("source_info", told["source"])  # beside `source_info`, `source` names where the text is from
    question, passages = ASKS_TEXT, [source]
    if isinstance(source, dict) and {"question", "passages"} <= set(source):
        question = source["question"]
        passages = [p for p in source["passages"].split("\n\n") if p.strip()]
    elif not isinstance(source, str):
        passages = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in source.items()]
    labels = list_of(data["labels"], "labels", dict)
    return Labelled(
        passage_item(row, f"{data['source_id']}-{data['model']}", question, data["response"], passages),
        cluster=str(data["source_id"]),
        hallucination=bool(labels),
        marks=by_offsets(data["response"], labels),
        system=data["model"],
    )


def frank(data: dict[str, Any], row: Row, told: Mapping[str, Any]) -> Labelled:
    """A summary; it has an error if annotators found one of its sentences not factual (`Factuality` below 1).

    `told` has article and summary (`benchmark_data.json`).
    """
    name, factual = f"{data['hash']}-{data['model_name']}", float(data["Factuality"])
    if not 0 <= factual <= 1:
        raise ValueError(f"'Factuality' must be from 0 to 1, got {factual}")
    return Labelled(
        passage_item(row, name, ASKS_TEXT, told["summary"], [told["article"]]),
        cluster=data["hash"],
        hallucination=factual < 1,
        grade=1 - factual,
        system=data["model_name"],
    )


def frank_sentences(data: dict[str, Any], row: Row) -> Labelled:
    """A summary whose sentences annotators judged: faulty is one of which no majority says that there is no error."""
    texts, faulty = list_of(data["summary_sentences"], "summary_sentences", str), list[bool]()
    for told in list_of(data["summary_sentences_annotations"], "summary_sentences_annotations", dict):
        found = [[meaning(_FRANK, kind, "annotator") for kind in list_of(said, who, str)] for who, said in told.items()]
        if not found or [] in found:
            raise ValueError(
                f"'summary_sentences_annotations' lacks what an annotator says of sentence {len(faulty) + 1}"
            )
        faulty.append(2 * sum(map(any, found)) >= len(found))
    if not len(faulty) == len(texts) > 0:
        raise ValueError(f"'summary_sentences_annotations' judges {len(faulty)} of {len(texts)} sentences")
    named = {**data, "Factuality": 1 - sum(faulty) / len(faulty)}
    return replace(frank(named, row, data), marks=in_turn(data["summary"], zip(texts, faulty, strict=True)))


def wikibio(data: dict[str, Any], row: Row) -> Labelled:
    """A passage that GPT-3 wrote, its sentences judged; the Wikipedia text is given. Minor and major errors count.

    The twenty other passages are the samples of `selfcheck-*`.
    """
    text, sentences = data["gpt3_text"], list_of(data["gpt3_sentences"], "gpt3_sentences", str)
    grades = [meaning(_WRONG, label, "annotation") for label in list_of(data["annotation"], "annotation", str)]
    if len(grades) != len(sentences):
        raise ValueError(f"'annotation' has {len(grades)} labels for {len(sentences)} sentences")
    name = str(data["wiki_bio_test_idx"])
    item = passage_item(row, name, data.get("prompt", ASKS_TEXT), text, [data["wiki_bio_text"]])
    told = list_of(data.get("gpt3_text_samples") or [], "gpt3_text_samples", str)
    samples = [sample for sample in told if sample.strip()]
    return Labelled(
        item.model_copy(update={"meta": {"samples": samples}}) if samples else item,
        cluster=name,
        hallucination=any(grades),
        marks=in_turn(text, zip(sentences, map(bool, grades), strict=True)),
        grade=sum(grades) / len(grades) if grades else None,
    )


def expertqa(data: dict[str, Any], row: Row) -> list[Labelled]:
    """Answers of several systems, judged claim by claim against the evidence shown with each claim.

    Faulty: support Partial or Incomplete. Claims without evidence, or that need none, are not judged; an answer with
    such a claim and no faulty one is not known to be free of errors. All evidence is the given text.
    """
    return [_of_expert(data["question"], name, told, row) for name, told in data["answers"].items()]


def _of_expert(question: str, system: str, told: Mapping[str, Any], row: Row) -> Labelled:
    answer, claims = told["answer_string"], list_of(told["claims"], "claims", dict)
    evidence = [text for claim in claims for text in list_of(claim["evidence"] or [], "evidence", str)]
    faulty = {"Complete": False, "Partial": True, "Incomplete": True}
    labels: Sequence[bool | None] = [faulty.get(claim["support"]) for claim in claims]
    judged = zip((claim["claim_string"] for claim in claims), labels, strict=True)
    spans = [(hqa.find_span(answer, text), label) for text, label in judged if label is not None]
    marks = tuple(Mark(*span, label) for span, label in spans if span is not None)
    return Labelled(
        passage_item(row, "", question, answer, evidence),
        cluster=question,
        hallucination=True if True in labels else False if labels and None not in labels else None,
        marks=marks or None,
        system=system,
    )


def haluquestqa(data: dict[str, Any], row: Row) -> Iterator[Labelled]:
    """The two annotated answers to a question. Hallucination: a remark on factuality; coverage: on incompleteness."""
    for which in (1, 2):
        fields = hqa.read({**data, hqa.WHICH: which}, row.where).values
        item = parse_item({name: fields[name] for name in ("id", "question", "answer")}, where=row.where)
        facts = [span for span, _ in hqa.remarks(data, "factuality", which, row.where)]
        whole = [item.answer if hqa.names_whole(span) else span for span in facts]
        yield Labelled(
            item,
            cluster=item.question,
            hallucination=bool(facts),
            coverage=bool(hqa.remarks(data, "incomplete_ans", which, row.where)),
            marks=placed(item.answer, whole, faulty=bool(facts)),
            system=data[f"ans{which}_label"],
        )


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
    )


def _marks(response: str, sentences: list[dict[str, Any]]) -> Iterator[Mark]:
    """The parts of the sentences; a sentence without a list of parts is one, unless it is an introduction."""
    at = 0
    for sentence in sentences:
        start, end = hqa.find_span(response, sentence["text"], at=at) or (at, at)
        parts = sentence.get("parts")
        if parts is None:
            parts = [] if sentence["kind"] == "intro" else [sentence]
        inside = start
        for part in parts:
            span = hqa.find_span(response[:end], part["text"].rstrip(". "), at=inside)
            # A part whose wording changed when it was joined to others: it is in the rest of its sentence.
            a, b = span or (inside, end)
            yield Mark(a, b, part["kind"].startswith("unsupported"))
            inside = b
        at = end
