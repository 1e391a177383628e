"""The receiving end of OTLP/HTTP on loopback: decodes what a real exporter sends, for tests of tracing."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


@dataclass(frozen=True)
class Received:
    """One span as it arrived; ids in hex, `parent` empty for the root of a trace."""

    name: str
    trace: str
    id: str
    parent: str
    kind: str
    failed: bool
    said: str
    attributes: dict[str, Any]
    resource: dict[str, Any]


class Collector:
    """The server; `spans` has all that came, `headers` those of each request, `raw` the bytes. `status`: its answer."""

    def __init__(self, status: int = 200) -> None:
        self.raw: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the name that the standard library looks for
                collector.raw.append(self.rfile.read(int(self.headers["content-length"])))
                collector.headers.append({k.lower(): v for k, v in self.headers.items()})
                collector.paths.append(self.path)
                self.send_response(status)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="collector")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def address(self) -> str:
        """What OTEL_EXPORTER_OTLP_ENDPOINT is set to."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def provider(self) -> Iterator[TracerProvider]:
        """A tracer provider as a program configures it, with the real exporter; all is sent at the end."""
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{self.address}/v1/traces")))
        yield provider
        provider.shutdown()

    @property
    def spans(self) -> list[Received]:
        """All spans, by their beginning."""
        found: list[tuple[int, Received]] = []
        for body in self.raw:
            for group in ExportTraceServiceRequest.FromString(body).resource_spans:
                resource = _values(group.resource.attributes)
                for scope in group.scope_spans:
                    assert scope.scope.name == "eirene" or scope.scope.name.startswith("user")
                    found += [(span.start_time_unix_nano, _received(span, resource)) for span in scope.spans]
        return [span for _, span in sorted(found, key=lambda pair: pair[0])]

    @property
    def roots(self) -> list[Received]:
        """The spans that begin a trace."""
        return [span for span in self.spans if not span.parent]

    def named(self, start: str) -> list[Received]:
        """The spans whose names begin so."""
        return [span for span in self.spans if span.name.startswith(start)]

    def path(self, span: Received) -> list[str]:
        """The names from the root of the trace down to the span."""
        by_id = {(s.trace, s.id): s for s in self.spans}
        names = [span.name]
        while span.parent and (span.trace, span.parent) in by_id:
            span = by_id[span.trace, span.parent]
            names.insert(0, span.name)
        return names


def _received(span: Span, resource: dict[str, Any]) -> Received:
    return Received(
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        kind=Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        failed=span.status.code == Status.STATUS_CODE_ERROR,
        said=span.status.message,
        attributes=_values(span.attributes),
        resource=resource,
    )


def _values(attributes: Sequence[Any]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_value(v) for v in value.array_value.values] if kind == "array_value" else getattr(value, kind)
