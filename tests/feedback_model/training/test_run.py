"""Fine-tuning a tiny Llama on the spot: what is learnt, what is left behind, and what an interruption costs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.data.haluquestqa import parse_tagged_answer
from eirene.data.json_rows import Row
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import LocalFeedback
from eirene.feedback_model.training import FeedbackRecipe, train_feedback
from eirene.feedback_model.training.examples import encode, markdown, prompt_for
from eirene.models.local.model import load_local
from eirene.models.local.sampling import LocalSampling
from eirene.models.training import Step
from eirene.models.training.examples import IGNORED, collate
from tests.tiny_llama import make_llama

INSTRUCTION = "Judge the statements."
ROWS = [
    {
        "question": f"is it {number}?",
        "sentences": [
            {"text": f"this is {kind}.", "tag": "Complete" if kind == "good" else "Incomplete",
             "reason": "" if kind == "good" else "detail"}
            for kind in kinds
        ],
        "instruction": INSTRUCTION,
    }
    for number, kinds in enumerate([("good", "bad"), ("bad", "good"), ("bad", "bad"), ("good", "good")])
]  # fmt: skip
QUICK = FeedbackRecipe(epochs=8, learning_rate=1e-2, max_tokens=300)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llama(tmp_path_factory.mktemp("base"), texts=map(str, ROWS))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "rows.jsonl", ROWS * 2)


def write(file: Path, rows: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return file


def answer(row: dict[str, Any]) -> Any:
    return parse_tagged_answer(Row("row", row))


def test_the_model_learns_what_to_say_and_hf_loads_it_with_its_prompt(base: Path, data: Path, tmp_path: Path) -> None:
    """In full: the loss falls to near nothing, and twenty samples of a trained answer mostly say what it was taught."""
    recipe = FeedbackRecipe(epochs=40, learning_rate=1e-2, max_tokens=300)
    trained = train_feedback(str(data), tmp_path / "out", base=str(base), recipe=recipe, device="cpu")
    curve = trained.card["figures"]["train_loss"]
    assert curve[0] > 2.0
    assert curve[-1] < 0.1
    model = LocalFeedback(load_local(f"hf:{trained.folder}", device="cpu"), sampling=LocalSampling(max_new_tokens=60))
    taught = answer(ROWS[0])
    request = FeedbackRequest(
        Item(question=taught.question, answer=taught.answer), taught.answer, taught.sentences, seed=0
    )

    async def twenty() -> list[Any]:
        return [s async for s in model.draw(request, start=0, count=20, meter=Meter())]

    samples = asyncio.run(twenty())
    assert len(samples) == 20
    assert sum(s.tags == ("Complete", "Incomplete") for s in samples) >= 15
    prompt_for_it = encode(taught, prompt_for([taught], "instruct"), load_local(f"hf:{base}", device="cpu").tokenizer)
    assert model.prompt_ids(request) == list(prompt_for_it.ids[: prompt_for_it.n_prompt])


def test_a_lora_leaves_an_adapter_that_loads_alone(base: Path, data: Path, tmp_path: Path) -> None:
    recipe = FeedbackRecipe(
        method="lora", epochs=4, learning_rate=1e-2, max_tokens=300, lora_rank=4, gradient_checkpointing=True
    )
    trained = train_feedback(str(data), tmp_path / "out", base=str(base), recipe=recipe, device="cpu")
    names = {p.name for p in trained.folder.iterdir()}
    assert {"adapter_model.safetensors", "eirene_prompt.json", "card.json", "README.md", "tokenizer.json"} <= names
    assert "model.safetensors" not in names
    curve = trained.card["figures"]["train_loss"]
    assert curve[-1] < curve[0]
    assert load_local(f"hf:{trained.folder}", device="cpu").name == f"hf:{base}+{trained.folder}"


def test_an_interrupted_run_goes_on_and_ends_at_the_same_weights(base: Path, data: Path, tmp_path: Path) -> None:
    class PulledError(Exception):
        pass

    def pull(step: Step) -> None:
        if step.step == 5:
            raise PulledError

    recipe = FeedbackRecipe(epochs=4, learning_rate=1e-3, max_tokens=300, checkpoint_steps=3)
    arguments: dict[str, Any] = {"base": str(base), "recipe": recipe, "device": "cpu"}
    straight = train_feedback(str(data), tmp_path / "straight", **arguments)
    with pytest.raises(PulledError):
        train_feedback(str(data), tmp_path / "pulled", progress=pull, **arguments)
    (tmp_path / "pulled" / "checkpoints" / "checkpoint-9").mkdir()  # torn: it has no state
    steps: list[int] = []
    resumed = train_feedback(str(data), tmp_path / "pulled", progress=lambda s: steps.append(s.step), **arguments)
    assert steps == [4, 5, 6, 7, 8]
    assert resumed.card["figures"]["resumed_at_step"] == 3
    one, two = (load_file(t.folder / "model.safetensors") for t in (straight, resumed))
    assert all(torch.allclose(one[name], two[name], atol=1e-6) for name in one)
    assert not (tmp_path / "pulled" / "checkpoints").exists()


def test_a_finished_run_is_not_trained_again_and_another_needs_a_new_folder(
    base: Path, data: Path, tmp_path: Path
) -> None:
    recipe = FeedbackRecipe(epochs=1, max_tokens=300)
    first = train_feedback(str(data), tmp_path / "out", base=str(base), recipe=recipe, device="cpu")
    steps: list[Step] = []
    again = train_feedback(
        str(data), tmp_path / "out", base=str(base), recipe=recipe, device="cpu", progress=steps.append
    )
    assert (again.card, steps) == (first.card, [])
    with pytest.raises(InputError, match="other data or settings"):
        train_feedback(str(data), tmp_path / "out", base=str(base), recipe=recipe, seed=1, device="cpu")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something else"):
        train_feedback(str(data), tmp_path / "full", base=str(base), recipe=recipe, device="cpu")


def test_the_card_says_what_went_in_and_what_came_out(base: Path, data: Path, tmp_path: Path) -> None:
    dev = write(tmp_path / "dev.jsonl", [{**ROWS[0], "question": "is it new?"}])
    long = {**ROWS[1], "question": "is it long?" * 100}
    with_long = write(tmp_path / "long.jsonl", [*ROWS, long])
    recipe = FeedbackRecipe(epochs=2, max_tokens=300)
    card = train_feedback(
        str(with_long), tmp_path / "out", base=str(base), recipe=recipe, dev=str(dev), device="cpu"
    ).card
    assert card["data"]["train"] == {
        "answers": 4, "questions": 4, "sentences": 8, "incomplete_sentences": 4,
        "answers_with_an_incomplete_sentence": 3,
    }  # fmt: skip
    assert card["data"]["left_out"] == 1
    assert len(card["data"]["sha256"]) == 64
    assert len(card["figures"]["dev_loss"]) == len(card["figures"]["train_loss"]) == 2
    assert card["run"]["rate"] == 2e-5
    text = (tmp_path / "out" / "README.md").read_text()
    assert card["data"]["sha256"] in text
    assert text == markdown(card)


def test_the_loss_is_on_the_reply_alone(base: Path) -> None:
    tokenizer = load_local(f"hf:{base}", device="cpu").tokenizer
    taught = answer(ROWS[1])
    example = encode(taught, prompt_for([taught], "instruct"), tokenizer)
    labels = collate([example], filler=0)["labels"][0]
    learnt = [t for t in labels.tolist() if t != IGNORED]
    assert tokenizer.decode(learnt) == "1. [Incomplete] Reasons: detail\n2. [Complete]</s>"
    prompt = str(tokenizer.decode(list(example.ids[: example.n_prompt])))
    assert "is it 1?" in prompt
    assert prompt.endswith("### Response:\n")


def test_padding_is_hidden_and_has_no_label(base: Path) -> None:
    tokenizer = load_local(f"hf:{base}", device="cpu").tokenizer
    short, long = (encode(answer(r), prompt_for([answer(r)], "instruct"), tokenizer) for r in (ROWS[3], ROWS[2]))
    batch = collate([short, long], filler=7)
    gap = len(long.ids) - len(short.ids)
    assert gap > 0
    assert batch["input_ids"][0, -gap:].tolist() == [7] * gap
    assert batch["attention_mask"][0, -gap:].tolist() == [0] * gap
    assert batch["labels"][0, -gap:].tolist() == [IGNORED] * gap
    assert batch["attention_mask"].sum().item() == len(short.ids) + len(long.ids)


def test_the_chat_layout_trains_on_the_chat_prompt(tmp_path: Path) -> None:
    tokenizer = load_local(f"hf:{make_llama(tmp_path, chat=True)}", device="cpu").tokenizer
    example = encode(answer(ROWS[0]), prompt_for([answer(ROWS[0])], "chat"), tokenizer)
    assert str(tokenizer.decode(list(example.ids[: example.n_prompt]))).endswith("<|assistant|>")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instruction": "Another."}, "different instructions"),
        ({"question": " "}, "question"),
        ({"sentences": []}, "sentences"),
    ],
)
def test_rows_that_cannot_be_learnt_from_are_named(
    change: dict[str, Any], said: str, base: Path, tmp_path: Path
) -> None:
    file = write(tmp_path / "rows.jsonl", [ROWS[0], {**ROWS[1], **change}])
    with pytest.raises(InputError, match=said) as caught:
        train_feedback(str(file), tmp_path / "out", base=str(base), recipe=QUICK, device="cpu")
    assert caught.value.where == f"{file}, line 2"


def test_a_dev_set_that_shares_questions_is_refused(base: Path, data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="4 questions stand in the training and in the dev data"):
        train_feedback(str(data), tmp_path / "out", base=str(base), dev=str(data), device="cpu")


def test_a_loss_that_is_no_number_stops_the_run(base: Path, data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a number; lower the learning rate"):
        train_feedback(
            str(data), tmp_path / "out", base=str(base), device="cpu",
            recipe=FeedbackRecipe(epochs=40, learning_rate=1e30, max_tokens=300),
        )  # fmt: skip


@pytest.mark.parametrize(
    "bad",
    [{"epochs": 0}, {"micro_batch": 3}, {"learning_rate": 0.0}, {"method": "half"}, {"dtype": "int8"}, {"layout": "x"}],
)
def test_settings_out_of_range_are_input_errors(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        FeedbackRecipe(**bad)


def test_the_defaults_are_the_papers() -> None:
    """Sachdeva et al. 2024, section 4.1."""
    recipe = FeedbackRecipe()
    assert (recipe.method, recipe.batch_size, recipe.rate, recipe.max_tokens, recipe.epochs) == (
        "full",
        4,
        2e-5,
        1024,
        5,
    )
