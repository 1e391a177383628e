"""Detectors on a local model read given text that is longer than the model takes, in chunks, by the rules they state.

Numbers are those of the same detector on each chunk by itself, put together by hand.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Scores, Unscored, number
from eirene.core.usage import Meter
from eirene.eval.base import Case, Detector
from eirene.eval.detectors.chunks import Piece, part_of, share_out, whole
from eirene.eval.detectors.classifier import ClassifierDetector, ClassifierTask
from eirene.eval.detectors.likelihood import GptScore, PseudoEntropy, gptscore_messages, read_answer
from eirene.eval.detectors.salience import SalienceDetector, WordMaps
from eirene.models.local.model import LocalModel, load_local
from eirene.models.local.scoring import LocalScorer
from recipes.train.classifier import saved_task
from tests.tiny_llama import make_llama

SENTENCES = ["Wind is clean.", "Turbines kill birds.", "Power gets cheap.", "Towns get taxes.", "Blades make noise."]
LONG = Grounding("context", (ArgumentGroup("context", (" ".join(SENTENCES * 9), " ".join(SENTENCES[::-1] * 9))),))
SHORT = Grounding("context", (ArgumentGroup("context", ("Wind is clean.", "Turbines kill birds.")),))
CONTEXT = 320
ANSWER = "Wind is clean. Turbines kill birds."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LocalModel:
    folder = make_llama(tmp_path_factory.mktemp("llama"), texts=[" ".join(SENTENCES)] * 9, context=CONTEXT)
    return load_local(f"hf:{folder}", device="cpu")


@pytest.fixture(scope="module")
def wide(model: LocalModel) -> LocalModel:
    """The same weights without a limit: what fits the other has the same scores here."""
    found = LocalModel(model.model, model.tokenizer, name=model.name, version=model.version)
    found.context_tokens = None
    return found


def classifier(model: LocalModel) -> ClassifierDetector:
    tasks = [ClassifierTask("hallucination"), ClassifierTask("coverage")]
    tuned = [LocalModel(model.model, model.tokenizer, name="t", prompt=saved_task(t), version="v") for t in tasks]
    for one in tuned:
        one.context_tokens = model.context_tokens
    return ClassifierDetector(tuned)


def detectors(model: LocalModel) -> list[Detector]:
    scorer = LocalScorer(model)
    return [classifier(model), GptScore(scorer), PseudoEntropy(scorer), SalienceDetector(WordMaps(model))]


async def scored(detector: Detector, given: Grounding, answer: str = ANSWER) -> Scores:
    return await detector.score(Case("Wind?", answer, given), meter=Meter())


async def test_what_fits_is_scored_in_one_part_as_it_would_be_without_a_limit(
    model: LocalModel, wide: LocalModel
) -> None:
    for limited, unlimited in zip(detectors(model), detectors(wide), strict=True):
        found = await scored(limited, SHORT)
        assert found == await scored(unlimited, SHORT)
        assert found.chunks == 1
        assert "chunks" not in found.model_dump(mode="json")


async def test_what_does_not_fit_is_scored_and_says_in_how_many_parts(model: LocalModel) -> None:
    for detector in detectors(model):
        found = await scored(detector, LONG)
        assert number(found.hallucination) is not None
        assert found.chunks > 1
        assert Scores.model_validate(found.model_dump(mode="json")) == found


async def test_an_answer_that_fills_the_model_is_unscored_and_never_cut(model: LocalModel) -> None:
    for detector in detectors(model):
        meter = Meter()
        found = await detector.score(Case("Wind?", "Wind is clean. " * 150, LONG), meter=meter)
        assert isinstance(found.hallucination, Unscored), detector.name
        assert f"{CONTEXT} that fit; nothing is cut off" in found.hallucination.unscored
        assert meter.total.calls == 0


def parts(case: Case, model: LocalModel, task: ClassifierTask) -> list[Case]:
    """The case once for each chunk that its prompt is cut into."""

    def count(some: Any) -> int:
        prompt = task.prompt(replace(case, given=part_of(case.given, some)))
        return len(model.encode_text(prompt)) + max(len(model.encode_more(f" {label}}}")) for label in ("NO", "YES"))

    texts = case.given.arguments
    chunks = share_out(whole(texts), texts, count, limit=model.context_tokens)
    assert not isinstance(chunks, Unscored) and len(chunks) > 1
    return [replace(case, given=part_of(case.given, chunk)) for chunk in chunks]


async def test_a_classifier_takes_the_worst_chunk_for_coverage_and_the_best_for_each_sentence(
    model: LocalModel, wide: LocalModel
) -> None:
    case, unlimited = Case("Wind?", ANSWER, LONG), classifier(wide)
    found = await classifier(model).score(case, meter=Meter())
    by_chunk = [await unlimited.score(part, meter=Meter()) for part in parts(case, model, ClassifierTask("coverage"))]
    assert number(found.coverage) == pytest.approx(max(number(s.coverage) or 0.0 for s in by_chunk))
    of_sentences = []
    for sentence in ("Wind is clean.", "Turbines kill birds."):
        own = [
            await unlimited.score(replace(part, answer=sentence), meter=Meter())
            for part in parts(case, model, ClassifierTask("hallucination"))
        ]
        of_sentences.append(min(number(s.hallucination) or 0.0 for s in own))
    assert [number(s.hallucination) for s in found.sentences] == pytest.approx(of_sentences)
    assert number(found.hallucination) == pytest.approx(max(of_sentences))


async def test_a_score_that_is_not_finite_in_one_chunk_leaves_the_answer_unscored(
    model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It might have been the one that counts."""
    from eirene.eval.detectors import classifier as likelihood

    found = iter([[-1.0, -2.0], [float("nan"), -1.0], *[[-1.0, -1.0]] * 99])
    monkeypatch.setattr(likelihood, "log_likelihoods", lambda *a, **k: next(found))
    scores = await scored(classifier(model), LONG)
    assert isinstance(scores.hallucination, Unscored) and "finite" in scores.hallucination.unscored


