"""Exporter of spans: a tracer provider of this process that sends by OTLP/HTTP, as the OTEL_* variables say.

For the command line and its worker processes; a program that uses the library configures OpenTelemetry itself. A
collector that cannot be reached costs a warning and the spans, and never the run.
"""

from __future__ import annotations

import gzip
import math
import os
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from eirene.core.errors import InputError
from eirene.core.extras import require
from eirene.core.logs import get_logger
from eirene.core.tracing import Tracing, current_tracing

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExportResult

logger = get_logger(__name__)

_LAST_S = 2.0
"""Seconds at the end, or after a chunk of rows, for spans that have not been sent."""
_VARIABLE = "OTEL_EXPORTER_OTLP_"
_KNOWN = (
    ("OTEL_TRACES_EXPORTER", "otlp", ("otlp",)),
    (f"{_VARIABLE}TRACES_PROTOCOL", "http/protobuf", ("http/protobuf",)),
    (f"{_VARIABLE}PROTOCOL", "http/protobuf", ("http/protobuf",)),
    (f"{_VARIABLE}TRACES_COMPRESSION", "gzip, none", ("gzip", "none")),
    (f"{_VARIABLE}COMPRESSION", "gzip, none", ("gzip", "none")),
)


class SpanExport:
    """What sends the spans of this process.

    Raises `MissingExtraError`, and `InputError` for variables that ask for another protocol or exporter, or that cannot
    be read.
    """

    def __init__(self) -> None:
        require("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.common")
        import httpx
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        for name, wanted, known in _KNOWN:
            if os.environ.get(name, "").strip() not in ("", *known):
                raise InputError(f"{name} must be {wanted} or not set, got {os.environ[name]!r}", field="trace")
        parts = urlsplit(_endpoint())
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"  # which shows no key
        self._url, self._is_broken = parts.geturl(), False
        self._zips = _variable("COMPRESSION") == "gzip"
        zipped = {"Content-Encoding": "gzip"} if self._zips else {}
        self._client = httpx.Client(
            headers={**_headers(), "Content-Type": "application/x-protobuf", **zipped},
            timeout=_timeout_s(),
            verify=_certificates(),
            limits=httpx.Limits(max_keepalive_connections=0),  # of one that is kept it would be learned too late
        )
        named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        resource = Resource.create({} if named else {"service.name": "eirene"})
        self.provider: TracerProvider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self.provider.add_span_processor(BatchSpanProcessor(self))  # type: ignore[arg-type]  # by its two methods

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Sends some, in one attempt; called in a thread of the provider's."""
        import httpx
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
        from opentelemetry.sdk.trace.export import SpanExportResult

        data: bytes = encode_spans(spans).SerializeToString()
        try:
            reply = self._client.post(self._url, content=gzip.compress(data) if self._zips else data)
        except httpx.HTTPError as error:
            return self._lost(f"{self.address} does not take them ({type(error).__name__})")
        if reply.is_success:
            return SpanExportResult.SUCCESS
        more = ", a redirect, which is not followed" if reply.is_redirect else ""
        return self._lost(f"{self.address} does not take them (HTTP {reply.status_code}{more})")

    def shutdown(self) -> None:
        """Closes the connection."""
        self._client.close()

    def flush(self) -> None:
        """Sends what there is, for a process that may be ended at any time; once something was lost, no more."""
        if not self._is_broken:
            self._waited_for(self.provider.force_flush)

    def close(self) -> None:
        """Sends what is left, and waits a short time alone for a collector that is slow."""
        self._waited_for(self.provider.shutdown)

    def _waited_for(self, work: Callable[[], object]) -> None:
        sending = threading.Thread(target=work, name="eirene-spans", daemon=True)
        sending.start()
        sending.join(_LAST_S)
        if sending.is_alive():
            self._lost(f"{self.address} does not take them in time")

    def _lost(self, why: str) -> SpanExportResult:
        from opentelemetry.sdk.trace.export import SpanExportResult

        if not self._is_broken:  # said once
            self._is_broken = True
            logger.warning("spans are lost: %s; the run goes on without them", why)
        return SpanExportResult.FAILURE


