"""Token attributions against captum and against one backward pass a token, on a Llama made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import InputXGradient, Saliency
from peft import PromptTuningConfig, get_peft_model

from eirene.eval.detectors.gradients import attribute_tokens
from eirene.models.local.loading import load_base, quiet_peft
from tests.tiny_llama import make_llama

IDS = [5, 17, 44, 102, 9, 61, 200, 31, 7, 88]
ANSWER = 4


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = make_llama(tmp_path_factory.mktemp("llama"))
    return load_base(str(folder), device="cpu", dtype=None).eval()


def by_captum(model: Any, method: type, ids: list[int], answer: int) -> np.ndarray:
    """One call a token, on the text up to it: (tokens, answer)."""
    columns = []
    for at in range(len(ids) - answer, len(ids)):
        before = model.get_input_embeddings()(torch.tensor([ids[:at]])).detach()

        def logit(embedded: torch.Tensor, target: int = ids[at]) -> torch.Tensor:
            return model(inputs_embeds=embedded).logits[:, -1, target]

        options = {"abs": False} if method is Saliency else {}
        found = method(logit).attribute(before.requires_grad_(), **options)[0].detach().double()
        column = torch.zeros(len(ids), dtype=torch.double)
        column[:at] = found.norm(dim=-1) if method is Saliency else found.sum(-1)
        columns.append(column)
    return torch.stack(columns).T.numpy()


@pytest.mark.filterwarnings("ignore:Setting forward, backward hooks")
@pytest.mark.filterwarnings("ignore:Input Tensor")
def test_attributions_are_captums(subtests: pytest.Subtests, model) -> None:
    for measure, method in [("dot", InputXGradient), ("l2", Saliency)]:
        with subtests.test(measure=measure, method=method):
            found = attribute_tokens(model, IDS, ANSWER, measure=measure)
            np.testing.assert_allclose(found, by_captum(model, method, IDS, ANSWER), atol=1e-5)


def test_attributions_do_not_hang_on_the_chunk(subtests: pytest.Subtests, model) -> None:
    for chunk in [1, 3, 4, 100]:
        with subtests.test(chunk=chunk):
            np.testing.assert_allclose(
                attribute_tokens(model, IDS, ANSWER, chunk=chunk), attribute_tokens(model, IDS, ANSWER), atol=1e-6
            )


def test_nothing_flows_back_from_a_token_that_comes_later(model) -> None:
    found = attribute_tokens(model, IDS, ANSWER)
    later = np.arange(len(IDS))[:, None] >= np.arange(len(IDS) - ANSWER, len(IDS))[None]
    assert not found[later].any()
    assert found[~later].all()


def test_virtual_tokens_take_part_and_have_no_row(model) -> None:
    with quiet_peft():
        tuned: Any = get_peft_model(model, PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=5))
    with torch.inference_mode():
        soft = tuned.get_prompt(batch_size=1)
    found = attribute_tokens(model, IDS, ANSWER, soft_prompt=soft)
    embedded = model.get_input_embeddings()(torch.tensor([IDS])).detach().requires_grad_()
    logits = model(inputs_embeds=torch.cat([soft.clone(), embedded], 1)).logits[0]
    (gradient,) = torch.autograd.grad(logits[5 + len(IDS) - 2, IDS[-1]], embedded)
    np.testing.assert_allclose(found[:, -1], (gradient * embedded)[0].sum(-1).detach().double(), atol=1e-6)
    assert found.shape == (len(IDS), ANSWER)
    assert np.abs(found - attribute_tokens(model, IDS, ANSWER)).max() > 1e-4


def test_a_head_that_does_more_than_multiply_is_seen(model) -> None:
    """Logits that are scaled afterwards have scaled gradients, and the short way round the head would miss that."""

    class Scaled(type(model)):  # type: ignore[misc]
        def forward(self, *args: Any, **options: Any) -> Any:
            out = super().forward(*args, **options)
            out.logits = 3.0 * out.logits
            return out

    scaled = Scaled(model.config).eval()
    scaled.load_state_dict(model.state_dict())
    np.testing.assert_allclose(
        attribute_tokens(scaled, IDS, ANSWER), 3.0 * attribute_tokens(model, IDS, ANSWER), rtol=1e-4, atol=1e-6
    )


def test_the_model_is_left_as_it_was(model) -> None:
    attention = model.config._attn_implementation
    wanted = [p.requires_grad for p in model.parameters()]
    attribute_tokens(model, IDS, ANSWER)
    assert model.config._attn_implementation == attention
    assert [p.requires_grad for p in model.parameters()] == wanted
    assert all(p.grad is None for p in model.parameters())


def test_something_must_stand_before_the_answer(subtests: pytest.Subtests, model) -> None:
    for answer in [0, len(IDS)]:
        with subtests.test(answer=answer), pytest.raises(ValueError, match="before the answer"):
            attribute_tokens(model, IDS, answer)
