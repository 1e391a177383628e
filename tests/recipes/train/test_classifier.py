"""`train classifier` on a Llama made on the spot: it learns, loads as it will be used, and refuses what is no data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eirene.core.errors import InputError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import number
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.classifier import ClassifierDetector, ClassifierTask, Labels
from eirene.models.local.model import load_local
from recipes.train.classifier import train_classifier
from recipes.train.recipe import PromptTuningRecipe
from recipes.train.run import TrainingStoppedError
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


@pytest.mark.slow
async def test_it_learns_and_is_loaded_as_it_will_be_used(tmp_path: Path, llama: str) -> None:
    data, dev = write(tmp_path / "train.jsonl", rows(16)), write(tmp_path / "dev.jsonl", rows(8, start=50))
    recipe = PromptTuningRecipe(method="lora", max_steps=60, learning_rate=1e-2, **QUICK)
    trained = train_classifier(
        data, tmp_path / "out", base=llama, task=ClassifierTask("hallucination"), dev=dev, recipe=recipe
    )
    figures = trained.card["figures"]
    assert figures["train_loss"][-1] < 0.5 * figures["train_loss"][0]
    assert (figures["dev_auc"], figures["dev_scored"], figures["dev_unscored"]) == (1.0, 8, 0)
    good, bad = await error_scores(f"hf:{tmp_path / 'out'}")
    assert good is not None and bad is not None and good < 0.2 and bad > 0.8


@pytest.mark.slow
async def test_prompt_tuning_moves_virtual_tokens_alone_and_flipped_labels_work(tmp_path: Path, llama: str) -> None:
    """A few steps: the tokens begin as words of the vocabulary, drawn with the seed, and move with a rising rate."""
    data, task = write(tmp_path / "train.jsonl", rows(4)), ClassifierTask("hallucination", Labels("YES", "NO"))

    def tokens(name: str, **settings: Any) -> Any:
        seed = settings.pop("seed", 0)
        recipe = PromptTuningRecipe(**{"max_steps": 1, "learning_rate": 1e-30, **QUICK, **settings})
        trained = train_classifier(data, tmp_path / name, base=llama, task=task, recipe=recipe, seed=seed)
        assert trained.card["figures"]["trained_weights"] == 5 * 32
        return load_local(f"hf:{tmp_path / name}").soft_prompt

    first, again, other, moved = tokens("a"), tokens("b"), tokens("c", seed=1), tokens("d", learning_rate=0.1)
    words = load_local(f"hf:{llama}").model.get_input_embeddings().weight
    assert first.shape == (1, 5, 32) and all((words == row).all(dim=1).any() for row in first[0])
    assert (first == again).all() and not (first == other).all() and not (first == moved).all()
    assert ClassifierTask.loaded(load_local(f"hf:{tmp_path / 'd'}").prompt, name="x") == task
    assert all(score is not None for score in await error_scores(f"hf:{tmp_path / 'd'}"))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_adapter_and_a_stopped_run_ends_the_same(tmp_path: Path, llama: str) -> None:
    data, task = write(tmp_path / "train.jsonl", rows(16)), ClassifierTask("hallucination")
    recipe = PromptTuningRecipe(max_steps=6, checkpoint_steps=2, **QUICK)
    train_classifier(data, tmp_path / "a", base=llama, task=task, recipe=recipe)
    asked = iter([False, False, True])
    with pytest.raises(TrainingStoppedError):
        train_classifier(data, tmp_path / "b", base=llama, task=task, recipe=recipe, should_stop=lambda: next(asked))
    train_classifier(data, tmp_path / "b", base=llama, task=task, recipe=recipe)
    weights = [(tmp_path / name / "adapter_model.safetensors").read_bytes() for name in "ab"]
    assert weights[0] == weights[1]


def test_what_is_no_data_is_refused(tmp_path: Path, llama: str) -> None:
    cases: list[tuple[list[dict[str, Any]], list[dict[str, Any]], str]] = [
        ([r for r in rows(8) if not r["meta"]["labels"]["hallucination"]], [], "needs both"),
        (rows(8), rows(4), "stand in the training and in the dev data"),
        ([{**r, "meta": {"labels": {"coverage": True}}} for r in rows(4)], [], "0 answers with given text and a"),
    ]
    for n, (values, dev, why) in enumerate(cases):
        data = write(tmp_path / f"{n}.jsonl", values)
        held = write(tmp_path / "dev.jsonl", dev) if dev else None
        with pytest.raises(InputError, match=why):
            train_classifier(
                data, tmp_path / str(n), base=llama, task=ClassifierTask("hallucination"), dev=held
            )  # fmt: skip
