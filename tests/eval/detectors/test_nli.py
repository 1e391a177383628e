"""The nli detector: which text is compared with which, the worst part, windows, and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from eirene.core.errors import BackendError, InputError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Unscored, number
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.chunks import sentences_of
from eirene.eval.detectors.nli import NliDetector
from eirene.models.local.loading import no_progress_bar
from eirene.models.local.nli import NliModel, load_nli

WORDS = ["wind", "is", "clean", "turbines", "kill", "birds", "cheap", "power", ".", "?"]


def make_bert(
    folder: Path, *, labels: tuple[str, ...] = ("contradiction", "neutral", "entailment"), context: int = 64
) -> Path:
    """A random BERT over a vocabulary of words, with a classifier on top."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    plain = Tokenizer(models.WordLevel({w: n for n, w in enumerate([*special, *WORDS])}, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    plain.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names: Any = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=plain, model_max_length=context, **names).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(special) + len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=context, initializer_range=1.0,
        id2label=dict(enumerate(labels)), label2id={label: n for n, label in enumerate(labels)},
    )  # fmt: skip
    with no_progress_bar():
        BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"hf:{make_bert(tmp_path_factory.mktemp('bert'))}"


@pytest.fixture(scope="module")
def model(bert: str) -> NliModel:
    return load_nli(bert)


SIDES = (
    ArgumentGroup("pro", ("wind is clean .", "power is cheap .")),
    ArgumentGroup("con", ("turbines kill birds .",)),
)
CASE = Case("wind power ?", "wind is cheap. turbines kill birds.", Grounding("perspectives", SIDES))


def share(model: NliModel, premise: str, hypothesis: str) -> float:
    """The entailment probability by a plain call of the model."""
    encoded = model._tokenizer(premise, hypothesis, return_tensors="pt")
    with torch.inference_mode():
        return float(model._model(**encoded).logits.double().softmax(-1)[0, 2])


async def test_sentences_are_held_against_the_given_and_arguments_against_the_answer(model) -> None:
    scores = await NliDetector(model).score(CASE, meter=Meter())
    given, answer = " ".join(CASE.given.arguments), "wind is cheap. turbines kill birds."
    of_sentences = [1 - share(model, given, s) for s in ("wind is cheap.", "turbines kill birds.")]
    of_arguments = [1 - share(model, answer, a) for a in CASE.given.arguments]
    assert [number(s.hallucination) for s in scores.sentences] == pytest.approx(of_sentences, abs=1e-5)
    assert [number(a.coverage) for a in scores.arguments] == pytest.approx(of_arguments, abs=1e-5)
    assert number(scores.hallucination) == pytest.approx(max(of_sentences), abs=1e-5)
    assert number(scores.coverage) == pytest.approx(max(of_arguments), abs=1e-5)


async def test_a_long_text_is_held_against_in_windows_and_the_best_counts(model) -> None:
    passage = "turbines kill birds. " * 30
    case = Case("wind power ?", "wind is cheap.", Grounding("context", (ArgumentGroup("context", (passage,)),)))
    question = NliDetector(model)._question("wind is cheap.", sentences_of([passage]), [passage])
    assert len(question.windows) > 1
    assert " ".join(question.windows).split() == passage.split()
    assert all(model.tokens(w, "wind is cheap.") <= 64 for w in question.windows)
    scores = await NliDetector(model).score(case, meter=Meter())
    best = max(share(model, w, "wind is cheap.") for w in question.windows)
    assert number(scores.hallucination) == pytest.approx(1 - best, abs=1e-5)
    assert scores.chunks == len(question.windows)


async def test_a_sentence_that_does_not_fit_is_unscored_and_so_is_the_answer(model) -> None:
    case = Case("Q?", "wind " * 80 + ". wind is clean.", CASE.given)
    scores = await NliDetector(model).score(case, meter=Meter())
    assert isinstance(scores.hallucination, Unscored)
    assert "more than the 64 that fit" in scores.hallucination.unscored
    assert number(scores.sentences[-1].hallucination) is not None


async def test_an_argument_that_no_sentence_fits_beside_is_as_badly_covered_as_its_worst_part(model: NliModel) -> None:
    """It is compared with the answer sentence by sentence, so far as it must be; no sentence of the answer is cut."""
    said = ["wind is clean.", "turbines kill birds.", "power is cheap."]
    given = Grounding("context", (ArgumentGroup("context", (" ".join(said * 9),)),))
    scores = await NliDetector(model).score(Case("Q?", "wind is cheap.", given), meter=Meter())
    parts = NliDetector(model)._parts(given.arguments[0], "wind is cheap.")
    assert len(parts) > 1 and "".join(q.hypothesis for q in parts) == given.arguments[0]
    worst = max(1 - share(model, "wind is cheap.", q.hypothesis) for q in parts)
    assert number(scores.coverage) == pytest.approx(worst, abs=1e-5)


async def test_what_cannot_be_scored_says_why(subtests: pytest.Subtests, model) -> None:
    for answer, given in [(" ", CASE.given), ("wind.", Grounding("derived", (ArgumentGroup("kept", ("a",)),)))]:
        with subtests.test(answer=answer, given=given):
            scores = await NliDetector(model).score(Case("Q?", answer, given), meter=Meter())
            assert isinstance(scores.hallucination, Unscored) and isinstance(scores.coverage, Unscored)


def test_the_label_named_entailment_is_taken_and_another_can_be_named(bert, tmp_path: Path) -> None:
    assert load_nli(bert).entails == 2
    assert load_nli(f"{bert}?entails=0").entails == 0
    plain = f"hf:{make_bert(tmp_path, labels=('LABEL_0', 'LABEL_1'))}"
    with pytest.raises(InputError, match="entails=N"):
        load_nli(plain)
    assert load_nli(f"{plain}?entails=1").entails == 1
    with pytest.raises(InputError, match="there is no label 2"):
        load_nli(f"{plain}?entails=2")


def test_positions_that_begin_behind_the_padding_are_not_counted(bert: str) -> None:
    """RoBERTa has 66 places for 64 tokens; a tokenizer that states no limit leaves nothing else to go by."""
    config = RobertaConfig(
        vocab_size=14, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=66, pad_token_id=1, num_labels=3,
    )  # fmt: skip
    tokenizer = PreTrainedTokenizerFast.from_pretrained(bert.removeprefix("hf:"))
    tokenizer.model_max_length = 10**30
    model = NliModel(RobertaForSequenceClassification(config), tokenizer, name="roberta", entails=2)
    assert model.max_tokens == 64
    longest = " ".join(["wind"] * 60)
    assert model.tokens(longest, "wind") == 64
    assert 0.0 <= model.entailment([(longest, "wind")])[0] <= 1.0


async def test_a_model_that_runs_out_of_memory_is_a_backends_error(bert: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    model = load_nli(bert)
    monkeypatch.setattr(model._model, "forward", full)
    with pytest.raises(BackendError, match=r"hf:.*: out of memory with \d+ pairs of up to \d+ tokens; use a narrower"):
        await NliDetector(model).score(CASE, meter=Meter())


def test_a_name_of_another_form_is_refused(subtests: pytest.Subtests) -> None:
    for spec in ["openai:gpt", "hf:", "hf:x?labels=2"]:
        with subtests.test(spec=spec), pytest.raises(InputError):
            load_nli(spec)


def test_a_folder_that_holds_no_classifier_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be loaded"):
        load_nli(f"hf:{tmp_path}")
