"""A critic of hallucinations tuned on the spot: what it learns it finds again through the loop and the evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from eirene.agent.run import refine
from eirene.core.critique import Finding, HallucinationKind
from eirene.core.errors import InputError
from eirene.core.findings.kinds import finding_of
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import HALLUCINATION, LocalFeedback
from eirene.feedback_model.training import CriticRecipe, train_critic
from eirene.feedback_model.training.run import exchange_of, read_marked
from eirene.models.local.layout import CarriedPrompt
from eirene.models.local.model import load_local
from eirene.models.training import Step
from eirene.models.training.examples import encode_example
from eirene.prompts import load_prompt
from eirene.text.sentences import split_sentences
from tests.cli.run import Run
from tests.tiny_llama import make_llama

SHORT: dict[str, Any] = {"max_tokens": 600, "batch_size": 4, "micro_batch": 4}


def row(name: str, answer: str, given: str, *errors: tuple[HallucinationKind, str, str]) -> dict[str, Any]:
    found: list[Finding] = []
    for kind, wrong, right in errors:
        start = answer.index(wrong)
        found.append(finding_of(kind, start, start + len(wrong), text=answer, edit=right))
    findings = [f.model_dump(mode="json") for f in found]
    return {"id": name, "question": "What is it?", "answer": answer, "context": [given], "meta": {"findings": findings}}


ROWS = [
    row("a", "The dam is old. It was built in 1899.", "The old dam was built in 1890.", ("entity", "1899", "1890")),
    row("b", "The pier is long. It won a prize.", "The pier is long.", ("invented", "It won a prize.", "")),
    row("c", "The dam is old. It was built in 1890.", "The old dam was built in 1890."),
    row("d", "The pier is long.", "The pier is long."),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("data") / "rows.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    return file


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prompt = load_prompt("hallucination_tuned")
    tags = "<entity><delete></delete><mark></mark></entity><invented></invented>"
    return make_llama(tmp_path_factory.mktemp("base"), texts=[prompt.user, tags, *map(str, ROWS)] * 3, vocabulary=700)


@pytest.fixture(scope="module")
def trained(base: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    recipe = CriticRecipe(epochs=60, learning_rate=1e-2, **SHORT)
    done = train_critic(
        str(data), tmp_path_factory.mktemp("out") / "critic", base=str(base), recipe=recipe, device="cpu"
    )
    assert done.card["figures"]["train_loss"][-1] < 0.05
    assert done.card["data"]["train"]["errors"] == {"entity": 1, "invented": 1}
    yield done.folder


def test_what_was_planted_is_found_and_edited_by_the_loop(trained: Path) -> None:
    """The tuned model as the critic of `--critic hallucination --mode edit`: its findings are those it was taught."""
    for number, answer in ((0, "The dam is old. It was built in 1890."), (1, "The pier is long.")):
        record = refine(
            {k: v for k, v in ROWS[number].items() if k != "meta"}, backend=f"hf:{trained}?device=cpu",
            critic="hallucination", mode="edit", samples=5,
        )  # fmt: skip
        assert (record.status, record.answer) == ("accepted", answer), record.why
        critique = record.rounds[0].critique
        assert critique is not None
        found = [f for s in critique.sentences for f in s.findings]
        taught = [Finding.model_validate(f) for f in ROWS[number]["meta"]["findings"]]
        assert [(f.kind, f.start, f.end, f.edit) for f in found] == [(f.kind, f.start, f.end, f.edit) for f in taught]


def test_the_evaluation_scores_it_on_what_it_was_taught(trained: Path, data: Path, run: Run) -> None:
    """`eirene evaluate critic --backend hf:DIR` gives its findings full marks; a text without an error gets none."""
    result = run(
        "evaluate", "critic", data, "--critic", "hallucination", "--backend", f"hf:{trained}?device=cpu",
        "--samples", "5", "--draws", "20", "--json",
    )  # fmt: skip
    assert result.code == 0, result
    any_kind = json.loads(result.out)["sentences"]["any"]
    assert (any_kind["f1"]["value"], any_kind["predicted"]) == (1.0, 2)


def test_it_is_asked_just_as_it_was_trained(trained: Path, base: Path, data: Path) -> None:
    """The tokens that the critic shows the model are those of the training example's prompt, in either layout."""
    rows = read_marked(str(data))
    carried = CarriedPrompt("hallucination", "instruct", load_prompt("hallucination_tuned"))
    model = load_local(f"hf:{trained}", device="cpu")
    item = rows[0].item
    request = FeedbackRequest(item, item.answer, split_sentences(item.answer), seed=0)
    exchange = exchange_of(rows[0], carried)
    assert isinstance(exchange.prompt, str)
    example = encode_example(model.tokenizer, model.encode_text(exchange.prompt), exchange.reply)
    shown = LocalFeedback(model, asking=HALLUCINATION).prompt_ids(request)
    assert shown == list(example.ids[: example.n_prompt])


