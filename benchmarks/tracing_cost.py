"""What tracing costs, off and on, as a share of a run: blocks of rows in turn, in one process.

On: a real export by OTLP/HTTP to a collector in a process of its own, which reads and drops what comes. Each pair is a
block of rows with spans, all of which are sent by its end, and one without, in changing order; no two rows are alike,
so that no encoder remembers them. What counts is the ratio of the lower quartiles of the CPU seconds of all threads,
the exporter's among them, and of the wall seconds. Off: the places a run passes at which a span could be made, times
what passing one costs.

python benchmarks/tracing_cost.py [--pairs 20] [--rows 20]
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import time
import timeit
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import eirene
from eirene.core.otlp import exporting
from eirene.core.tracing import Tracing, note, root_span, span
from eirene.testing.loopback import LoopbackServer

ITEM = json.loads((Path(__file__).parents[1] / "examples" / "dropped-argument.json").read_text("utf-8"))
CRITIQUE = "\n".join(f"{n}. [Complete]" if n != 2 else "2. [Incomplete] Traffic is missing." for n in range(1, 5))
REWRITE = ITEM["answer"] + " One commuting day less cuts traffic and emissions."


def collect(pipe: Connection) -> None:
    """The collector's process."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    pipe.send(server.server_port)
    server.serve_forever()


def answer(pipe: Connection, latency_s: float) -> None:
    """The process of a model's server, which gives one choice a request: 21 calls a run."""
    with LoopbackServer(
        lambda request, _: REWRITE if request.body.get("temperature") == 0 else CRITIQUE,
        latency_s=latency_s, n="refuses",
    ) as server:  # fmt: skip
        pipe.send(server.base_url)
        pipe.recv()


@contextmanager
def beside(work: Callable[..., None], *more: Any) -> Any:
    """What a process says first, as long as it is wanted."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs, *more), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.kill()
        process.join()


ROW = itertools.count()


def row() -> dict[str, Any]:
    """The example as if told of another town."""
    n = next(ROW)

    def there(text: str) -> str:
        return f"In town {n}, {text[0].lower()}{text[1:]}"

    sides = [{**side, "arguments": [there(a) for a in side["arguments"]]} for side in ITEM["perspectives"]]
    sentences = [there(sentence.text) for sentence in eirene.split_sentences(ITEM["answer"])]
    return {"id": f"row {n}", "question": ITEM["question"], "answer": " ".join(sentences), "perspectives": sides}


def seconds(run: Callable[[], object]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - cpu, time.perf_counter() - wall


def measure(name: str, refine: Callable[[Tracing | bool], object], tracing: Tracing, pairs: int, rows: int) -> None:
    def on() -> None:
        for _ in range(rows):
            refine(tracing)
        tracing.provider.force_flush()  # type: ignore[union-attr]

    def off() -> None:
        for _ in range(rows):
            refine(False)

    on(), off()
    found = np.empty((pairs, 2, 2))
    for n in range(pairs):
        for at, block in ((1, on), (0, off)) if n % 2 else ((0, off), (1, on)):
            found[n, at] = seconds(block)
    draws = np.random.default_rng(0).integers(pairs, size=(2000, pairs))
    for kind, (without, with_spans) in zip(("CPU", "wall"), found.transpose(2, 1, 0), strict=True):
        # Other jobs on the machine only ever add: the quicker blocks tell more than the middle one.
        ratios = np.quantile(with_spans[draws], 0.25, axis=1) / np.quantile(without[draws], 0.25, axis=1)
        ratio = np.quantile(with_spans, 0.25) / np.quantile(without, 0.25)
        low, high = np.quantile(ratios, [0.025, 0.975])
        told = f"{ratio - 1:+.2%} [{low - 1:+.2%}, {high - 1:+.2%}]"
        each = f"{np.median(without) / rows * 1e3:.1f} ms a row off, n={pairs} pairs of {rows} rows"
        print(f"{name}, on: {kind} {told} ({each})", flush=True)
    passed = places(refine)
    share = passed * nanoseconds_off() * 1e-9 / float(np.median(found[:, 0, 0]) / rows)
    print(f"{name}, off: {passed} places, {share:.4%} of the CPU time", flush=True)
    counted = passed / 2 * microseconds_on(tracing) * 1e-6 / float(np.quantile(found[:, 0, 0], 0.25) / rows)
    print(f"{name}, on, by count: {passed // 2} spans, {counted:.2%} of the CPU time", flush=True)


def places(refine: Callable[[Tracing | bool], object]) -> int:
    """Spans of a run, and as many notes: each a place that an untraced run passes."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    refine(Tracing(provider=provider))
    return 2 * len(kept.get_finished_spans())


def nanoseconds_off() -> float:
    """The dearest of the three kinds of place, with no tracing on."""

    def one_span() -> None:
        with span("x"):
            pass

    def one_root() -> None:
        with root_span("x", dict):
            pass

    return max(min(timeit.repeat(place, number=20_000, repeat=5)) / 20_000 for place in
               (one_span, one_root, lambda: note(dict))) * 1e9  # fmt: skip


def microseconds_on(tracing: Tracing) -> float:
    """CPU time of one span with six attributes, from its beginning to the collector; the least of seven times 400."""

    def block() -> None:
        with root_span("root", dict, tracing=tracing):
            for n in range(400):
                with span("span", lambda n=n: {"eirene.step": "x", "eirene.round": n}) as found:  # type: ignore[misc]
                    assert found is not None
                    found.set({"eirene.score.coverage": 0.5, "eirene.score.hallucination": 0.5, "eirene.text": "best"})
        tracing.provider.force_flush()  # type: ignore[union-attr]

    return min(seconds(block)[0] for _ in range(7)) / 400 * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=20)
    asked = parser.parse_args()
    print(f"a place costs {nanoseconds_off():.0f} ns, off")
    with beside(collect) as port:
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{port}"
        with exporting() as export:
            tracing = Tracing(provider=export.provider)
            print(f"a span costs {microseconds_on(tracing):.0f} us, on", flush=True)
            measure("embedded", lambda t: eirene.refine(row(), tracing=t), tracing, asked.pairs, asked.rows)
            for latency_s in (0.3, 0.0):
                with beside(answer, latency_s) as url:
                    told: Any = {"backend": "openai:test", "base_url": url}
                    measure(
                        f"chat model, 21 calls of {latency_s:g} s",
                        lambda t, told=told: eirene.refine(row(), tracing=t, **told), tracing, asked.pairs, asked.rows,
                    )  # fmt: skip


if __name__ == "__main__":
    main()
