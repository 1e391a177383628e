"""`train classifier` on a Llama made on the spot: it learns, loads as it will be used, and refuses what is no data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eirene.core.errors import InputError, TrainingStoppedError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import number
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.classifier import ClassifierDetector, ClassifierTask, Labels
from eirene.eval.detectors.classifier.training import ClassifierRecipe, train_classifier
from eirene.models.local.model import load_local
from tests.tiny_llama import make_llama

GOOD, BAD = "Wind is clean.", "Wind is clean. The moon is green."
QUICK: dict[str, Any] = {"batch_size": 4, "warmup": 0, "max_tokens": 256}


def rows(n: int, *, start: int = 0) -> list[dict[str, Any]]:
    """Answers of which every second says something that was not given."""
    return [
        {
            "id": str(k),
            "question": f"Wind {k}?",
            "answer": BAD if k % 2 else GOOD,
            "perspectives": [{"name": "pro", "arguments": ["Wind is clean."]}],
            "meta": {"labels": {"hallucination": bool(k % 2)}},
        }
        for k in range(start, start + n)
    ]


def write(path: Path, values: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(v) + "\n" for v in values), "utf-8")
    return str(path)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    texts = [GOOD, BAD, "{query: } {pro: } {response: } {faithful: NO} {covered: YES}"] * 5
    return str(make_llama(tmp_path_factory.mktemp("llama"), texts=texts, hidden=32, context=256))


async def error_scores(spec: str) -> list[float | None]:
    detector = ClassifierDetector([load_local(spec)])
    given = Grounding("perspectives", (ArgumentGroup("pro", ("Wind is clean.",)),))
    found = [await detector.score(Case("Wind 99?", text, given), meter=Meter()) for text in (GOOD, BAD)]
    return [number(s.hallucination) for s in found]


@pytest.mark.parametrize(
    ("method", "more"),
    [("lora", {"max_steps": 60, "learning_rate": 1e-2}), ("full", {"max_steps": 60, "learning_rate": 3e-3})],
)
async def test_it_learns_and_is_loaded_as_it_will_be_used(tmp_path: Path, llama: str, method: Any, more: Any) -> None:
    data, dev = write(tmp_path / "train.jsonl", rows(16)), write(tmp_path / "dev.jsonl", rows(8, start=50))
    task = ClassifierTask("hallucination")
    trained = train_classifier(
        data, tmp_path / "out", base=llama, task=task, dev=dev, recipe=ClassifierRecipe(method=method, **QUICK, **more)
    )
    figures = trained.card["figures"]
    assert figures["train_loss"][-1] < 0.5 * figures["train_loss"][0]
    assert (figures["dev_auc"], figures["dev_scored"], figures["dev_unscored"]) == (1.0, 8, 0)
    good, bad = await error_scores(f"hf:{tmp_path / 'out'}")
    assert good is not None and bad is not None and good < 0.2 and bad > 0.8


async def test_prompt_tuning_moves_virtual_tokens_alone_and_flipped_labels_work(tmp_path: Path, llama: str) -> None:
    data = write(tmp_path / "train.jsonl", rows(16))
    recipe = ClassifierRecipe(max_steps=40, **QUICK)
    task = ClassifierTask("hallucination", Labels("YES", "NO"))
    trained = train_classifier(data, tmp_path / "out", base=llama, task=task, recipe=recipe)
    assert trained.card["figures"]["trained_weights"] == 5 * 32
    assert trained.card["figures"]["train_loss"][-1] < 0.8 * trained.card["figures"]["train_loss"][0]
    model = load_local(f"hf:{tmp_path / 'out'}")
    assert model.soft_prompt is not None and model.soft_prompt.shape == (1, 5, 32)
    assert ClassifierTask.loaded(model.prompt, name="x") == task
    assert all(score is not None for score in await error_scores(f"hf:{tmp_path / 'out'}"))


def test_the_same_seed_gives_the_same_adapter_and_a_stopped_run_ends_the_same(tmp_path: Path, llama: str) -> None:
    data, task = write(tmp_path / "train.jsonl", rows(16)), ClassifierTask("hallucination")
    recipe = ClassifierRecipe(max_steps=6, checkpoint_steps=2, **QUICK)
    train_classifier(data, tmp_path / "a", base=llama, task=task, recipe=recipe)
    asked = iter([False, False, True])
    with pytest.raises(TrainingStoppedError):
        train_classifier(data, tmp_path / "b", base=llama, task=task, recipe=recipe, should_stop=lambda: next(asked))
    train_classifier(data, tmp_path / "b", base=llama, task=task, recipe=recipe)
    weights = [(tmp_path / name / "adapter_model.safetensors").read_bytes() for name in "ab"]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("values", "dev", "why"),
    [
        ([r for r in rows(8) if not r["meta"]["labels"]["hallucination"]], None, "needs both"),
        (rows(8), rows(4), "stand in the training and in the dev data"),
        ([{**r, "meta": {"labels": {"coverage": True}}} for r in rows(4)], None, "0 answers with given text and a"),
    ],
)
def test_what_is_no_data_is_refused(tmp_path: Path, llama: str, values: Any, dev: Any, why: str) -> None:
    data = write(tmp_path / "train.jsonl", values)
    held = None if dev is None else write(tmp_path / "dev.jsonl", dev)
    with pytest.raises(InputError, match=why):
        train_classifier(data, tmp_path / "out", base=llama, task=ClassifierTask("hallucination"), dev=held)


def test_virtual_tokens_begin_as_common_words_drawn_with_the_seed(llama: str) -> None:
    import torch

    from eirene.models.training.adapters import adapted, load_trainable
    from eirene.models.training.folder import TrainingRun

    def tokens(seed: int) -> torch.Tensor:
        run, recipe = TrainingRun(llama, Path("unused"), seed), ClassifierRecipe(virtual_tokens=3)
        tuned: Any = adapted(load_trainable(run, recipe, device="cpu"), recipe, seed=seed)
        (encoder,) = tuned.prompt_encoder.values()
        words = tuned.get_base_model().get_input_embeddings().weight
        assert all((words == row).all(dim=1).any() for row in encoder.embedding.weight)
        return encoder.embedding.weight.detach().clone()

    assert torch.equal(tokens(1), tokens(1))
    assert not torch.equal(tokens(1), tokens(2))
