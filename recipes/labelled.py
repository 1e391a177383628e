"""Readers of labelled sets as we laid them out for measuring (DATA of `benchmarks/results.py`): joined, trimmed, split.

With passages: ExpertQA, FRANK, WikiBio. With arguments: NPOV answers and pairs, ArgKP. With nothing: HaluEval and
HaluQuestQA's remarks, which only who knows the world can judge. `read_set` reads these and what
`eirene.eval.datasets.read_labelled` knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from eirene.core.records import parse_item
from eirene.data.haluquestqa import names_whole
from eirene.data.json_rows import Row
from eirene.eval.datasets import FORMS, Labelled, LabelledSet, Mark, read_labelled
from eirene.eval.datasets.base import marked_faults
from eirene.eval.datasets.labelled import Form
from eirene.eval.datasets.published import SUMMARY, passage_item

_SIDES = ("pro", "con")


def find_span(answer: str, text: str, *, at: int = 0) -> tuple[int, int] | None:
    """Where `text` stands in the answer, from `at` on; white space and case may differ. None where it does not."""
    wanted = text.strip()
    if not wanted:
        return None
    start = answer.find(wanted, at)
    if start >= 0:
        return start, start + len(wanted)
    pattern = r"\s+".join(re.escape(word) for word in wanted.split())
    found = re.compile(pattern, re.IGNORECASE).search(answer, at)
    return found.span() if found else None


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
        passage_item(row, "", data["question"], answer, [text for claim in claims for text in claim["evidence"]]),
        cluster=data["question"],
        hallucination=known,
        marks=tuple(marks) if marks else None,
    )


def frank(data: dict[str, Any], row: Row, articles: Mapping[str, Any]) -> Labelled:
    """A summary; it has an error if annotators found one of its sentences not factual (`Factuality` below 1)."""
    faulty = data["Factuality"] < 1
    return Labelled(
        passage_item(
            row, f"{data['hash']}-{data['model_name']}", SUMMARY, data["summary"], [articles[data["hash"]]["article"]]
        ),
        cluster=data["hash"],
        hallucination=faulty,
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
        passage_item(row, str(data["wiki_bio_test_idx"]), data["prompt"], passage, [data["reference"]]),
        cluster=str(data["wiki_bio_test_idx"]),
        hallucination=any(s["label"] != "accurate" for s in data["sentences"]),
        marks=tuple(marks),
    )


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


def equivalence(data: dict[str, Any], row: Row, *, name: str = "") -> Labelled:
    """A pair of arguments on one side of a claim: the answer (`other`) covers the argument if they are equivalent."""
    item = {
        "question": data["claim"],
        "answer": data["other"],
        "perspectives": [{"name": data["side"], "arguments": [data["argument"]]}],
        **({"id": name} if name else {}),
    }
    lacks = not data["equivalent"]
    return Labelled(
        parse_item(item, where=row.where),
        cluster=str(data["claim_id"]),
        coverage=lacks,
        missing={(data["side"], 1): lacks},
    )


def key_points(data: dict[str, Any], row: Row) -> Labelled:
    """A pair of ArgKP-2021: the answer (`argument`) covers the key point if annotators matched them."""
    pair = {
        "claim": data["topic"],
        "claim_id": data["topic"],
        "side": data["stance"],
        "argument": data["key_point"],
        "other": data["argument"],
        "equivalent": data["label"],
    }
    return equivalence(pair, row, name=f"{data['arg_id']}-{data['key_point_id']}")


def haluquestqa(data: dict[str, Any], row: Row) -> Iterator[Labelled]:
    """The two annotated answers to a question. Hallucination: a remark on factuality; coverage: on incompleteness."""
    for which in ("answer1", "answer2"):
        answer, name = data[which], f"{data['source_file'].removesuffix('.txt')}-{which}"
        item = parse_item({"id": name, "question": data["question"], "answer": answer}, where=row.where)
        remarks = [r for r in data["annotations"] if r["target"] == which]
        facts = [r["span"] or "" for r in remarks if r["aspect"] == "factuality"]
        found = [(0, len(answer)) if names_whole(text) else find_span(answer, text) for text in facts]
        spans = [span for span in found if span is not None]
        yield Labelled(
            item,
            cluster=item.question,
            hallucination=bool(facts),
            coverage=any(r["aspect"] == "incomplete_ans" for r in remarks),
            marks=marked_faults(answer, spans) if len(spans) == len(found) else None,
        )


OURS: tuple[Form, ...] = (
    Form("NPOV answers", "query,response,pro_arguments,con_arguments,error_type", npov),
    Form("NPOV equivalence", "claim_id,argument,other,equivalent", equivalence),
    Form("ArgKP-2021", "key_point,argument,label,topic", key_points),
    Form("ExpertQA", "question,answer,claims,system", expertqa),
    Form("FRANK", "hash,summary,Factuality", frank, ("articles.jsonl", "hash")),
    Form("WikiBio GPT-3", "wiki_bio_test_idx,passage,sentences", wikibio),
    Form("HaluEval", "query,response,hallucination,spans", halueval),
    Form("HaluQuestQA", "answer1,answer2,annotations", haluquestqa),
)


def read_set(path: str) -> LabelledSet:
    """The labelled answers of a file in one of these forms, or in one that the package reads."""
    return read_labelled(path, forms=(*OURS, *FORMS))
