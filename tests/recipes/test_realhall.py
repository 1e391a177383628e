"""RealHall from its four sources as published: what is shown with a question, who labels, what is absent."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from eirene.core.errors import InputError
from eirene.eval.datasets import read_labelled
from eirene.models.chat import ChatModel
from eirene.models.scripted import ScriptedChatModel
from recipes.realhall import has_f1, make, sources_of
from tests.rows import each

COVID = {"data": [{"paragraphs": [
    {"context": f"The virus of kind {n} lives for {n} hours on steel.", "document_id": n,
     "qas": [{"id": n, "question": f"How long does kind {n} live?", "answers": [{"text": f"{n} hours"}]}]}
    for n in range(1, 7)
]}]}  # fmt: skip
DROP = {"nfl_1": {"passage": "The Bears scored 14 points, the Lions 7.", "qa_pairs": [
    {"question": "By how many points did the Bears win?", "query_id": "q1",
     "answer": {"number": "7", "date": {"day": "", "month": "", "year": ""}, "spans": []}},
    {"question": "Who won?", "query_id": "q2", "validated_answers": [{"number": "", "spans": ["the Bears"]}],
     "answer": {"number": "", "date": {}, "spans": ["Bears"]}},
]}}  # fmt: skip
TREE = {"message_tree_id": "t", "prompt": {"message_id": "m1", "text": "Why is the sky blue?", "role": "prompter",
        "lang": "en", "replies": [{"message_id": "m2", "text": "Scattering.", "role": "assistant"}]}}  # fmt: skip
GERMAN = {"message_tree_id": "u", "prompt": {**TREE["prompt"], "message_id": "m3", "lang": "de"}}  # type: ignore[dict-item]
TRIVIA = {"Data": [{"QuestionId": "tc_1", "Question": "Who wrote Hamlet?",
          "Answer": {"Value": "Shakespeare", "Aliases": ["William Shakespeare"]}}]}  # fmt: skip


def sources(folder: Path, *, without: str = "") -> Path:
    for name, text in {
        "200423_covidQA.json": json.dumps(COVID), "drop_dataset_dev.json": json.dumps(DROP),
        "unfiltered-web-dev.json": json.dumps(TRIVIA),
    }.items():  # fmt: skip
        if name != without:
            (folder / name).write_text(text, encoding="utf-8")
    trees = "".join(json.dumps(row) + "\n" for row in (TREE, GERMAN))
    (folder / "2023-04-12_oasst_ready.trees.jsonl.gz").write_bytes(gzip.compress(trees.encode()))
    return folder


def model(messages: Sequence[BaseMessage]) -> str:
    text = str(messages[-1].content)
    return "The Lions won." if "Who won?" in text else "It is 7."


async def test_each_source_becomes_rows_that_detectors_are_evaluated_on(tmp_path: Path) -> None:
    """Section 3.1 and appendix A.3: four retrieved passages, DROP's own, none for the open ones; DROP by F1."""
    answers, annotator = ScriptedChatModel(model), ScriptedChatModel(lambda _: "Made up. Verdict: yes")
    lines: list[str] = []
    told = await make(sources(tmp_path), lines.append, model=ChatModel(answers), annotator=ChatModel(annotator))
    rows: dict[str, Any] = {row["id"]: row for row in map(json.loads, lines)}
    assert len(rows) == 10 and told["DROP"] == "2 of 2 questions answered, 2 labelled, 1 of them hallucinated"
    covid = rows["COVID-QA:3"]
    assert len(covid["context"]) == 4 and "kind 3" in covid["context"][0] and covid["gold"] == "3 hours"
    assert rows["DROP:q1"]["context"] == [DROP["nfl_1"]["passage"]]
    assert {k: rows[f"DROP:{k}"]["meta"]["labels"]["hallucination"] for k in ("q1", "q2")} == {"q1": False, "q2": True}
    assert "context" not in rows["TriviaQA:tc_1"] and "context" not in rows["Open Assistant:m1"]
    assert all("DROP" not in str(call.text) for call in annotator.calls) and len(annotator.calls) == 8
    (tmp_path / "out.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert len(read_labelled(str(tmp_path / "out.jsonl")).cases) == 10


def test_what_is_absent_or_of_another_form_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lacks DROP \(drop_dataset_dev.json\); put the published files there"):
        sources_of(sources(tmp_path, without="drop_dataset_dev.json"))
    (tmp_path / "drop_dataset_dev.json").write_text(json.dumps(COVID), encoding="utf-8")
    with pytest.raises(InputError, match="is no file of DROP as published"):
        sources_of(tmp_path)
    with pytest.raises(InputError, match=r"lacks COVID-QA .*, DROP .*, Open Assistant .*, TriviaQA"):
        sources_of(tmp_path / "nowhere")


@each("answer, references, found", [
    ("It was 1,200 yards.", ["1200"], True),
    ("It was 12 yards.", ["1200 yards"], False),
    ("The Bears.", ["Bears"], True),
    ("The Lions.", ["the Bears"], False),
    ("Chicago-based Bears", ["Lions", "Chicago"], True),
])  # fmt: skip
def test_f1_above_zero_shares_a_word_and_a_number(answer: str, references: list[str], found: bool) -> None:
    assert has_f1(answer, references) is found