async def test_gptscore_reads_each_sentence_with_the_chunk_that_makes_it_likeliest(
    model: LocalModel, wide: LocalModel
) -> None:
    case = Case("Wind?", ANSWER, LONG)
    found = await GptScore(LocalScorer(model)).score(case, meter=Meter())
    spans: list[list[Piece]] = []

    class Watching(LocalScorer):
        async def laid_out(self, lay_out: Any) -> Any:
            spans.extend(await super().laid_out(lay_out))
            return spans

    await read_answer(Watching(model), gptscore_messages, case, top=1, meter=Meter())
    alone = [
        await GptScore(LocalScorer(wide)).score(replace(case, given=part_of(LONG, chunk)), meter=Meter())
        for chunk in spans
    ]
    assert found.chunks == len(spans) > 1
    best = [min(number(s.sentences[n].hallucination) or 0.0 for s in alone) for n in range(2)]
    assert [number(s.hallucination) for s in found.sentences] == pytest.approx(best, abs=1e-6)
    assert found.raw["mean_logprob"] >= max(s.raw["mean_logprob"] for s in alone) - 1e-6
    assert found.raw["tokens"] == alone[0].raw["tokens"]


async def test_pseudo_entropy_is_the_largest_of_the_tokens_so_read(model: LocalModel) -> None:
    found = await scored(PseudoEntropy(LocalScorer(model)), LONG)
    worst = max(number(s.hallucination) or 0.0 for s in found.sentences)
    assert number(found.hallucination) == pytest.approx(worst)


async def test_virtual_tokens_take_room(model: LocalModel) -> None:
    """What just fits does not fit beside a prompt-tuned model's virtual tokens, and goes in more parts."""
    task = ClassifierTask("coverage")
    soft = torch.zeros((1, 200, 32))
    tuned = LocalModel(model.model, model.tokenizer, name="t", prompt=saved_task(task), soft_prompt=soft, version="v")
    plain = LocalModel(model.model, model.tokenizer, name="t", prompt=saved_task(task), version="v")
    found = [await scored(ClassifierDetector([one]), LONG) for one in (tuned, plain)]
    assert found[0].chunks > found[1].chunks > 1
