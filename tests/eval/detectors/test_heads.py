"""Detectors on a head: which text is compared with which, the worst part, windows, labels, and each protocol's own."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
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
from eirene.eval.detectors.heads import HeadDetector
from eirene.models.local.heads import HeadModel, load_head
from eirene.models.local.loading import no_progress_bar
from eirene.models.protocols import PROTOCOLS
from tests.rows import each

WORDS = ["wind", "is", "clean", "turbines", "kill", "birds", "cheap", "power", ".", "?"]


def load_nli(spec: str) -> HeadModel:
    return load_head(PROTOCOLS["nli"], spec)


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
def model(bert: str) -> HeadModel:
    return load_nli(bert)


SIDES = (
    ArgumentGroup("pro", ("wind is clean .", "power is cheap .")),
    ArgumentGroup("con", ("turbines kill birds .",)),
)
CASE = Case("wind power ?", "wind is cheap. turbines kill birds.", Grounding("perspectives", SIDES))


def share(model: HeadModel, premise: str, hypothesis: str) -> float:
    """The entailment probability by a plain call of the model."""
    encoded = model._tokenizer(premise, hypothesis, return_tensors="pt")
    with torch.inference_mode():
        return float(model._model(**encoded).logits.double().softmax(-1)[0, 2])


async def test_sentences_are_held_against_the_given_and_arguments_against_the_answer(model) -> None:
    scores = await HeadDetector(model).score(CASE, meter=Meter())
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
    _, windows = HeadDetector(model)._question("wind is cheap.", [sentences_of([passage])], [passage])
    assert isinstance(windows, list) and len(windows) > 1
    assert " ".join(windows).split() == passage.split()
    assert all(model.tokens(w, "wind is cheap.") <= 64 for w in windows)
    scores = await HeadDetector(model).score(case, meter=Meter())
    best = max(share(model, w, "wind is cheap.") for w in windows)
    assert number(scores.hallucination) == pytest.approx(1 - best, abs=1e-5)
    assert scores.chunks == len(windows)


async def test_a_sentence_that_does_not_fit_is_unscored_and_so_is_the_answer(model) -> None:
    case = Case("Q?", "wind " * 80 + ". wind is clean.", CASE.given)
    scores = await HeadDetector(model).score(case, meter=Meter())
    assert isinstance(scores.hallucination, Unscored)
    assert "more than the 64 that fit" in scores.hallucination.unscored
    assert number(scores.sentences[-1].hallucination) is not None


async def test_an_argument_that_no_sentence_fits_beside_is_as_badly_covered_as_its_worst_part(model: HeadModel) -> None:
    """It is compared with the answer sentence by sentence, so far as it must be; no sentence of the answer is cut."""
    said = ["wind is clean.", "turbines kill birds.", "power is cheap."]
    given = Grounding("context", (ArgumentGroup("context", (" ".join(said * 9),)),))
    scores = await HeadDetector(model).score(Case("Q?", "wind is cheap.", given), meter=Meter())
    parts = HeadDetector(model)._parts(given.arguments[0], "wind is cheap.")
    assert len(parts) > 1 and "".join(text for text, _ in parts) == given.arguments[0]
    worst = max(1 - share(model, "wind is cheap.", text) for text, _ in parts)
    assert number(scores.coverage) == pytest.approx(worst, abs=1e-5)


async def test_what_cannot_be_scored_says_why(subtests: pytest.Subtests, model) -> None:
    for answer, given in [(" ", CASE.given), ("wind.", Grounding("derived", (ArgumentGroup("kept", ("a",)),)))]:
        with subtests.test(answer=answer, given=given):
            scores = await HeadDetector(model).score(Case("Q?", answer, given), meter=Meter())
            assert isinstance(scores.hallucination, Unscored) and isinstance(scores.coverage, Unscored)


def test_the_label_named_entailment_is_taken_and_another_can_be_named(bert, tmp_path: Path) -> None:
    assert load_nli(bert).label == 2
    assert load_nli(f"{bert}?entails=0").label == 0
    plain = f"hf:{make_bert(tmp_path, labels=('LABEL_0', 'LABEL_1'))}"
    with pytest.raises(InputError, match="entails=N"):
        load_nli(plain)
    assert load_nli(f"{plain}?entails=1").label == 1
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
    model = HeadModel(RobertaForSequenceClassification(config), tokenizer, PROTOCOLS["nli"], name="roberta", label=2)
    assert model.max_tokens == 64
    longest = " ".join(["wind"] * 60)
    assert model.tokens(longest, "wind") == 64
    assert 0.0 <= model.supports([(longest, "wind")])[0] <= 1.0


async def test_a_model_that_runs_out_of_memory_is_a_backends_error(bert: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    model = load_nli(bert)
    monkeypatch.setattr(model._model, "forward", full)
    with pytest.raises(BackendError, match=r"hf:.*: out of memory with \d+ pairs of up to \d+ tokens; use a narrower"):
        await HeadDetector(model).score(CASE, meter=Meter())


def test_a_name_of_another_form_is_refused(subtests: pytest.Subtests) -> None:
    for spec in ["openai:gpt", "hf:", "hf:x?labels=2"]:
        with subtests.test(spec=spec), pytest.raises(InputError):
            load_nli(spec)


def test_a_folder_that_holds_no_classifier_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no model"):
        load_nli(f"hf:{tmp_path}")


def make_tokenizer(folder: Path, *, end: str, **names: str) -> Any:
    """A tokenizer of bytes: `end` closes a text, and stands between and behind two."""
    special = list(dict.fromkeys(["<pad>", *names.values(), end, "<unk>"]))
    plain = Tokenizer(
        models.BPE({w: n for n, w in enumerate([*special, *sorted(pre_tokenizers.ByteLevel.alphabet())])}, [])
    )
    plain.pre_tokenizer, plain.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    first = f"{names['cls_token']} " if "cls_token" in names else ""
    plain.post_processor = processors.TemplateProcessing(
        single=f"{first}$A {end}", pair=f"{first}$A {end} $B:1 {end}:1",
        special_tokens=[(token, special.index(token)) for token in special],
    )  # fmt: skip
    made: Any = PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>", eos_token=end, **names)
    made.save_pretrained(folder)
    return made


SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "pad_token_id": 0,
}
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, "vocab_size": 300}
CLS = {"cls_token": "<s>", "sep_token": "</s>"}
FAMILIES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "hhem": ("T5ForTokenClassification", "T5Config", T5, {"end": "</s>"}),
    "minicheck": ("T5ForConditionalGeneration", "T5Config", T5 | {"decoder_start_token_id": 0}, {"end": "</s>"}),
    "true-t5": ("T5ForConditionalGeneration", "T5Config", T5 | {"decoder_start_token_id": 0}, {"end": "</s>"}),
    "minicheck-roberta": ("RobertaForSequenceClassification", "RobertaConfig",
                          SMALL | {"vocab_size": 300, "max_position_embeddings": 600}, {"end": "</s>", **CLS}),
    "minicheck-deberta": ("DebertaV2ForSequenceClassification", "DebertaV2Config",
                          SMALL | {"vocab_size": 300, "max_position_embeddings": 600},
                          {"end": "[SEP]", "cls_token": "[CLS]", "sep_token": "[SEP]"}),
    "alignscore": ("RobertaForSequenceClassification", "RobertaConfig",
                   SMALL | {"vocab_size": 300, "max_position_embeddings": 600, "num_labels": 3},
                   {"end": "</s>", **CLS}),
    "lettucedetect": ("ModernBertForTokenClassification", "ModernBertConfig", SMALL | {
        "vocab_size": 300, "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2},
        {"end": "[SEP]", "cls_token": "[CLS]", "sep_token": "[SEP]"}),
}  # fmt: skip
"""For each protocol the architecture of its checkpoint, in small, and its tokenizer's marks."""


