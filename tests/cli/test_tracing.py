"""`--trace`: commands send their runs' spans where the OTEL_* variables say, and lose no row where nobody listens."""

from __future__ import annotations

import gzip
import json
import os
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError
from tests.cli.batch.batch_runs import data, flags, scripted
from tests.cli.run import EXAMPLES, Run, assert_error
from tests.otlp_collector import Collector, Received

pytestmark = pytest.mark.usefixtures("loopback")

UNIFORMS = EXAMPLES / "dropped-argument.json"


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENDPOINT", "HEADERS", "PROTOCOL", "TIMEOUT", "TRACES_TIMEOUT", "TRACES_ENDPOINT", "TRACES_PROTOCOL"):
        monkeypatch.delenv(f"OTEL_EXPORTER_OTLP_{name}", raising=False)
    for name in ("OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_EXPORTER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def closed_port() -> int:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def is_about(span: Received) -> str:
    return str(span.attributes["eirene.item.id"])


def test_refine_sends_its_trace_where_the_variables_say(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"{collector.address}/api/public/otel")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20cGs6c2s=")
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        done = run("refine", UNIFORMS, "--json", "--trace", "spans")
        assert (done.code, done.err) == (0, "")
        (root,) = collector.roots
        assert (root.name, is_about(root)) == ("invoke_workflow eirene", "dropped-argument")
        assert root.attributes["eirene.status"] == done.record["status"]
        assert (root.resource["service.name"], root.resource["deployment.environment.name"]) == ("eirene", "test")
        assert set(collector.paths) == {"/api/public/otel/v1/traces"}
        assert collector.headers[0]["authorization"] == "Basic cGs6c2s="
        assert b"shorter week" not in b"".join(collector.raw)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
        run("refine", UNIFORMS, "--json", "--trace", "content")
        assert collector.roots[-1].resource["service.name"] == "mine"
        assert "shorter week" in collector.roots[-1].attributes["gen_ai.output.messages"]


def test_nothing_is_sent_unless_asked_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        assert run("refine", UNIFORMS, "--json").code == 0
        assert collector.raw == []


def test_each_of_ten_rows_of_a_batch_is_its_own_trace(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    script = scripted(row_3=HttpError(400, "not this one"))
    with Collector() as collector, LoopbackServer(script) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        file = data(tmp_path, 10)
        assert run(*flags(server, file, out, "--trace", "spans", "--fail-on-error", "1")).code == 0
        assert sorted(map(is_about, collector.roots)) == [f"row-{n}" for n in range(10)]
        assert len({root.trace for root in collector.roots}) == 10
        assert [is_about(root) for root in collector.roots if root.failed] == ["row-3"]
        calls = collector.named("chat ")
        assert len(calls) == server.calls == 10
        by_trace = {root.trace: root for root in collector.roots}
        assert [is_about(by_trace[call.trace]) for call in calls if call.failed] == ["row-3"]
        assert all(collector.path(call) == ["invoke_workflow eirene", "refine", call.name] for call in calls)
    assert len(out.read_text("utf-8").splitlines()) == 10


def in_own_process(*arguments: str | Path, endpoint: str) -> subprocess.CompletedProcess[str]:
    """The command as a process: the guard of the tests' sockets would keep it from its worker processes."""
    return subprocess.run(
        [sys.executable, "-m", "eirene", *map(str, arguments)], check=False, capture_output=True, text=True,
        timeout=200, env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint},
    )  # fmt: skip


@pytest.mark.slow
def test_worker_processes_send_the_spans_of_their_rows(tmp_path: Path) -> None:
    flags: list[str | Path] = ["--out", tmp_path / "out.jsonl", "--workers", "2", "--trace", "spans"]
    with Collector() as collector:
        done = in_own_process("batch", data(tmp_path, 10), *flags, endpoint=collector.address)
        assert done.returncode == 0, done.stderr
        assert sorted(map(is_about, collector.roots)) == [f"row-{n}" for n in range(10)]
        assert {span.trace for span in collector.spans} == {root.trace for root in collector.roots}


def test_compare_traces_every_row_and_judgement(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = data(tmp_path, 2)
    with Collector() as collector, LoopbackServer("VERDICT: 0.1") as judge:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        done = run("compare", file, "--out", tmp_path / "out", "--modes", "improve,fine-grained",
                   "--judge", "openai:test", "--judge-base-url", judge.base_url, "--trace", "spans")  # fmt: skip
        assert done.code == 0, done.err
        runs = [root for root in collector.roots if root.name == "invoke_workflow eirene"]
        assert sorted((is_about(r), r.attributes["eirene.mode"]) for r in runs) == [
            (name, mode) for name in ("row-0", "row-1") for mode in ("fine-grained", "improve")
        ]
        calls = collector.named("chat ")
        assert len(calls) == judge.calls > 0
        assert {collector.path(call)[0] for call in calls} == {"judge"}


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_collector_that_is_gone_costs_one_warning_and_no_row(tmp_path: Path, closed_port: int, workers: str) -> None:
    out = tmp_path / "out.jsonl"
    flags: list[str | Path] = ["--out", out, "--trace", "spans", "--workers", workers]
    endpoint = f"http://user:secret@127.0.0.1:{closed_port}"
    done = in_own_process("batch", data(tmp_path, 10), *flags, endpoint=endpoint)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["status"] for line in out.read_text("utf-8").splitlines()] == ["accepted"] * 10
    warnings = [line for line in done.stderr.splitlines() if "spans are lost" in line and "more times" not in line]
    assert len(warnings) == 1, done.stderr
    assert f"http://127.0.0.1:{closed_port}/v1/traces does not take them" in warnings[0]
    assert "secret" not in done.stderr and "Traceback" not in done.stderr


def test_a_collector_that_is_down_changes_nothing_but_a_warning(
    run: Run, monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    usual = run("refine", UNIFORMS, "--json")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{closed_port}")
    done = run("refine", UNIFORMS, "--json", "--trace", "spans")
    assert done.code == usual.code == 0 and without_seconds(done.record) == without_seconds(usual.record)
    (warning,) = done.err.splitlines()
    said = f"spans are lost: http://127.0.0.1:{closed_port}/v1/traces does not take them (ConnectionError)"
    assert warning.startswith(f"warning: {said}")


def without_seconds(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "usage": {**record["usage"], "seconds": None}}


def test_at_the_end_a_collector_that_hangs_up_is_tried_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")  # nothing is sent before the end
    with hanging_up() as (port, connections):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
        done = run("refine", UNIFORMS, "--json", "--trace", "spans")
    assert done.code == 0 and done.err.count("spans are lost") == 1
    assert len(connections) == 1


def test_a_collector_that_never_answers_is_not_waited_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system accepts for it
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
        done = run("refine", UNIFORMS, "--json", "--trace", "spans")
        assert done.code == 0 and done.record["status"] == "accepted"
        assert done.err.count("warning: ") == 1 and "/v1/traces does not take them in time" in done.err


@contextmanager
def hanging_up() -> Iterator[tuple[int, list[int]]]:
    """A server that ends each connection at once, and the ports of those that it ended."""
    ended: list[int] = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            ended.append(self.client_address[1])

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, name="hanging-up")
        serving.start()
        yield server.server_address[1], ended
        server.shutdown()
        serving.join()


def test_a_collector_that_refuses_is_told_with_its_status(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for status, said in (401, "(HTTP 401)"), (503, "(HTTP 503)"), (307, "(HTTP 307)"):
        with Collector(status=status) as collector:
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
            done = run("refine", UNIFORMS, "--json", "--trace", "spans")
        assert done.code == 0 and done.record["status"] == "accepted"
        assert done.err.count("warning: ") == 1 and f"does not take them {said}" in done.err
        assert len(collector.raw) == 1  # there is no second attempt


def test_a_variable_that_cannot_be_read_is_named_and_no_key_is_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    otlp = "OTEL_EXPORTER_OTLP_"
    for name, value, wanted in (
        (f"{otlp}ENDPOINT", "http://[secret", "must be an address"),
        (f"{otlp}ENDPOINT", "localhost:4318/secret", "must be an address"),
        (f"{otlp}TRACES_ENDPOINT", "https://secret@:port/v1/traces", "must be an address"),
        (f"{otlp}ENDPOINT", "http://host:secret", "must be an address"),
        (f"{otlp}PROTOCOL", "grpc", "must be http/protobuf or not set, got 'grpc'"),
        (f"{otlp}TRACES_PROTOCOL", "http/json", "must be http/protobuf or not set, got 'http/json'"),
        (f"{otlp}COMPRESSION", "brotli", "must be gzip, deflate, none or not set, got 'brotli'"),
        ("OTEL_TRACES_EXPORTER", "zipkin", "must be otlp or not set"),
        (f"{otlp}TIMEOUT", "-1", "must be a number of seconds above 0 or not set, got '-1'"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            done = run("refine", UNIFORMS, "--json", "--trace", "spans")
        assert_error(done, f"{name} {wanted}")
        assert "cret" not in done.err


def test_spans_are_sent_as_compressed_as_asked_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        assert run("refine", UNIFORMS, "--json", "--trace", "spans").err == ""
    assert {headers["content-encoding"] for headers in collector.headers} == {"gzip"}
    assert all(gzip.decompress(body) for body in collector.raw)


def test_without_the_extra_it_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    assert_error(run("refine", UNIFORMS, "--json", "--trace", "spans"), "otel")


@pytest.mark.slow
def test_a_provider_of_the_process_is_used(tmp_path: Path) -> None:
    """As `opentelemetry-instrument eirene ...` configures one."""
    code = f"""
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
kept, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(kept))
trace.set_tracer_provider(provider)
from eirene.cli import main
assert main(["refine", {str(UNIFORMS)!r}, "--json", "--trace", "spans"]) == 0
print(sum(span.parent is None for span in kept.get_finished_spans()), file=sys.stderr)
"""
    done: Any = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "1\n")