@contextmanager
def exporting() -> Iterator[SpanExport]:
    """A `SpanExport`, closed at the end. Raises what that raises."""
    export = SpanExport()
    try:
        yield export
    finally:
        export.close()


class WorkerSpans:
    """What makes and sends the spans of one worker, as its environment says; nothing where `told` is None.

    `told` is what `for_workers` gives where the work is handed out: it can be pickled.
    """

    def __init__(self, told: Tracing | None) -> None:
        self._export = None if told is None else SpanExport()
        self._tracing = None if told is None or self._export is None else replace(told, provider=self._export.provider)

    @staticmethod
    def for_workers() -> Tracing | None:
        """How the code that asks is traced, without its provider; None where it is not."""
        tracing = current_tracing()
        return None if tracing is None else replace(tracing, provider=None)

    def active(self) -> AbstractContextManager[None]:
        """Rows made in the body have spans."""
        return nullcontext() if self._tracing is None else self._tracing.active()

    def flush(self) -> None:
        """Sends what there is, before the last row of a chunk is sent back: a worker is ended without a word."""
        if self._export is not None:
            self._export.flush()


def _variable(name: str) -> str:
    return os.environ.get(f"{_VARIABLE}TRACES_{name}") or os.environ.get(f"{_VARIABLE}{name}") or ""


def _timeout_s() -> float:
    text = _variable("TIMEOUT") or "10"
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise InputError(f"{_VARIABLE}TIMEOUT must be a number of seconds above 0, got {text!r}", field="trace")
    return found


def _endpoint() -> str:
    """The address that spans go to. Raises `InputError` for what is none, and does not show it: it may hold a key."""
    own, base = os.environ.get(f"{_VARIABLE}TRACES_ENDPOINT"), os.environ.get(f"{_VARIABLE}ENDPOINT")
    name = f"{_VARIABLE}TRACES_ENDPOINT" if own else f"{_VARIABLE}ENDPOINT"
    text = own or (base or "http://localhost:4318").rstrip("/") + "/v1/traces"
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of half a bracket, or a port that is no number
        is_address = False
    if not is_address:
        raise InputError(f"{name} must be an address such as http://HOST:4318", field="trace")
    return text


def _headers() -> dict[str, str]:
    """The headers that are sent along. Raises `InputError` for what cannot be read, and does not show it."""
    name = f"{_VARIABLE}TRACES_HEADERS" if os.environ.get(f"{_VARIABLE}TRACES_HEADERS") else f"{_VARIABLE}HEADERS"
    found = {}
    for part in filter(str.strip, os.environ.get(name, "").split(",")):
        key, is_pair, value = (piece.strip() for piece in part.partition("="))
        if not is_pair or not key.isascii() or not value.isascii() or not part.isprintable() or " " in key:
            wanted = "NAME=VALUE,NAME=VALUE with values as in URLs (%20 for a space)"
            raise InputError(f"{name} must be {wanted}", field="trace")
        found[unquote(key)] = unquote(value)
    return found


def _certificates() -> ssl.SSLContext | bool:
    """The certificates that the variables name, else the usual ones. Raises `InputError` for what cannot be read."""
    own, key = _variable("CLIENT_CERTIFICATE"), _variable("CLIENT_KEY")
    if not own and not _variable("CERTIFICATE"):
        return True
    try:
        context = ssl.create_default_context(cafile=_variable("CERTIFICATE") or None)
        if own:
            context.load_cert_chain(own, key or None)
    except OSError as error:  # no such file, or no certificate in it: both are errors of ssl's, which is one of these
        raise InputError(f"a certificate that {_VARIABLE}* name cannot be read: {error}", field="trace") from None
    return context
