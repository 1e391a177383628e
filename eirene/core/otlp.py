"""Exporter of spans: a tracer provider of this process that sends by OTLP/HTTP, as the OTEL_* variables say.

For the command line and its worker processes; a program that uses the library configures OpenTelemetry itself. A
collector that cannot be reached costs a warning and the spans, and never the run.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from eirene.core.errors import InputError
from eirene.core.extras import require
from eirene.core.logs import get_logger
from eirene.core.tracing import Tracing, current_tracing

if TYPE_CHECKING:
    import requests
    from opentelemetry.sdk.trace import TracerProvider

logger = get_logger(__name__)

_LAST_S = 2.0
"""Seconds at the end, or after a chunk of rows, for spans that have not been sent."""


class SpanExport:
    """What sends the spans of this process, by OpenTelemetry's own exporter.

    Raises `MissingExtraError`, and `InputError` for variables that ask for another protocol or exporter, or that cannot
    be read.
    """

    def __init__(self) -> None:
        require("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # its lines show headers and addresses
        _check_variables()
        self._is_broken = False
        named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        resource = Resource.create({} if named else {"service.name": "eirene"})
        self.provider: TracerProvider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(session=_one_attempt(self._lost))
        self.provider.add_span_processor(BatchSpanProcessor(exporter))

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
            self._lost("in time")

    def _lost(self, why: str) -> None:
        if not self._is_broken:  # said once
            self._is_broken = True
            said = "spans are lost: %s does not take them %s; the run goes on without them"
            logger.warning(said, _address(), why)


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


def _one_attempt(lost: Callable[[str], object]) -> requests.Session:
    """A session that follows no redirect, and tells why a request failed; what it raises then is not tried again."""
    import requests

    class OneAttempt(requests.Session):
        def request(self, *values: Any, **options: Any) -> requests.Response:
            try:
                reply = super().request(*values, **{**options, "allow_redirects": False})
                why = "" if 200 <= reply.status_code < 300 else f"HTTP {reply.status_code}"
            except (OSError, ValueError) as error:  # the kind of fault alone: its message may show a key
                why = type(error).__name__
            if why:
                lost(f"({why})")
                raise RuntimeError(why)
            return reply

    session = OneAttempt()
    session.headers["Connection"] = "close"  # of one that is kept it would be learned too late
    return session


def _address() -> str:
    """Where spans go, without what an address may hold of keys."""
    parts = urlsplit(_variable("ENDPOINT")[1] or "http://localhost:4318")
    path = parts.path if _variable("ENDPOINT")[0].endswith("TRACES_ENDPOINT") else parts.path.rstrip("/") + "/v1/traces"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"


def _variable(name: str) -> tuple[str, str]:
    """The name and the value of the variable that counts, of the two for a setting."""
    own, usual = f"OTEL_EXPORTER_OTLP_TRACES_{name}", f"OTEL_EXPORTER_OTLP_{name}"
    found = own if os.environ.get(own) else usual
    return found, os.environ.get(found, "").strip()


def _check_variables() -> None:
    """Raises `InputError` for a variable that cannot be read, and does not show one that may hold a key."""
    if os.environ.get("OTEL_TRACES_EXPORTER", "").strip() not in ("", "otlp"):
        raise InputError("OTEL_TRACES_EXPORTER must be otlp or not set", field="trace")
    for setting, (wanted, form) in _WANTED.items():
        name, value = _variable(setting)
        if value and not re.fullmatch(form, value):
            got = "" if setting == "ENDPOINT" else f", got {value!r}"
            raise InputError(f"{name} must be {wanted} or not set{got}", field="trace")


_WANTED = {
    "PROTOCOL": ("http/protobuf", "http/protobuf"),
    "COMPRESSION": ("gzip, deflate, none", "gzip|deflate|none"),
    "TIMEOUT": ("a number of seconds above 0", r"(?=.*[1-9])\d+(\.\d+)?"),
    "ENDPOINT": (
        "an address such as http://HOST:4318",
        r"https?://(?:[^\s/@]+@)?(?:\[[0-9a-f:.]+\]|[^\s/?#:@\[\]]+)(:\d+)?(/\S*)?",
    ),
}