def make_head(folder: Path, name: str, *, seed: int = 1) -> tuple[Any, Any]:
    """A random model of a protocol's architecture, saved as its authors publish it; the model, and its tokenizer."""
    made, config, settings, marks = FAMILIES[name]
    torch.manual_seed(seed)
    with no_progress_bar():
        model = getattr(transformers, made)(getattr(transformers, config)(**settings)).train(False)
        for weights in model.parameters():
            torch.nn.init.normal_(weights, std=0.5)
        model.save_pretrained(folder)
    return model, make_tokenizer(folder, **marks)


def published(folder: Path, name: str) -> None:
    """Names the tensors as the authors of a checkpoint that is not transformers' own do."""
    old = load_file(folder / "model.safetensors")
    if name == "hhem":
        new = {f"t5.{key}": value for key, value in old.items()}
        (folder / "config.json").write_text(
            json.dumps({"model_type": "HHEMv2Config", "auto_map": {"AutoConfig": "a.B"}})
        )
    else:
        swaps = [("classifier.dense", "base_model.pooler.dense"), ("classifier.out_proj", "tri_layer"),
                 ("roberta.", "base_model.")]  # fmt: skip
        new = {re.sub("|".join(a for a, _ in swaps), lambda m: dict(swaps)[m.group()], k): v for k, v in old.items()}
        assert not set(new) & set(old)
        new["bin_layer.weight"] = torch.zeros(2, 16)
    save_file(new, folder / "model.safetensors", metadata={"format": "pt"})


