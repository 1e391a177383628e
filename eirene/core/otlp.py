"""Exporter of spans: a tracer provider of this process that sends by OTLP/HTTP, as the OTEL_* variables say.

For the command line and its worker processes; a program that uses the library configures OpenTelemetry itself. A
collector that cannot be reached costs a warning and the spans, and never the run.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from eirene.core.errors import InputError
from eirene.core.extras import require
from eirene.core.logs import get_logger

if TYPE_CHECKING:
    import requests
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExportResult

logger = get_logger(__name__)

_LAST_S = 2.0
"""Seconds at the end, or after a chunk of rows, for spans that have not been sent. The exporter by itself would try
for ten, with waits between its attempts."""
_NOISY = ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry.sdk._shared_internal")
_PROTOCOL = "http/protobuf"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_HEADERS = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_CREDENTIALS = (
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER", "OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER",
)  # fmt: skip


class SpanExport:
    """What sends the spans of this process; made by `exporting`. `is_broken`: spans were lost. `is_ending`: what is
    refused now is not tried again, for the process would wait for it."""

    def __init__(self) -> None:
        require("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
        _check_environment()
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self.is_broken = self.is_ending = False
        with _checked_headers():
            self._exporter = OTLPSpanExporter(session=self._session())
        self._overheard = _Overheard(self)
        self._ended = threading.Lock()
        self.provider: TracerProvider = TracerProvider(resource=Resource.create(_service()), shutdown_on_exit=False)
        self.provider.add_span_processor(BatchSpanProcessor(self))  # type: ignore[arg-type]  # by its two methods
        for name in _NOISY:
            logging.getLogger(name).addFilter(self._overheard)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Sends some; called in a thread of the provider's."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        self._redirect = ""
        result = self._exporter.export(spans)
        if self._redirect:  # which is not followed, and passes for a success
            self._overheard.last, result = self._redirect, SpanExportResult.FAILURE
        self._overheard.waits = False
        if result is not SpanExportResult.SUCCESS:
            self.lost(f"{self.address} does not take them ({self._overheard.last or 'no word of why'})")
        return result

    def shutdown(self) -> None:
        """Ends waits between attempts; nothing is sent after it."""
        if self._ended.acquire(blocking=False):  # once; released by nobody
            self._exporter.shutdown()  # type: ignore[no-untyped-call]  # it has no types

    def _session(self) -> requests.Session | None:
        """A session that tells of redirects; None where the environment names what makes one."""
        import requests

        if any(os.environ.get(name) for name in _CREDENTIALS):
            return None

        def look(response: requests.Response, **_: object) -> None:
            if response.is_redirect or 300 <= response.status_code < 400:
                self._redirect = f"HTTP {response.status_code}, a redirect, which is not followed"

        session = requests.Session()
        session.hooks["response"].append(look)
        return session

    @property
    def address(self) -> str:
        """Where spans go, without what an address may hold of keys."""
        parts = urlsplit(str(getattr(self._exporter, "_endpoint", "")))
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def lost(self, why: str) -> None:
        """Spans were lost: said once."""
        if not self.is_broken:
            self.is_broken = True
            logger.warning("spans are lost: %s; the run goes on without them", why)

    def flush(self) -> None:
        """Sends what there is, for a process that may be ended at any time; once something was lost, no more."""
        if self.is_broken:
            return
        sending = threading.Thread(target=self.provider.force_flush, name="eirene-spans", daemon=True)
        sending.start()
        sending.join(_LAST_S)
        if sending.is_alive():
            self.lost(f"{self.address} does not take them in time")

    def close(self) -> None:
        """Sends what is left, in one attempt, and waits no longer than `_LAST_S` for a collector that is slow."""
        self.is_ending = True
        if self._overheard.waits:  # for another attempt at what was refused before
            self.shutdown()
        ending = threading.Thread(target=self._end, name="eirene-spans", daemon=True)
        ending.start()
        ending.join(_LAST_S)
        if ending.is_alive():
            self.lost(f"{self.address} does not take them in time")

    def _end(self) -> None:
        self.provider.shutdown()
        for name in _NOISY:  # not before: what the exporter logs may hold an address with a key
            logging.getLogger(name).removeFilter(self._overheard)


@contextmanager
def exporting() -> Iterator[SpanExport]:
    """A `SpanExport`, closed at the end. Raises `MissingExtraError`, and `InputError` for variables that ask for
    another protocol or exporter, or that cannot be read."""
    export = SpanExport()
    try:
        yield export
    finally:
        export.close()


class _Overheard(logging.Filter):
    """Keeps what OpenTelemetry logs of a collector's troubles out of the log, which has one line of ours for them."""

    def __init__(self, export: SpanExport) -> None:
        super().__init__()
        self._export = export
        self.last = ""
        self.waits = False  # between two attempts

    def filter(self, record: logging.LogRecord) -> bool:
        values = record.args if isinstance(record.args, tuple) else ()
        if "Queue full" in str(record.msg):
            self._export.lost("they come faster than they are sent; OTEL_BSP_MAX_QUEUE_SIZE lets more wait")
        elif str(record.msg).startswith("Transient error"):
            self.last, self.waits = _reason(values[:1]), True
            if self._export.is_ending:
                self._export.shutdown()  # the wait that begins now ends at once
        elif str(record.msg).startswith("Failed to export %s batch code"):
            self.last = f"HTTP {values[1]}" if values[1] is not None else _reason(values[2:])
        return False


def _reason(values: Sequence[object]) -> str:
    """The kind of fault alone: a client's message holds the address, and so perhaps a key."""
    return type(values[0]).__name__ if values and isinstance(values[0], Exception) else str(*values)[:100]


def _check_environment() -> None:
    """Raises `InputError` for what this exporter does not do."""
    for name, known in (
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", _PROTOCOL),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", _PROTOCOL),
    ):
        value = os.environ.get(name, "").strip()
        if value not in ("", known):
            raise InputError(f"{name} must be {known} or not set, got {value!r}", field="trace")
    for name in _ENDPOINTS:
        value = os.environ.get(name, "")
        if value and not _is_address(value):  # which may hold a key, and is not shown
            raise InputError(f"{name} must be an address such as http://HOST:4318", field="trace")


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of half a bracket, or a port that is no number
        return False


@contextmanager
def _checked_headers() -> Iterator[None]:
    """Raises `InputError` where OpenTelemetry, in the body, finds headers that it cannot read: it would log them."""
    found: list[logging.LogRecord] = []

    def overheard(record: logging.LogRecord) -> bool:
        found.append(record)
        return False

    reader = logging.getLogger("opentelemetry.util.re")
    reader.addFilter(overheard)
    try:
        yield
    finally:
        reader.removeFilter(overheard)
    if found:
        name = next(name for name in _HEADERS if os.environ.get(name))
        raise InputError(
            f"{name} must be NAME=VALUE,NAME=VALUE with values as in URLs (%20 for a space)", field="trace"
        )


def _service() -> dict[str, str]:
    """The name of the service, where the environment, which would lose against it, has none."""
    is_named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return {} if is_named else {"service.name": "eirene"}
