"""Critics tuned on the spot, of completeness and of hallucinations, are asked as they were trained."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from eirene.agent.run import refine
from eirene.core.critique import Finding, HallucinationKind
from eirene.core.errors import InputError
from eirene.core.findings.kinds import finding_of
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.data.haluquestqa import parse_tagged_answer
from eirene.data.json_rows import Row
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import HALLUCINATION, LocalFeedback
from eirene.models.local.layout import CarriedPrompt
from eirene.models.local.model import load_local
from eirene.models.local.sampling import LocalSampling
from eirene.prompts import load_prompt
from eirene.text.sentences import split_sentences
from recipes.train.critics import (
    critic_exchange,
    feedback_exchange,
    prompt_for,
    read_marked,
    train_critic,
    train_feedback,
)
from recipes.train.recipe import CriticRecipe, FeedbackRecipe
from tests.tiny_llama import make_llama

TAGGED = [
    {
        "question": f"is it {number}?",
        "sentences": [
            {"text": f"this is {kind}.", "tag": "Complete" if kind == "good" else "Incomplete",
             "reason": "" if kind == "good" else "detail"}
            for kind in kinds
        ],
        "instruction": "Judge the statements.",
    }
    for number, kinds in enumerate([("good", "bad"), ("bad", "good"), ("bad", "bad"), ("good", "good")])
]  # fmt: skip


def marked(name: str, answer: str, given: str, *errors: tuple[HallucinationKind, str, str]) -> dict[str, Any]:
    found: list[Finding] = []
    for kind, wrong, right in errors:
        start = answer.index(wrong)
        found.append(finding_of(kind, start, start + len(wrong), text=answer, edit=right))
    findings = [f.model_dump(mode="json") for f in found]
    return {"id": name, "question": "What is it?", "answer": answer, "context": [given], "meta": {"findings": findings}}


MARKED = [
    marked("a", "The dam is old. It was built in 1899.", "The dam was built in 1890.", ("entity", "1899", "1890")),
    marked("b", "The pier is long. It won a prize.", "The pier is long.", ("invented", "It won a prize.", "")),
    marked("c", "The dam is old. It was built in 1890.", "The dam was built in 1890."),
    marked("d", "The pier is long.", "The pier is long."),
]
SHORT: dict[str, Any] = {"max_tokens": 600, "batch_size": 4, "micro_batch": 4}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prompt = load_prompt("hallucination_tuned")
    tags = "<entity><delete></delete><mark></mark></entity><invented></invented>"
    texts = [*map(str, TAGGED), prompt.user, tags, *map(str, MARKED)] * 3
    return make_llama(tmp_path_factory.mktemp("base"), texts=texts, vocabulary=700)


def write(file: Path, rows: list[dict[str, Any]]) -> str:
    file.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return str(file)


def answer(row: dict[str, Any]) -> Any:
    return parse_tagged_answer(Row("row", row))


@pytest.mark.slow
def test_a_feedback_model_learns_what_to_say_and_hf_loads_it_with_its_prompt(base: Path, tmp_path: Path) -> None:
    """In full: the loss falls to near nothing, and twenty samples of a trained answer mostly say what it was taught."""
    recipe = FeedbackRecipe(epochs=40, learning_rate=1e-2, max_tokens=300)
    data = write(tmp_path / "rows.jsonl", TAGGED * 2)
    trained = train_feedback(data, tmp_path / "out", base=str(base), recipe=recipe, device="cpu")
    losses = trained.card["figures"]["train_loss"]
    assert losses[0] > 1.0 and losses[-1] < 0.1
    model = LocalFeedback(load_local(f"hf:{trained.folder}", device="cpu"), sampling=LocalSampling(max_new_tokens=60))
    taught = answer(TAGGED[0])
    item = Item(question=taught.question, answer=taught.answer)
    request = FeedbackRequest(item, taught.answer, taught.sentences, seed=0)

    async def twenty() -> list[Any]:
        return [s async for s in model.draw(request, start=0, count=20, meter=Meter())]

    assert sum(s.tags == ("Complete", "Incomplete") for s in asyncio.run(twenty())) >= 15


def test_a_feedback_model_leaves_an_adapter_and_a_card_with_what_went_in(base: Path, tmp_path: Path) -> None:
    """Two steps of a LoRA: it loads alone and is asked as it was trained; a longer row is left out and counted."""
    data = write(tmp_path / "rows.jsonl", [*TAGGED, {**TAGGED[1], "question": "is it long?" * 100}])
    dev = write(tmp_path / "dev.jsonl", [{**TAGGED[0], "question": "is it new?"}])
    recipe = FeedbackRecipe(method="lora", epochs=1, max_tokens=300, lora_rank=4, gradient_checkpointing=True)
    trained = train_feedback(data, tmp_path / "out", base=str(base), recipe=recipe, dev=dev, device="cpu")
    names = {p.name for p in trained.folder.iterdir()}
    assert {"adapter_model.safetensors", "eirene_prompt.json", "card.json", "README.md", "tokenizer.json"} <= names
    assert not {"model.safetensors", "checkpoints"} & names
    model = load_local(f"hf:{trained.folder}", device="cpu")
    assert model.name == f"hf:{base}+{trained.folder}"
    facts = trained.card["data"]
    assert (facts["answers"], facts["incomplete_sentences"], facts["left_out"], len(facts["sha256"])) == (5, 5, 1, 64)
    assert len(trained.card["figures"]["dev_loss"]) == 1
    assert facts["sha256"] in (trained.folder / "README.md").read_text()
    taught = answer(TAGGED[1])
    item = Item(question=taught.question, answer=taught.answer)
    request = FeedbackRequest(item, taught.answer, taught.sentences, seed=0)
    example = feedback_exchange(taught, prompt_for([taught], "instruct")).encoded(model.tokenizer)
    assert LocalFeedback(model).prompt_ids(request) == list(example.ids[: example.n_prompt])
    learnt = model.tokenizer.decode(list(example.ids[example.n_prompt :]))
    assert learnt == "1. [Incomplete] Reasons: detail\n2. [Complete]</s>"


def test_rows_that_cannot_teach_a_feedback_model_are_named(base: Path, tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"instruction": "Another."}, "different instructions"), ({"question": " "}, "question"),
        ({"sentences": []}, "sentences"),
    ]  # fmt: skip
    for n, (change, said) in enumerate(cases):
        file = write(tmp_path / f"{n}.jsonl", [TAGGED[0], {**TAGGED[1], **change}])
        with pytest.raises(InputError, match=said) as caught:
            train_feedback(file, tmp_path / str(n), base=str(base), device="cpu")
        assert caught.value.where == f"{file}, line 2"
    data = write(tmp_path / "rows.jsonl", TAGGED)
    with pytest.raises(InputError, match="4 questions stand in the training and in the dev data"):
        train_feedback(data, tmp_path / "out", base=str(base), dev=data, device="cpu")


@pytest.mark.slow
def test_a_critic_finds_again_what_it_learnt_through_the_loop(base: Path, tmp_path: Path) -> None:
    recipe = CriticRecipe(epochs=60, learning_rate=1e-2, **SHORT)
    data = write(tmp_path / "rows.jsonl", MARKED)
    trained = train_critic(data, tmp_path / "critic", base=str(base), recipe=recipe, device="cpu")
    assert trained.card["figures"]["train_loss"][-1] < 0.1
    for row, answer in ((MARKED[0], "The dam is old. It was built in 1890."), (MARKED[1], "The pier is long.")):
        item = {k: v for k, v in row.items() if k != "meta"}
        record = refine(item, backend=f"hf:{trained.folder}?device=cpu", critic="hallucination", mode="edit", samples=5)
        assert (record.status, record.answer) == ("accepted", answer), record.why


def test_a_critic_is_asked_just_as_it_was_trained_and_carries_its_prompt(base: Path, tmp_path: Path) -> None:
    """Two steps: the tokens that the critic shows the model are those of the training example's prompt."""
    data = write(tmp_path / "rows.jsonl", MARKED)
    recipe = CriticRecipe(method="lora", max_steps=2, lora_rank=2, **SHORT)
    trained = train_critic(data, tmp_path / "out", base=str(base), recipe=recipe, device="cpu")
    assert (trained.card["data"]["errors"], trained.card["task"]["layout"]) == (
        {"entity": 1, "invented": 1},
        "instruct",
    )
    (row, *_), model = read_marked(data), load_local(f"hf:{trained.folder}", device="cpu")
    carried = CarriedPrompt("hallucination", "instruct", load_prompt("hallucination_tuned"))
    example = critic_exchange(row, carried).encoded(model.tokenizer)
    request = FeedbackRequest(row.item, row.item.answer, split_sentences(row.item.answer), seed=0)
    shown = LocalFeedback(model, asking=HALLUCINATION).prompt_ids(request)
    assert shown == list(example.ids[: example.n_prompt])


def test_rows_that_people_marked_need_no_reasons(tmp_path: Path) -> None:
    findings = [{k: v for k, v in f.items() if k != "reason"} for f in MARKED[0]["meta"]["findings"]]
    (row,) = read_marked(write(tmp_path / "own.jsonl", [{**MARKED[0], "meta": {"findings": findings}}]))
    assert [(f.start, f.edit, f.reason) for f in row.findings] == [(f["start"], f["edit"], "") for f in findings]


def test_rows_that_cannot_teach_a_critic_are_named(base: Path, tmp_path: Path) -> None:
    for findings, said in (
        (None, "has no meta.findings"),
        ([{**MARKED[0]["meta"]["findings"][0], "end": 99}], "outside"),
        ([{"kind": "entity", "start": 0}], "number 1: 'end' is missing"),
        ("none", "must be a list"),
    ):
        meta = {} if findings is None else {"findings": findings}
        with pytest.raises(InputError, match=said):
            read_marked(write(tmp_path / "bad.jsonl", [{**MARKED[0], "meta": meta}]))
    data = write(tmp_path / "rows.jsonl", MARKED)
    with pytest.raises(InputError, match="stand in the training and in the dev data"):
        train_critic(data, tmp_path / "out", base=str(base), dev=data)