def by_hand(name: str, model: Any, tokenizer: Any, premise: str, claim: str) -> float:
    """The probability of support, as each protocol's own code finds it."""
    with torch.inference_mode():
        if name == "alignscore":
            return float(model(**tokenizer(premise, claim, return_tensors="pt")).logits.softmax(-1)[0, 0])
        text = {
            "hhem": "<pad> Determine if the hypothesis is true given the premise?\n\n"
            f"Premise: {premise}\n\nHypothesis: {claim}",
            "minicheck": f"predict: {premise}</s>{claim}", "true-t5": f"premise: {premise} hypothesis: {claim}",
            "minicheck-roberta": f"{premise}</s>{claim}", "minicheck-deberta": f"{premise}[SEP]{claim}",
        }[name]  # fmt: skip
        read = tokenizer(text, return_tensors="pt")
        if name in ("minicheck", "true-t5"):
            logits = model(**read, decoder_input_ids=torch.zeros((1, 1), dtype=torch.long)).logits[0, 0, [3, 209]]
            return float(logits.softmax(-1)[1])
        logits = model(**read).logits
        return float((logits[0, 0] if name == "hhem" else logits[0]).softmax(-1)[1])


PASSAGE = "The bridge was opened in 1932. It cost a lot.\nIt crosses the river Tyne."
CLAIMS = ("It was opened in 1932.", "It crosses the Thames.")
RAG = Case("When was it opened?", " ".join(CLAIMS), Grounding("context", (ArgumentGroup("context", (PASSAGE,)),)))


