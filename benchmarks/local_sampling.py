"""Twenty samples of one prompt on a local model: one prefill against 20 calls and against `num_return_sequences=20`.

    python benchmarks/local_sampling.py [--hidden 768 --layers 6 --heads 12 --kv-heads 4] [--device cpu] [--repeats 3]

A random Llama, made on the spot; a 600-token prompt, 32 new tokens, no end token, so that all three do the same work.
All three sample with p = 0.9 at temperature 1. Prints the median of the repeats, taken in turns, and the ratios.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from eirene.models.local.sampling import LocalSampling, prefill, sample_continuations

SAMPLES, PROMPT, NEW = 20, 600, 32


def main() -> None:
    """Builds the model, times the three ways in turns, prints."""
    options = arguments()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model: Any = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=options.vocabulary, hidden_size=options.hidden, intermediate_size=int(2.75 * options.hidden),
            num_hidden_layers=options.layers, num_attention_heads=options.heads,
            num_key_value_heads=options.kv_heads, max_position_embeddings=2048,
        )
    ).to(options.device, dtype=getattr(torch, options.dtype))  # fmt: skip
    model.eval()
    prompt = torch.randint(3, options.vocabulary, (1, PROMPT), device=options.device)
    ways = {
        "one prefill (ours)": lambda: ours(model, prompt),
        "20 calls of generate": lambda: [theirs(model, prompt, 1) for _ in range(SAMPLES)],
        "num_return_sequences=20": lambda: theirs(model, prompt, SAMPLES),
    }
    weights = sum(p.numel() for p in model.parameters()) / 1e6
    print(
        f"Llama of {weights:.0f} M weights, width {options.hidden}, {options.layers} layers, {options.heads} heads "
        f"({options.kv_heads} of keys), {options.dtype}, {options.device}, {options.threads} thread(s); "
        f"{SAMPLES} samples of {NEW} tokens, prompt of {PROMPT}"
    )
    ours(model, prompt)  # the first call pays for what all later ones find ready
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.repeats):
        for name, way in ways.items():
            times[name].append(timed(way, options.device))
    median = {name: statistics.median(found) for name, found in times.items()}
    first = next(iter(median.values()))
    for name, seconds in median.items():
        spread = f"{min(times[name]):.2f} to {max(times[name]):.2f}"
        print(f"{name:26} {seconds:8.2f} s   ({spread})   {seconds / first:5.2f} times ours")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser()
    for name, value in (("hidden", 768), ("layers", 6), ("heads", 12), ("kv-heads", 4), ("vocabulary", 8000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


def ours(model: Any, prompt: torch.Tensor) -> None:
    """One prefill, and an own loop over a shared cache."""
    found = sample_continuations(
        model, prefill(model, prompt[0].tolist()), range(SAMPLES), sampling=LocalSampling(max_new_tokens=NEW),
        end_ids=frozenset(),
    )  # fmt: skip
    assert [len(c.ids) for c in found] == [NEW] * SAMPLES


def theirs(model: Any, prompt: torch.Tensor, n: int) -> None:
    """transformers' `generate`, every sampling field set."""
    config = GenerationConfig(
        do_sample=True, temperature=1.0, top_p=0.9, top_k=0, num_return_sequences=n, max_new_tokens=NEW,
        min_new_tokens=NEW, pad_token_id=0, eos_token_id=None, bos_token_id=None,
    )  # fmt: skip
    with torch.inference_mode():
        out = model.generate(input_ids=prompt, attention_mask=torch.ones_like(prompt), generation_config=config)
    assert out.shape == (n, PROMPT + NEW)


def timed(way: Callable[[], object], device: str) -> float:
    """Seconds of wall time, the device's queue emptied."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    started = time.perf_counter()
    way()
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