def test_an_interrupted_run_goes_on_and_ends_at_the_same_weights(base: Path, data: Path, tmp_path: Path) -> None:
    class PulledError(Exception):
        pass

    def pull(step: Step) -> None:
        if step.step == 3:
            raise PulledError

    recipe = CriticRecipe(epochs=4, checkpoint_steps=2, **SHORT)
    arguments: dict[str, Any] = {"base": str(base), "recipe": recipe, "device": "cpu"}
    straight = train_critic(str(data), tmp_path / "straight", **arguments)
    with pytest.raises(PulledError):
        train_critic(str(data), tmp_path / "pulled", progress=pull, **arguments)
    resumed = train_critic(str(data), tmp_path / "pulled", **arguments)
    assert resumed.card["figures"]["resumed_at_step"] == 2
    one, two = (load_file(t.folder / "model.safetensors") for t in (straight, resumed))
    assert all(torch.allclose(one[name], two[name], atol=1e-6) for name in one)


def test_the_command_trains_a_lora_in_a_chat_template_with_the_papers_settings(
    data: Path, tmp_path: Path, run: Run
) -> None:
    """`eirene train critic` leaves an adapter, the prompt it carries, and a card with the paper's defaults in it."""
    chat = make_llama(tmp_path / "chat", chat=True)
    result = run("train", "critic", data, "--taxonomy", "fava", "--base", chat, "--out", tmp_path / "out",
                 "--method", "lora", "--lora-rank", "2", "--device", "cpu")  # fmt: skip
    assert result.code == 0, result
    card = json.loads((tmp_path / "out" / "card.json").read_text("utf-8"))
    recipe = card["run"]["recipe"]
    assert [recipe[k] for k in ("epochs", "batch_size", "max_tokens", "warmup", "weight_decay")] == [
        2,
        128,
        2048,
        0.03,
        0,
    ]
    assert (card["task"]["role"], card["task"]["layout"], card["task"]["name"]) == (
        "hallucination", "chat", "hallucination_tuned"
    )  # fmt: skip
    assert (tmp_path / "out" / "adapter_model.safetensors").is_file()
    assert CriticRecipe().rate == 2e-5


def test_rows_that_people_marked_need_no_reasons(tmp_path: Path) -> None:
    """What `eirene evaluate critic` reads can be learnt from as well: tags have no reasons."""
    findings = [{k: v for k, v in f.items() if k != "reason"} for f in ROWS[0]["meta"]["findings"]]
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({**ROWS[0], "meta": {"findings": findings}}) + "\n")
    (row,) = read_marked(str(path))
    assert [(f.start, f.edit, f.reason) for f in row.findings] == [(f["start"], f["edit"], "") for f in findings]


def test_rows_that_cannot_teach_are_named(base: Path, data: Path, tmp_path: Path) -> None:
    """Rows without a list of findings, with offsets outside of the text, and a dev set of the same texts are errors."""
    for findings, said in (
        (None, "has no meta.findings"),
        ([{**ROWS[0]["meta"]["findings"][0], "end": 99}], "outside"),
        ([{"kind": "entity", "start": 0}], "number 1: 'end' is missing"),
        ("none", "must be a list"),
    ):
        bad = tmp_path / "bad.jsonl"
        bad.write_text(json.dumps({**ROWS[0], "meta": {} if findings is None else {"findings": findings}}) + "\n")
        with pytest.raises(InputError, match=said):
            train_critic(str(bad), tmp_path / "out", base=str(base))
    with pytest.raises(InputError, match="stand in the training and in the dev data"):
        train_critic(str(data), tmp_path / "out", base=str(base), dev=str(data))