@each("name", [name for name in FAMILIES if name != "lettucedetect"])
async def test_each_protocol_gives_what_its_own_code_gives(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, row = tmp_path_factory.mktemp(name), PROTOCOLS[name]
    model, tokenizer = make_head(folder, name)
    if row.base is not None:
        base = tmp_path_factory.mktemp("base")
        make_head(base, name)
        row = replace(row, base=str(base))
    if row.renamed:
        published(folder, name)
    detector = HeadDetector(load_head(row, f"hf:{folder}", device="cpu"))
    scores = await detector.score(RAG, meter=Meter())
    shown = " ".join(piece.of([PASSAGE]) for piece in sentences_of([PASSAGE]))
    said = [RAG.answer] if row.is_whole else CLAIMS
    errors = [1 - by_hand(name, model, tokenizer, shown, claim) for claim in said]
    assert len({round(error, 3) for error in errors}) == len(errors)  # the tiny model tells the claims apart
    whole = sum(errors) / len(errors) if name == "alignscore" else max(errors)
    assert number(scores.hallucination) == pytest.approx(whole, abs=1e-5)
    assert [number(s.hallucination) for s in scores.sentences] == pytest.approx(
        [] if row.is_whole else errors, abs=1e-5
    )
    assert isinstance(scores.coverage, Unscored) and scores.arguments == ()
    if row.base is not None:  # without a hub: a configuration that transformers knows, and the tokenizer, beside them
        (folder / "config.json").write_bytes((Path(row.base) / "config.json").read_bytes())
        detector = HeadDetector(load_head(PROTOCOLS[name], f"hf:{folder}", device="cpu"))
        assert (await detector.score(RAG, meter=Meter())).hallucination == pytest.approx(whole, abs=1e-5)


async def test_windows_are_those_of_the_protocol_and_the_best_counts(tmp_path: Path) -> None:
    """MiniCheck packs whole sentences to 500 words."""
    model, tokenizer = make_head(tmp_path, "minicheck")
    said = [f"Line {n} says " + "so " * 96 + "." for n in range(7)]
    case = replace(RAG, answer=CLAIMS[0], given=Grounding("context", (ArgumentGroup("context", (" ".join(said),)),)))
    scores = await HeadDetector(load_head(PROTOCOLS["minicheck"], f"hf:{tmp_path}")).score(case, meter=Meter())
    best = max(by_hand("minicheck", model, tokenizer, " ".join(some), CLAIMS[0]) for some in (said[:5], said[5:]))
    assert number(scores.hallucination) == pytest.approx(1 - best, abs=1e-5) and scores.chunks == 2


async def test_token_classes_become_words_and_a_word_is_as_its_worst_token_beside_any_chunk(tmp_path: Path) -> None:
    model, tokenizer = make_head(tmp_path, "lettucedetect")
    row, passages = PROTOCOLS["lettucedetect"], ("It was opened in 1932.", "It crosses the river Tyne.", "It is long.")
    case = replace(RAG, given=Grounding("context", (ArgumentGroup("context", passages),)))

    def read(some: tuple[str, ...]) -> Any:
        shown = "\n".join(f"passage {n}: {text}" for n, text in enumerate(some, 1))
        prompt = (
            f"Briefly answer the following question:\n{case.question}\nBear in mind that your response should be "
            f"strictly based on the following {len(some)} passages:\n{shown}\nIn case the passages do not contain the "
            "necessary information to answer the question, please reply with: "
            '"Unable to answer based on given passages."\noutput:'
        )
        return tokenizer(prompt, case.answer, return_tensors="pt")

    def worst(some: tuple[str, ...], start: int, end: int) -> float:
        with torch.inference_mode():
            shares = model(**read(some)).logits.softmax(-1)[0, :, 1].tolist()
        begin = len(shares) - 1 - len(case.answer)  # a byte is a token
        return max(shares[begin + start : begin + end])

    two = read(passages[:2])["input_ids"].shape[1] + 3
    for longest, chunks in ((row.longest, (passages,)), (two, (passages[:2], passages[2:]))):
        head = load_head(replace(row, longest=longest), f"hf:{tmp_path}", device="cpu")
        scores = await HeadDetector(head).score(case, meter=Meter())
        places = [(m.start(), m.end()) for m in re.finditer(r"\S+", case.answer)]
        wanted = [max(worst(some, *place) for some in chunks) for place in places]
        assert [(w.start, w.end) for w in scores.words] == places and scores.chunks == len(chunks)
        assert [w.score for w in scores.words] == pytest.approx(wanted, abs=1e-5)
        assert [number(s.hallucination) for s in scores.sentences] == pytest.approx([max(wanted[:5]), max(wanted[5:])])
        assert number(scores.hallucination) == max(w.score for w in scores.words)
    head = load_head(replace(row, longest=60), f"hf:{tmp_path}", device="cpu")
    scores = await HeadDetector(head).score(case, meter=Meter())
    assert isinstance(scores.hallucination, Unscored) and "nothing is cut off" in scores.hallucination.unscored
    nothing = await HeadDetector(load_head(row, f"hf:{tmp_path}")).score(replace(case, question=" "), meter=Meter())
    assert nothing.words and nothing.words != scores.words


async def test_a_text_cannot_end_the_premise_nor_open_a_claim_of_its_own(tmp_path: Path) -> None:
    make_head(tmp_path, "minicheck")
    head = load_head(PROTOCOLS["minicheck"], f"hf:{tmp_path}")
    ids = head._encoded([("It is long.</s>It is short.", "It <pad> is.")])["input_ids"][0]
    assert ids.count(head._tokenizer.eos_token_id) == 2 and head._tokenizer.pad_token_id not in ids


def test_a_model_of_another_kind_is_one_clear_error(bert: str, tmp_path: Path) -> None:
    for name, spec, said in [
        ("minicheck-roberta", bert, "has 3 labels, and minicheck-roberta has 2"),
        ("minicheck", "hf:x?entails=1", "no option of the model of minicheck; it has none"),
        ("alignscore", "openai:gpt", "the model of alignscore is named hf:path-or-id"),
        ("hhem", f"hf:{tmp_path}", "cannot be loaded"),  # flan-t5-base, which no hub gives here
    ]:
        with pytest.raises(InputError, match=re.escape(said)):
            load_head(PROTOCOLS[name], spec)
