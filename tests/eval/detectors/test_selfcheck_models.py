"""SelfCheck by models: BERTScore by hand and on a tiny BERT, NLI on a tiny classifier, the prompt by a scripted judge.

BERTScore against the original packages: `benchmarks/results/implementations.md`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from eirene.core.errors import AuthError, InputError, UnreachableError
from eirene.core.grounding import Grounding
from eirene.core.scores import Unscored, number
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.samples import SampleSource
from eirene.eval.detectors.selfcheck_models import (
    SelfCheckBertScore,
    SelfCheckPrompt,
    TokenEncoder,
    TokenVectors,
    bertscore_f1,
    load_token_encoder,
)
from eirene.eval.registry import build_detector
from eirene.eval.resources import Resources
from eirene.models.chat import ChatModel
from eirene.models.limits import RetryPolicy
from eirene.models.local.model import load_local
from eirene.models.scripted import ScriptedChatModel
from tests.eval.detectors.test_heads import make_bert as make_classifier
from tests.rows import each
from tests.tiny_bert import make_bert
from tests.tiny_llama import make_llama

TEXTS = ["Ann wrote the book in Rome.", "The book was written by Bob, a poet.", "It rained all day long."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bert(tmp_path_factory.mktemp("bert"), texts=TEXTS)


@pytest.fixture(scope="module")
def encoder(folder: Path) -> TokenEncoder:
    return load_token_encoder(str(folder))


def tokens(*rows: list[float], marks: int = 0) -> TokenVectors:
    vectors = np.array(rows) / np.linalg.norm(rows, axis=1, keepdims=True)
    return TokenVectors(vectors, np.array([0.0] * marks + [1.0] * (len(rows) - marks)))


def test_f1_is_that_of_a_hand_computation() -> None:
    """Candidate (1,0), (0,1); reference (1,0), (1,1)/sqrt 2: the closest are at 1 and 0.7071 on either side."""
    value = (1 + 1 / np.sqrt(2)) / 2
    assert bertscore_f1(tokens([1, 0], [0, 1]), tokens([1, 0], [1, 1])) == pytest.approx(value)
    # Precision 1, recall (1 + 0) / 2.
    assert bertscore_f1(tokens([1, 0]), tokens([1, 0], [0, 1])) == pytest.approx(2 * 0.5 / 1.5)


def test_marks_do_not_count_and_may_be_matched() -> None:
    """As in the authors' package: the candidate's (0,1) finds the reference's mark, which itself weighs nothing."""
    assert bertscore_f1(tokens([1, 0], [0, 1]), tokens([0, 1], [1, 0], marks=1)) == pytest.approx(1.0)


def test_a_text_without_tokens_matches_nothing() -> None:
    assert bertscore_f1(tokens([1, 0], marks=1), tokens([1, 0])) == 0.0


def test_vectors_are_those_of_the_models_layer(folder: Path, encoder: TokenEncoder) -> None:
    """Batched and padded they are what each text gives alone; by default the layer at three quarters of the depth."""
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert encoder.layer == 2
    for text, found in zip(TEXTS, encoder.encode(TEXTS), strict=True):
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[2][0]
        alone = torch.nn.functional.normalize(states, dim=-1).numpy()
        assert np.abs(found.vectors - alone).max() < 1e-5
        assert found.weights.tolist() == [0.0] + [1.0] * (len(alone) - 2) + [0.0]


def test_a_text_is_closest_to_itself(encoder: TokenEncoder) -> None:
    found = encoder.encode(TEXTS)
    assert bertscore_f1(found[0], found[0]) == pytest.approx(1.0)
    there, back = bertscore_f1(found[0], found[1]), bertscore_f1(found[1], found[0])
    assert there == pytest.approx(back)
    assert there < 1


def test_a_long_text_is_read_whole(encoder: TokenEncoder) -> None:
    """The model takes 64 tokens; a longer text has all of its tokens, in windows."""
    words = " ".join(["book"] * 200)
    (found,) = encoder.encode([words])
    assert int(found.weights.sum()) == 200
    assert encoder.encode([""])[0].weights.sum() == 0


async def test_the_score_follows_from_f1(encoder: TokenEncoder) -> None:
    answer, samples = f"{TEXTS[0]} {TEXTS[2]}", (f"{TEXTS[1]} {TEXTS[2]}", TEXTS[1])
    detector = SelfCheckBertScore(SampleSource(), encoder)
    scores = await detector.score(Case("Who?", answer, Grounding("derived", ()), samples=samples), meter=Meter())
    a, b, c = encoder.encode(TEXTS)
    first = 1 - (max(bertscore_f1(b, a), bertscore_f1(c, a)) + bertscore_f1(b, a)) / 2
    second = 1 - (1.0 + bertscore_f1(b, c)) / 2
    assert [number(s.hallucination) for s in scores.sentences] == pytest.approx([first, second], abs=1e-6)
    assert scores.raw["disagreement"] == pytest.approx((first + second) / 2, abs=1e-6)
    spread = await SelfCheckBertScore(SampleSource(), encoder, baseline=0.5).score(
        Case("Who?", answer, Grounding("derived", ()), samples=samples), meter=Meter()
    )
    assert spread.raw["disagreement"] == pytest.approx(scores.raw["disagreement"] / 0.5, abs=1e-6)


async def test_an_answer_without_sentences_and_a_row_without_samples_are_unscored(encoder: TokenEncoder) -> None:
    detector = SelfCheckBertScore(SampleSource(), encoder)
    for case in (
        Case("Who?", " ", Grounding("derived", ()), samples=("Ann.",)),
        Case("Who?", "Ann.", Grounding("derived", ())),
    ):
        assert isinstance((await detector.score(case, meter=Meter())).hallucination, Unscored)


