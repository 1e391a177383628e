"""Log-probabilities of a text by a local model: those of one plain pass, whatever the pieces; whole or not at all."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from eirene.core.errors import BackendError
from eirene.core.usage import Meter
from eirene.models.local.model import LocalModel, load_local
from eirene.models.local.scoring import LocalScorer, score_text
from eirene.prompts import Message
from tests.tiny_llama import make_llama

TEXT = "The answer is complete. It has no </s> é漢 in it."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LocalModel:
    return load_local(f"hf:{make_llama(tmp_path_factory.mktemp('llama'))}", device="cpu")


def plain(model: LocalModel, before: list[int], ids: list[int]) -> torch.Tensor:
    """The log-probabilities of every token in each place of the text, from one pass over all."""
    network = model.model
    words = network.get_input_embeddings()(torch.tensor([[*before, *ids]]))
    if model.soft_prompt is not None:
        words = torch.cat([model.soft_prompt, words], dim=1)
    with torch.inference_mode():
        logits = network(inputs_embeds=words).logits[0]
    return logits[-len(ids) - 1 : -1].double().log_softmax(-1)


def ids_of(model: LocalModel, text: str) -> list[int]:
    return list(model.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])


@pytest.mark.parametrize(("words", "repeats"), [(1, 1), (300, 1), (1, 40), (200, 30)])
async def test_the_log_probabilities_are_those_of_one_pass(model: LocalModel, words: int, repeats: int) -> None:
    """Prompts and texts shorter and longer than a piece."""
    before, text = model.encode_text("question " * words), TEXT * repeats
    found = await score_text(model, before, text, top=5, meter=Meter())
    ids = ids_of(model, text)
    expected = plain(model, before, ids)
    own = expected.gather(1, torch.tensor(ids)[:, None])[:, 0]
    assert [t.logprob for t in found] == pytest.approx(own.tolist(), abs=1e-4)
    best = expected.topk(5, dim=1).values
    for token, logprob, likeliest in zip(found, own.tolist(), best.tolist(), strict=True):
        assert sorted(token.top, reverse=True)[:5] == pytest.approx(likeliest, abs=1e-4)
        assert len(token.top) == (5 if logprob >= likeliest[-1] - 1e-4 else 6)
        assert any(abs(other - token.logprob) < 1e-6 for other in token.top)


async def test_virtual_tokens_come_first(model: LocalModel) -> None:
    tuned = LocalModel(model.model, model.tokenizer, name="tuned", soft_prompt=torch.randn(1, 5, 32))
    before = tuned.encode_text("question")
    found = await score_text(tuned, before, TEXT, top=1, meter=Meter())
    ids = ids_of(tuned, TEXT)
    expected = plain(tuned, before, ids).gather(1, torch.tensor(ids)[:, None])[:, 0]
    assert [t.logprob for t in found] == pytest.approx(expected.tolist(), abs=1e-4)


async def test_tokens_know_their_places_and_special_words_are_plain_text(model: LocalModel) -> None:
    found = await score_text(model, model.encode_text("q"), TEXT, top=1, meter=Meter())
    assert (found[0].start, found[-1].end) == (0, len(TEXT))
    assert all(a.start <= b.start for a, b in pairwise(found))
    at = TEXT.index("</s>")
    assert sum(at <= t.start < at + 4 for t in found) > 1


async def test_what_does_not_fit_is_refused_and_never_cut(model: LocalModel) -> None:
    before = model.encode_text("q")
    with pytest.raises(BackendError, match="and the model takes 2048; nothing is cut off"):
        await score_text(model, before, "x" * 2048, top=1, meter=Meter())


async def test_usage_counts_prompt_and_text(model: LocalModel) -> None:
    meter, before = Meter(), model.encode_text("question")
    found = await score_text(model, before, TEXT, top=1, meter=meter)
    assert (meter.total.calls, meter.total.input_tokens, meter.total.output_tokens) == (1, len(before) + len(found), 0)
    assert await score_text(model, before, "", top=1, meter=Meter()) == []


async def test_a_chat_model_is_asked_in_its_template(tmp_path: Path) -> None:
    chat = load_local(f"hf:{make_llama(tmp_path, chat=True)}", device="cpu")
    ask = (Message("user", "how are you"),)
    found = await LocalScorer(chat).score(ask, "fine", top=1, meter=Meter())
    direct = await score_text(chat, chat.encode_chat(ask), "fine", top=1, meter=Meter())
    assert found == direct
    assert LocalScorer(chat).name == chat.name


async def test_a_prompt_without_tokens_is_an_error_of_the_caller(model: LocalModel) -> None:
    with pytest.raises(ValueError, match="must have a token"):
        await score_text(model, [], TEXT, top=1, meter=Meter())


async def test_scores_that_are_no_numbers_are_an_error(tmp_path: Path) -> None:
    damaged = load_local(f"hf:{make_llama(tmp_path)}", device="cpu")
    with torch.no_grad():
        damaged.model.get_input_embeddings().weight[:] = float("nan")
    with pytest.raises(BackendError, match="not numbers"):
        await score_text(damaged, damaged.encode_text("q"), TEXT, top=1, meter=Meter())


async def test_a_score_too_large_for_its_dtype_is_an_error(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half precision makes infinity of it, of which no probability can be had; that must not pass for a score."""
    whole = model.model.forward

    def overflowing(*args: Any, **more: Any) -> Any:
        out = whole(*args, **more)
        out.logits[..., 0] = float("inf")
        return out

    monkeypatch.setattr(model.model, "forward", overflowing)
    with pytest.raises(BackendError, match="not numbers"):
        await score_text(model, model.encode_text("q"), TEXT, top=1, meter=Meter())
