"""Traces of runs: one tree a run, model calls by the conventions, no text unless asked, over a real OTLP export."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import subprocess
import sys
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import eirene
from eirene.agent.session import ReviewedRun
from eirene.core.errors import InputError, MissingExtraError
from eirene.core.tracing import Tracing
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, ScriptedReply, ScriptedRequest, TextReply
from eirene.text.cancellation import check_cancelled
from tests.otlp_collector import Collector, Received
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")

ITEM: dict[str, Any] = {
    "id": "zoos",
    "question": "Should the zoo of Basel be closed?",
    "answer": "Supporters of zoos say that zoos teach children about animals.",
    "perspectives": [
        {"name": "pro", "arguments": ["Zoos teach children about animals."]},
        {"name": "con", "arguments": ["Cages make animals suffer."]},
    ],
}
REWRITE = "after 1: Opponents of zoos say that cages make animals suffer."
CRITIQUE = "1. [Incomplete] The suffering of animals is missing."


def model(request: ScriptedRequest, index: int) -> ScriptedReply:
    """Critiques where several are asked for, or seeds say so; else the rewrite."""
    return REWRITE if request.body.get("temperature") == 0 else CRITIQUE


def refined(server: LoopbackServer, tracing: Tracing | bool, **options: Any) -> eirene.Record:
    backend = {"backend": "openai:test", "base_url": server.base_url}
    return eirene.refine(ITEM, **{**backend, "tracing": tracing, "max_rounds": 1, "stop": "none", **options})


STEPS = ["sample_feedback", "select_critique", "refine", "check", "rescore", "gate"]


def no_texts_in(collector: Collector) -> bool:
    sent = b"".join(collector.raw)
    return not any(word in sent for word in (b"Basel", b"Supporters", b"suffer", b"Incomplete"))


def one_tree(collector: Collector) -> Received:
    """The root of the one trace, in which every span hangs on another."""
    (root,) = collector.roots
    ids = {span.id for span in collector.spans}
    assert {span.trace for span in collector.spans} == {root.trace}
    assert all(span.parent in ids for span in collector.spans if span is not root and span.parent)
    return root


@each("policy", ["takes", "refuses"])
def test_a_run_with_twenty_samples_is_one_tree_with_every_call_in_it(policy: Any) -> None:
    with Collector() as collector, LoopbackServer(model, n=policy) as server:
        with collector.provider() as provider:
            record = refined(server, Tracing(provider=provider))
        root = one_tree(collector)
        assert (root.name, root.kind, root.failed) == ("invoke_workflow eirene", "INTERNAL", False)
        assert root.attributes["eirene.item.id"] == "zoos"
        assert root.attributes["eirene.status"] == record.status == "accepted"
        assert root.attributes["eirene.usage.calls"] == server.calls == record.usage.calls
        steps = [span.name for span in collector.spans if span.parent == root.id]
        assert steps == STEPS
        calls = collector.named("chat ")
        assert len(calls) == server.calls
        good = [call for call in calls if not call.failed]
        assert sum(len(call.attributes["gen_ai.response.finish_reasons"]) for call in good) == 21
        for call in good:
            told = call.attributes
            assert (call.kind, told["gen_ai.operation.name"], told["gen_ai.provider.name"]) == (
                "CLIENT",
                "chat",
                "openai",
            )
            assert told["gen_ai.request.model"] == told["gen_ai.response.model"] == "test"
            assert set(told["gen_ai.response.finish_reasons"]) == {"stop"}
            assert (told["server.address"], told["server.port"]) == ("127.0.0.1", server.port)
        assert sum(call.attributes["gen_ai.usage.input_tokens"] for call in good) == server.input_tokens
        assert sum(call.attributes["gen_ai.usage.output_tokens"] for call in good) == server.output_tokens
        assert [collector.path(call)[1] for call in calls] == ["sample_feedback"] * (len(calls) - 1) + ["refine"]
        gate = collector.named("gate")[-1]
        assert gate.attributes["eirene.decision"] == "accept"
        (seen,) = collector.named("detector alignment (candidate)")
        assert collector.path(seen)[1] == "rescore"
        assert seen.attributes["eirene.score.coverage"] == record.scores.final["alignment"].coverage
        assert no_texts_in(collector)


def test_retried_attempts_and_a_call_that_fails_for_good_are_seen() -> None:
    def busy(request: ScriptedRequest, index: int) -> ScriptedReply:
        refused = HttpError(429, "slow down, Basel", headers={"retry-after-ms": "1"})
        if request.body.get("temperature") == 0:
            return HttpError(400, "no Basel here")
        return refused if request.number == 1 else CRITIQUE

    with Collector() as collector, LoopbackServer(busy) as server:
        with collector.provider() as provider:
            record = refined(server, Tracing(provider=provider))
        root = one_tree(collector)
        assert record.status == "failed"
        assert (root.failed, root.attributes["error.type"]) == (True, "RequestRefusedError")
        first, second, *_, last = collector.named("chat ")
        assert (first.failed, first.attributes["error.type"]) == (True, "RateLimitError")
        assert first.attributes["http.response.status_code"] == 429
        assert (first.attributes["eirene.attempt"], second.attributes["eirene.attempt"]) == (1, 2)
        assert not second.failed
        assert (last.failed, last.attributes["http.response.status_code"]) == (True, 400)
        assert collector.path(last)[1] == "refine"
        assert next(s for s in collector.spans if s.name == "refine").failed
        assert no_texts_in(collector)  # nor what the server said


def test_a_kept_original_and_a_cut_reply_are_seen() -> None:
    def cut(request: ScriptedRequest, index: int) -> ScriptedReply:
        asks = "You mend" in request.text or "You revise" in request.text
        return TextReply("Zoos", "length") if asks else CRITIQUE

    with Collector() as collector, LoopbackServer(cut) as server:
        with collector.provider() as provider:
            record = refined(server, Tracing(provider=provider))
        assert record.status == one_tree(collector).attributes["eirene.status"] == "kept"
        assert collector.named("chat ")[-1].attributes["gen_ai.response.finish_reasons"] == ["length"]
        (gate,) = [span for span in collector.spans if span.name == "gate"]
        assert (gate.attributes["eirene.decision"], gate.attributes["eirene.gate.test"]) == ("reject", "unusable")
        assert not gate.failed


def test_texts_are_there_when_asked_for_and_no_longer_than_asked_for() -> None:
    with Collector() as collector, LoopbackServer(model) as server:
        with collector.provider() as provider:
            record = refined(server, Tracing(content=True, provider=provider, max_characters=90))
        root = one_tree(collector)
        asked = json.loads(root.attributes["gen_ai.input.messages"])
        assert [message["role"] for message in asked] == ["user", "assistant"]
        assert asked[0]["parts"] == [{"type": "text", "content": ITEM["question"]}]
        told = json.loads(root.attributes["gen_ai.output.messages"])
        assert record.answer.startswith(told[0]["parts"][0]["content"].removesuffix("…"))
        for span in collector.spans:
            for name, value in span.attributes.items():
                if name.endswith(".messages"):
                    assert sum(len(m["parts"][0]["content"]) for m in json.loads(value)) <= 90
                elif isinstance(value, str):
                    assert len(value) <= 90
        calls = collector.named("chat ")
        assert all("gen_ai.input.messages" in call.attributes for call in calls)
        (first, *_) = json.loads(calls[0].attributes["gen_ai.output.messages"])
        assert first == {"role": "assistant", "parts": [{"type": "text", "content": CRITIQUE}], "finish_reason": "stop"}
        assert "eirene.why" in collector.named("gate")[-1].attributes


def in_memory() -> tuple[TracerProvider, InMemorySpanExporter]:
    kept, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    return provider, kept


def test_a_run_is_part_of_the_span_around_it() -> None:
    provider, kept = in_memory()
    with provider.get_tracer("user").start_as_current_span("mine") as mine:
        eirene.refine(ITEM, tracing=Tracing(provider=provider))
    runs = [span for span in kept.get_finished_spans() if span.name == "invoke_workflow eirene"]
    assert [run.parent.span_id for run in runs if run.parent] == [mine.get_span_context().span_id]


async def test_a_reviewed_run_is_a_tree_for_each_stretch() -> None:
    provider, kept = in_memory()
    reviewed = ReviewedRun(
        eirene.Item.model_validate(ITEM), parts=eirene.resolve_backend("embedded"), settings=eirene.Settings(),
        checkpointer=InMemorySaver(), tracing=Tracing(provider=provider),
    )  # fmt: skip
    await reviewed.begin()
    await reviewed.answer({"action": "go on"})
    spans = kept.get_finished_spans()
    roots = [span for span in spans if span.name == "invoke_workflow eirene"]
    told = [{**(root.attributes or {})} for root in roots]
    assert [each["eirene.status"] for each in told] == ["waiting", "accepted"]
    assert {(each["eirene.item.id"], each["gen_ai.conversation.id"]) for each in told} == {("zoos", reviewed.thread_id)}
    steps = [
        [s.name for s in spans if s.parent and root.context and s.parent.span_id == root.context.span_id]
        for root in roots
    ]
    assert steps == [["sample_feedback", "select_critique", "review"], ["review", *STEPS[2:]]]


async def test_runs_side_by_side_keep_their_spans_apart() -> None:
    provider, kept = in_memory()
    backend = eirene.ScriptedChatModel(lambda messages: CRITIQUE)
    loop = eirene.Loop(eirene.resolve_backend(backend), eirene.Settings(samples=3), tracing=Tracing(provider=provider))
    await asyncio.gather(*(loop.arun({**ITEM, "id": f"row {n}"}) for n in range(5)))
    spans = kept.get_finished_spans()
    roots = {s.context.trace_id: s for s in spans if s.parent is None and s.context}
    assert {str((s.attributes or {})["eirene.item.id"]) for s in roots.values()} == {f"row {n}" for n in range(5)}
    by_trace = [sum(s.context.trace_id == root for s in spans if s.context) for root in roots]
    assert len(set(by_trace)) == 1 and sum(by_trace) == len(spans)


def test_a_failing_detector_is_seen_where_it_failed() -> None:
    class Broken:
        name, needs, version, advisory = "broken", frozenset[Any](), "", False

        async def score(self, case: Any, *, meter: Any) -> eirene.Scores:
            raise eirene.BackendError("the answer 'Supporters' cannot be read")

    parts = eirene.resolve_backend("embedded")
    parts = dataclasses.replace(parts, detectors=(*parts.detectors, Broken()))
    provider, kept = in_memory()
    eirene.refine(ITEM, backend=parts, tracing=Tracing(provider=provider))
    failed = [s for s in kept.get_finished_spans() if s.name.startswith("detector broken")]
    assert failed and all((s.attributes or {})["error.type"] == "BackendError" for s in failed)
    assert all(s.status.description is None for s in failed)


def test_a_run_past_its_deadline_is_a_failed_trace() -> None:
    provider, kept = in_memory()

    def slow(messages: Any) -> str:
        while True:  # it is left behind
            check_cancelled()

    model = eirene.ScriptedChatModel(slow)
    record = eirene.refine(ITEM, backend=model, tracing=Tracing(provider=provider), samples=3, deadline_s=0.05)
    (root,) = [s for s in kept.get_finished_spans() if s.parent is None]
    assert record.status == (root.attributes or {})["eirene.status"] == "failed"
    assert (root.status.status_code, (root.attributes or {})["error.type"]) == (trace.StatusCode.ERROR, "Deadline")


def test_a_trace_that_is_sampled_out_has_no_spans_at_all() -> None:
    kept, provider = InMemorySpanExporter(), TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    assert eirene.refine(ITEM, tracing=Tracing(provider=provider)).status == "accepted"
    assert kept.get_finished_spans() == ()


def test_half_a_surrogate_pair_loses_no_span() -> None:
    backend = eirene.ScriptedChatModel([AIMessage(f"{CRITIQUE} \ud800")] * 3 + [AIMessage(REWRITE)])
    with Collector() as collector:
        with collector.provider() as provider:
            eirene.refine(ITEM, backend=backend, samples=3, tracing=Tracing(content=True, provider=provider))
        assert one_tree(collector).attributes["eirene.status"]


def test_what_asks_for_no_tracing_is_refused() -> None:
    for given in ("yes", 1, {"content": True}):
        with pytest.raises(InputError, match="tracing must be True, False or"):
            eirene.refine(ITEM, tracing=given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="max_characters must be at least 1, got 0"):
        Tracing(max_characters=0)


def test_a_process_traces_by_its_global_provider_warns_without_one_and_needs_none_untraced() -> None:
    """LangSmith's client takes OpenTelemetry where it is installed, and does without."""
    code = f"""
import sys, eirene
ITEM = {ITEM!r}
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "opentelemetry":
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
print(eirene.refine(ITEM).status)
del sys.meta_path[0]
import logging; logging.basicConfig()
for _ in range(2): eirene.refine(ITEM, tracing=True)
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
kept, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(kept))
trace.set_tracer_provider(provider)
eirene.refine(ITEM)
eirene.refine(ITEM, tracing=True)
print(sum(span.parent is None for span in kept.get_finished_spans()))
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.split()) == (0, ["accepted", "1"]), done.stderr
    assert done.stderr.count("no OpenTelemetry tracer provider is configured") == 1


def test_a_missing_extra_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with pytest.raises(MissingExtraError, match="otel"):
        eirene.refine(ITEM, tracing=True)
