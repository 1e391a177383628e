"""Readers of labelled sets as we laid them out for measuring (DATA of `benchmarks/results.py`): joined, trimmed, split.

ExpertQA, FRANK, WikiBio, HaluEval and HaluQuestQA are read as they were published, but for the names of columns. With
arguments: NPOV answers and pairs, ArgKP. `read_set` reads these and what `eirene.eval.datasets.read_labelled` knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eirene.core.records import parse_item
from eirene.data.json_rows import Row
from eirene.eval.datasets import FORMS, Labelled, LabelledSet, published, read_labelled
from eirene.eval.datasets.labelled import Form


def expertqa(data: dict[str, Any], row: Row) -> list[Labelled]:
    """One system's answer."""
    claims = [{**claim, "claim_string": claim["claim"]} for claim in data["claims"]]
    answers = {data["system"]: {"answer_string": data["answer"], "claims": claims}}
    return published.expertqa({"question": data["question"], "answers": answers}, row)


def frank(data: dict[str, Any], row: Row, article: Mapping[str, Any]) -> Labelled:
    """A summary, its article beside it."""
    return published.frank(data, row, {"summary": data["summary"], "article": article["article"]})


def wikibio(data: dict[str, Any], row: Row) -> Labelled:
    """A passage, without the twenty others."""
    sentences, labels = ([part[key] for part in data["sentences"]] for key in ("text", "label"))
    told = {"gpt3_text": data["passage"], "wiki_bio_text": data["reference"]}
    return published.wikibio({**data, **told, "gpt3_sentences": sentences, "annotation": labels}, row)


def halueval(data: dict[str, Any], row: Row) -> Labelled:
    """An answer of a chat model with the texts that annotators marked."""
    item = parse_item({"question": data["query"], "answer": data["response"]}, where=row.where)
    faulty = {"yes": True, "no": False}[data["hallucination"]]
    marks = published.placed(item.answer, data["spans"], faulty=faulty)
    return Labelled(item, cluster=item.question, hallucination=faulty, marks=marks)


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
    """The two annotated answers to a question; the remarks are a list of objects."""
    told = {"source_file": data["source_file"], "question_text": data["question"]}
    told |= {f"ans{n}_text": data[f"answer{n}"] for n in (1, 2)}
    told |= {f"ans{n}_label": f"{data[f'answer{n}_source']}_answer" for n in (1, 2)}
    for aspect in ("factuality", "incomplete_ans"):
        remarks = [remark for remark in data["annotations"] if remark["aspect"] == aspect]
        columns = (("span", "span"), ("reason", "reason"), ("label", "target"))
        told |= {f"{aspect}_{part}": repr([remark.get(key) or "" for remark in remarks]) for part, key in columns}
    return published.haluquestqa(told, row)


OURS: tuple[Form, ...] = (
    Form("NPOV equivalence", "claim_id,argument,other,equivalent", equivalence),
    Form("ArgKP-2021", "key_point,argument,label,topic", key_points),
    Form("ExpertQA", "question,answer,claims,system", expertqa),
    Form("FRANK", "hash,summary,Factuality", frank, (("articles.jsonl",), "hash")),
    Form("WikiBio GPT-3", "wiki_bio_test_idx,passage,sentences", wikibio),
    Form("HaluEval", "query,response,hallucination,spans", halueval),
    Form("HaluQuestQA", "answer1,answer2,annotations", haluquestqa),
)


def read_set(path: str) -> LabelledSet:
    """The labelled answers of a file in one of these forms, or in one that the package reads."""
    return read_labelled(path, forms=(*OURS, *FORMS))
