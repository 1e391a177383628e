"""Constrained decoding: what a grammar allows, chosen by the model's own probabilities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import HALLUCINATION, LocalFeedback
from eirene.models.local.model import LocalModel, load_local
from eirene.models.local.sampling import LocalSampling, Vocabulary
from eirene.models.structured import ReplyForm, choice_schema, object_schema
from eirene.text.sentences import split_sentences
from tests.tiny_llama import make_llama

FORM = ReplyForm.of("v", object_schema({"verdict": choice_schema(["yes", "no"])}))
ITEM = Item(id="i", question="What is it?", answer="It is a lamp. It burns oil.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llama(tmp_path_factory.mktemp("llama"), chat=True, context=8192)


@pytest.fixture(scope="module")
def model(folder: Path) -> LocalModel:
    return load_local(f"hf:{folder}")


async def draw(model: LocalModel, *, structured: Any = "auto", count: int = 4, **more: Any) -> list[Any]:
    request = FeedbackRequest(ITEM, ITEM.answer, split_sentences(ITEM.answer), 5)
    feedback = LocalFeedback(model, structured=structured, **more)
    return [sample async for sample in feedback.draw(request, start=0, count=count, meter=Meter())]


async def test_every_reply_of_a_random_model_fits_the_schema(model: LocalModel) -> None:
    sampling = LocalSampling(max_new_tokens=60, grammar=FORM.grammar)
    replies = await model.sample(model.encode_text("hm"), range(20), sampling=sampling, meter=Meter())
    assert {json.loads(reply.text)["verdict"] for reply in replies} == {"yes", "no"}
    assert {reply.finish_reason for reply in replies} == {"stop"}


async def test_a_critique_of_a_random_model_is_valid_in_json_and_in_lines(folder: Path, model: LocalModel) -> None:
    plain = load_local(f"hf:{folder}?layout=instruct")
    for held in (model, plain):
        samples = await draw(held)
        # A random model may give every sentence one reason, which is no verdict; the form is kept all the same.
        assert {sample.invalid for sample in samples} <= {None, "no verdict"}
        assert all(len(sample.tags) == 2 for sample in samples if sample.invalid is None)
        assert any(sample.invalid is None for sample in samples)
    assert all(sample.invalid for sample in await draw(model, structured="text"))


async def test_the_hallucination_critic_likewise(model: LocalModel) -> None:
    samples = await draw(model, asking=HALLUCINATION, count=2)
    assert [sample.invalid for sample in samples] == [None] * 2


async def test_the_same_seed_gives_the_same_sample(model: LocalModel) -> None:
    assert await draw(model) == await draw(model)
    assert (await draw(model))[:2] == await draw(model, count=2)


def test_tags_keep_the_model_s_proportions(model: LocalModel) -> None:
    vocabulary = Vocabulary(model.tokenizer, model.end_ids, name="tiny")
    held = vocabulary.constrain('%llguidance {}\nstart: "a" | "b"', 1)
    logits = torch.randn(1, len(model.tokenizer), generator=torch.Generator().manual_seed(0))
    masked = held.masked(logits, [0])
    kept = masked.isfinite()
    assert 2 <= int(kept.sum()) < 5
    assert torch.equal(masked[kept], logits[kept])


def test_a_grammar_that_is_none_is_refused(model: LocalModel) -> None:
    vocabulary = Vocabulary(model.tokenizer, model.end_ids, name="tiny")
    with pytest.raises(InputError, match="grammar of replies cannot be used"):
        vocabulary.constrain("start: (", 1)
