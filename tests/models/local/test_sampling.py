"""Sampling from logits, and from one prefill: against teacher forcing, transformers' own nucleus, and hand counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    Gemma2Config,
    GPT2Config,
    GptOssConfig,
    LlamaConfig,
    MistralConfig,
    Qwen3Config,
    TopPLogitsWarper,
)

from eirene.core.errors import InputError, MalformedReplyError
from eirene.core.signature import rng_for
from eirene.models.local.sampling import LocalSampling, StoppedError, pick, prefill, sample_continuations
from tests.rows import each
from tests.tiny_llama import make_llama

PROMPT = list(range(10, 90))
NEVER: frozenset[int] = frozenset()


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = make_llama(tmp_path_factory.mktemp("llama"))
    model: Any = AutoModelForCausalLM.from_pretrained(folder)
    return model.eval()


def drawn(model: Any, seeds: list[int], *, end: frozenset[int] = NEVER, **sampling: Any) -> list[tuple[int, ...]]:
    settings = LocalSampling(**{"max_new_tokens": 70, **sampling})
    found = sample_continuations(model, prefill(model, PROMPT), seeds, sampling=settings, end_ids=end)
    return [c.ids for c in found]


def test_the_inverse_of_the_distribution_is_taken_in_the_order_of_the_vocabulary() -> None:
    logits = torch.log(torch.tensor([[0.1, 0.5, 0.15, 0.25]])).expand(6, -1)
    uniform = torch.tensor([0.0, 0.55, 0.56, 0.72, 0.73, 1.0])
    # The nucleus of 0.8 is {1, 2, 3}: shares 0.5, 0.15, 0.25 of 0.9, that is, up to 0.556, 0.722, 1.
    assert pick(logits, uniform, temperature=1.0, top_p=0.8).tolist() == [1, 1, 2, 2, 3, 3]


def test_the_last_bit_of_a_logit_does_not_take_one_token_for_another() -> None:
    logits = torch.tensor([[0.0, 1.0, 1.0, 0.5]])
    uniform = torch.linspace(0.01, 0.99, 50)
    one, other = (logits + torch.tensor([[0.0, sign * 1e-6, 0.0, 0.0]]) for sign in (1, -1))
    picked = [pick(x.expand(50, -1), uniform, temperature=1.0, top_p=1.0).tolist() for x in (one, other)]
    assert picked[0] == picked[1]


@each("vocabulary", [50, 3000])
@each("top_p", [0.3, 0.9, 1.0])
def test_the_nucleus_is_that_of_transformers(vocabulary: int, top_p: float) -> None:
    logits = torch.randn(1, vocabulary, generator=torch.Generator().manual_seed(0))
    uniform = torch.linspace(0, 1, 4001)
    ours = set(pick(logits.expand(len(uniform), -1), uniform, temperature=0.7, top_p=top_p).tolist())
    theirs = TopPLogitsWarper(top_p)(torch.zeros(1, 1), logits / 0.7)[0]
    allowed = set(theirs.isfinite().nonzero()[:, 0].tolist())
    assert ours <= allowed
    big = {i for i in allowed if theirs.softmax(0)[i] > 1 / 2000}  # a wider share than the grid's step is met
    assert big <= ours


def test_frequencies_are_the_renormalised_probabilities() -> None:
    logits = torch.log(torch.tensor([[0.6, 0.3, 0.06, 0.04]]))
    uniform = torch.from_numpy(np.random.default_rng(0).random(20_000).astype(np.float32))
    tokens = pick(logits.expand(20_000, -1), uniform, temperature=1.0, top_p=0.85)
    assert torch.bincount(tokens, minlength=4)[:2].tolist() == pytest.approx([13_333, 6_667], rel=0.03)
    assert set(tokens.tolist()) == {0, 1}


def test_temperature_zero_takes_the_likeliest() -> None:
    assert pick(torch.tensor([[1.0, 3.0, 2.0]]), torch.tensor([0.99]), temperature=0.0, top_p=0.9).tolist() == [1]


@each("temperature", [0.0, 1.0])
def test_scores_that_are_no_numbers_are_an_error(temperature: float) -> None:
    with pytest.raises(MalformedReplyError, match="not numbers"):
        pick(torch.full((1, 4), float("nan")), torch.zeros(1), temperature=temperature, top_p=0.9)


def test_a_sample_is_what_teacher_forcing_with_its_numbers_gives(llama: Any) -> None:
    """The shared, growing cache changes no token: a forward over prompt and sample at once picks the same ones."""
    ids = drawn(llama, [1, 2, 3])[1]
    with torch.inference_mode():
        logits = llama(torch.tensor([PROMPT + list(ids)])).logits[0, len(PROMPT) - 1 : -1]
    uniform = torch.from_numpy(rng_for(2, "tokens").random(70).astype(np.float32))
    assert pick(logits, uniform, temperature=1.0, top_p=0.9).tolist() == list(ids)


def test_a_sample_depends_on_its_seed_alone(llama: Any) -> None:
    together = drawn(llama, [5, 6, 7, 8])
    torch.manual_seed(123)
    assert drawn(llama, [7]) == together[2:3]
    assert drawn(llama, [8, 5]) == [together[3], together[0]]
    assert drawn(llama, [5, 6, 7, 8], max_batch=3) == together
    assert len(set(together)) == 4


def test_rows_that_end_leave_the_batch_and_change_no_other(llama: Any) -> None:
    """Cutting each free-running sample at its first end token gives what sampling with end tokens gives."""
    free = drawn(llama, list(range(8)))
    end = frozenset({free[0][3], free[1][10], free[2][20]})
    cut = [ids[: next((i for i, t in enumerate(ids) if t in end), len(ids))] for ids in free]
    assert drawn(llama, list(range(8)), end=end) == cut
    assert len({len(ids) for ids in cut}) > 2


def test_the_end_is_told_from_the_limit(llama: Any) -> None:
    free = drawn(llama, [0])[0]
    sampling = LocalSampling(max_new_tokens=4)
    ended, cut = (
        sample_continuations(llama, prefill(llama, PROMPT), [0], sampling=sampling, end_ids=frozenset({end}))[0]
        for end in (free[2], 399)
    )
    assert (ended.is_cut_off, ended.n_tokens, len(ended.ids)) == (False, free.index(free[2]) + 1, free.index(free[2]))
    assert (cut.is_cut_off, cut.n_tokens, len(cut.ids)) == (True, 4, 4)


def test_a_prefill_serves_again(llama: Any) -> None:
    known, settings = prefill(llama, PROMPT), LocalSampling(max_new_tokens=9)
    first, second = (sample_continuations(llama, known, [1, 2], sampling=settings, end_ids=NEVER) for _ in range(2))
    assert first == second


SMALL = {
    "vocab_size": 100,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "initializer_range": 0.2,
}
GROUPED = {**SMALL, "intermediate_size": 64, "num_key_value_heads": 2}
FAMILIES: dict[str, tuple[Any, dict[str, Any]]] = {
    "llama": (LlamaConfig, GROUPED),
    "qwen3": (Qwen3Config, {**GROUPED, "head_dim": 16}),
    "gpt2": (GPT2Config, SMALL),
    "one key head": (LlamaConfig, {**GROUPED, "num_key_value_heads": 1}),
    "sliding windows": (MistralConfig, {**GROUPED, "sliding_window": 16}),
    "windows and soft caps": (Gemma2Config, {**GROUPED, "head_dim": 8, "sliding_window": 16}),
    "soft caps": (Gemma2Config, {**GROUPED, "head_dim": 8, "layer_types": ["full_attention"] * 2}),
    "sinks": (GptOssConfig, {**GROUPED, "head_dim": 8, "layer_types": ["full_attention"] * 2, "num_local_experts": 2,
                             "num_experts_per_tok": 1}),
    "biases in an attention of its own": (BloomConfig, {**SMALL, "n_layer": 2, "n_head": 4}),
}  # fmt: skip


@each("family", FAMILIES)
def test_samples_are_those_of_teacher_forcing_whatever_the_attention(family: str) -> None:
    kind, fields = FAMILIES[family]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model: Any = cast(Any, AutoModelForCausalLM).from_config(kind(**fields))
    model.eval()
    ids = drawn(model, [3, 4], max_new_tokens=30)[1]
    with torch.inference_mode():
        logits = model(torch.tensor([PROMPT + list(ids)])).logits[0, len(PROMPT) - 1 : -1]
    uniform = torch.from_numpy(rng_for(4, "tokens").random(30).astype(np.float32))
    assert pick(logits, uniform, temperature=1.0, top_p=0.9).tolist() == list(ids)


def test_sampling_stops_when_nobody_waits(llama: Any) -> None:
    with pytest.raises(StoppedError):
        sample_continuations(
            llama, prefill(llama, PROMPT), [1], sampling=LocalSampling(), end_ids=NEVER, is_stopped=lambda: True
        )


@each(
    "bad",
    [{"max_new_tokens": 0}, {"max_batch": 0}, {"temperature": -1.0}, {"temperature": float("nan")}, {"top_p": 0.0}],
)
def test_settings_out_of_range_are_input_errors(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        LocalSampling(**bad)