def test_settings_that_make_no_sense_are_refused(encoder: TokenEncoder, folder: Path) -> None:
    with pytest.raises(InputError, match="layer must be from 1 to 3, got 4"):
        load_token_encoder(str(folder), layer=4)
    with pytest.raises(InputError, match="baseline must lie in"):
        SelfCheckBertScore(SampleSource(), encoder, baseline=1.0)
    with pytest.raises(InputError, match="there is no folder"):
        load_token_encoder("./nowhere")


async def test_the_local_model_of_a_run_names_the_encoder(folder: Path, tmp_path: Path) -> None:
    case = Case("Who?", TEXTS[0], Grounding("derived", ()), samples=(TEXTS[1],))
    named = build_detector("selfcheck-bertscore", Resources(local=f"hf:{folder}"))
    assert number((await named.score(case, meter=Meter())).hallucination) is not None
    causal = load_local(f"hf:{make_llama(tmp_path, texts=TEXTS)}", device="cpu")
    detector = build_detector("selfcheck-bertscore", Resources(local=causal))
    assert number((await detector.score(case, meter=Meter())).hallucination) is not None


SAID = ("wind is clean .", "turbines kill birds .")
OTHERS = ("wind is cheap .", "wind is clean . power is cheap .", "turbines kill birds ?")
SAMPLED = Case("wind ?", " ".join(SAID), Grounding("derived", ()), samples=OTHERS)


@each("labels, option, columns", [
    (("contradiction", "neutral", "entailment"), "", (0, 2)),
    (("LABEL_0", "LABEL_1"), "?entails=0", (1, 0)),
])  # fmt: skip
async def test_nli_is_the_mean_contradiction_without_neutral(
    labels: tuple[str, ...], option: str, columns: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Manakul et al. 2023, section 5.4: P = exp(c) / (exp(e) + exp(c)) of (sample, sentence), averaged over samples."""
    folder = make_classifier(tmp_path_factory.mktemp("nli"), labels=labels)
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        by_hand = [
            [
                model(**tokenizer(s, c, return_tensors="pt")).logits[0, list(columns)].double().softmax(0)[0]
                for s in OTHERS
            ]
            for c in SAID
        ]
    detector = build_detector("selfcheck-nli", Resources(detector_models=(f"selfcheck-nli=hf:{folder}{option}",)))
    scores = await detector.score(SAMPLED, meter=Meter())
    means = [float(sum(row)) / len(OTHERS) for row in by_hand]
    assert [number(s.hallucination) for s in scores.sentences] == pytest.approx(means, abs=1e-6)
    assert number(scores.hallucination) == pytest.approx(sum(means) / 2, abs=1e-6)
    assert scores.raw == {"samples": 3.0} and means[0] != pytest.approx(means[1], abs=1e-5)
    long = Case("wind ?", SAID[0], Grounding("derived", ()), samples=(" ".join(OTHERS * 9),))
    assert number((await detector.score(long, meter=Meter())).hallucination) is not None


def test_a_classifier_without_contradiction_is_refused(tmp_path: Path) -> None:
    for spec, said in [
        (
            f"hf:{make_classifier(tmp_path, labels=('a', 'b', 'entailment'))}",
            "of which none is known for contradiction",
        ),
        ("nli=hf:x", "name the model of selfcheck-nli"),
    ]:
        with pytest.raises(InputError, match=said):
            build_detector("selfcheck-nli", Resources(detector_models=(spec,)))


@each("replies, sentences, unread", [
    (["Yes"] * 6, [0, 0], 0),
    (["Yes", "No", "No.", "no", '{"verdict": "yes"}', "Verdict: no"], [1 / 3, 1], 0),
    (["Yes", "No", "Yes", "No", ConnectionError("gone"), "Perhaps."], [0, 1], 2),
    (["Yes", "No", "Perhaps.", "No", "0.5", "No"], [None, 1], 2),
])  # fmt: skip
async def test_a_judge_is_asked_whether_each_sample_supports_each_sentence(
    replies: list[Any], sentences: list[float | None], unread: int
) -> None:
    """Section 5.5: yes 0, no 1, averaged over samples. What cannot be read is left out, never 0.5."""
    judge = ScriptedChatModel(replies)
    detector = SelfCheckPrompt(SampleSource(), ChatModel(judge, retry=RetryPolicy(attempts=1)))
    scores = await detector.score(SAMPLED, meter=Meter())
    asked = sorted((text, claim) for call in judge.calls for text in OTHERS for claim in SAID
                   if f"passage 1\n{text}\n" in call.text and f"Claim: {claim}" in call.text)  # fmt: skip
    assert asked == sorted((text, claim) for text in OTHERS for claim in SAID)
    assert [number(s.hallucination) for s in scores.sentences] == [
        n if n is None else pytest.approx(n) for n in sentences
    ]
    mean = None if None in sentences else sum(n for n in sentences if n is not None) / 2
    assert number(scores.hallucination) == (mean if mean is None else pytest.approx(mean))
    assert scores.raw == {"samples": 3.0, "unread": float(unread)}


async def test_a_judge_that_cannot_be_asked_ends_it() -> None:
    for error, calls in [(UnreachableError("gone"), 6), (AuthError("no"), 1)]:
        judge = ScriptedChatModel([error] * 6)
        with pytest.raises(type(error)):
            await SelfCheckPrompt(SampleSource(), ChatModel(judge, retry=RetryPolicy(attempts=1))).score(
                SAMPLED, meter=Meter()
            )
        assert len(judge.calls) == calls
