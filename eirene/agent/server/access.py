"""Server options; ASGI middleware before every route: API key, origin and host checks, headers, log, metrics, spans.

The log has a line a request: method, path, status, milliseconds. Never a text, a key or a query.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eirene.agent.server.errors import ApiError, internal_error
from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.core.tracing import OpenSpan, Tracing, root_span
from eirene.core.usage import Usage

logger = get_logger(__name__)

_OPEN = frozenset({"/", "/healthz", "/openapi.json"})  # what needs no key: nothing of anybody's is there
_KNOWN = _OPEN | {"/metrics", "/v1/models", "/v1/chat/completions", "/v1/runs", "/v1/edits"}
_RUN = re.compile(r"(/v1)?/runs/[^/]+(/events|/cancel|/result)?")
_TRACED = frozenset({"/v1/chat/completions", "/v1/runs"})
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600)


class Metrics:
    """Counters of one server, with a registry of their own. No text and no name of a client is ever a label."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        of_request = ("path", "status")
        self._requests = Counter("eirene_requests", "Requests by path and status.", of_request, registry=self._registry)
        self._outcomes = Counter("eirene_outcomes", "Replies by outcome.", ("status", "mode"), registry=self._registry)
        self._seconds = Histogram(
            "eirene_request_seconds", "Seconds to the last byte.", ("path",), buckets=_BUCKETS, registry=self._registry
        )
        self._tokens = Counter(
            "eirene_tokens", "Tokens of drafts and loop together.", ("direction",), registry=self._registry
        )
        self._calls = Counter("eirene_model_calls", "Calls of models, retries included.", registry=self._registry)
        self.in_flight = Gauge("eirene_in_flight", "Chats under way.", registry=self._registry)
        self.waiting = Gauge("eirene_waiting", "Chats in the queue.", registry=self._registry)

    def request(self, path: str, status: int, seconds: float) -> None:
        """Counts a request that has been answered."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def outcome(self, status: str, mode: str) -> None:
        """Counts a reply."""
        self._outcomes.labels(status, mode).inc()

    def spent(self, usage: Usage) -> None:
        """Counts tokens and calls."""
        self._tokens.labels("input").inc(usage.input_tokens)
        self._tokens.labels("output").inc(usage.output_tokens)
        self._calls.inc(usage.calls)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)


class AccessMiddleware:
    """ASGI middleware. With `tracing` a request that begins a run has a span, part of the trace that its headers name;
    a stranger's `traceparent` is not gone on with.
    """

    def __init__(self, app: ASGIApp, *, options: ServeOptions, metrics: Metrics, tracing: Tracing | None) -> None:
        self._app, self._metrics, self._tracing = app, metrics, tracing
        self._key = None if options.key is None else _digest(options.key)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=message["headers"])
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                message["headers"] = headers.raw
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is None:
                with self._span(scope) as found:
                    await self._app(scope, receive, watched)
                    _tell_status(found, status)
            else:
                await to_response(refusal)(scope, receive, watched)
        # The last resort: an error of ours is a 500 in the protocol's form, and a traceback in the log.
        except Exception as error:
            logger.exception("%s %s: %s", scope["method"], path_of(scope), type(error).__name__)
            if status == 0:
                await to_response(internal_error())(scope, receive, watched)
        finally:
            seconds = time.perf_counter() - began
            self._metrics.request(path_of(scope), status, seconds)
            logger.info("%s %s %d %.0f ms", scope["method"], path_of(scope), status, 1000 * seconds)

    def _span(self, scope: Scope) -> AbstractContextManager[OpenSpan | None]:
        method, path = scope["method"], scope["path"]
        if self._tracing is None or method != "POST" or path not in _TRACED:
            return nullcontext()
        began = {"http.request.method": method, "http.route": path, "url.scheme": scope.get("scheme", "http")}
        headers = dict(Headers(scope=scope))
        return root_span(f"{method} {path}", lambda: began, tracing=self._tracing, kind="server", headers=headers)

    def _refusal(self, scope: Scope) -> ApiError | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        origin = next((o for o in headers.getlist("origin") if _site(o) != host.lower()), None)
        if origin is not None:
            return ApiError(403, f"requests from the pages of {origin[:100]!r} are not taken", code="cross_origin")
        if self._key is None:
            # A page elsewhere may give its own name this machine's address (DNS rebinding).
            name = _host_name(host)
            if name is not None and not is_loopback(name):
                return ApiError(
                    403, f"the server answers to localhost alone, not to {name[:100]!r}; give it a key", code="bad_host"
                )
            return None
        path = scope["path"]
        if path in _OPEN or path.startswith("/runs/"):  # such a page's address holds a token of its own
            return None
        given = headers.get("authorization", "")
        kind, _, key = given.partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(_digest(key.strip()), self._key):
            return None
        said = "the API key is wrong" if given else "an API key is wanted: Authorization: Bearer KEY"
        return ApiError(401, said, code="invalid_api_key")


def _tell_status(found: OpenSpan | None, status: int) -> None:
    if found is not None:
        found.set({"http.response.status_code": status})
        if status >= 500:
            found.failed(str(status), "")


def to_response(error: ApiError) -> JSONResponse:
    """The error as a response."""
    return JSONResponse(error.body, status_code=error.status, headers=error.headers)


def path_of(scope: Scope) -> str:
    """The path as metrics and log show it: routes, not ids, and nothing that a client made up."""
    path = scope["path"]
    found = _RUN.fullmatch(path)
    if found is not None:
        return f"{found[1] or ''}/runs/ID{found[2] or ''}"
    return path if path in _KNOWN else "other"


def _site(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return host


def _digest(text: str) -> bytes:
    """Of the same length for every key, so that comparing tells nothing of it."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


DEFAULT_PORT = 8400


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How the server listens and what it takes.

    - `key`: what clients must bring as `Authorization: Bearer KEY`; None: anyone who reaches the address.
    - `max_body`: bytes of a request; `timeout_s`: seconds for a whole answer, the wait in the queue included.
    - `concurrency`: chats under way at most; `queue`: chats that wait beyond these; all others get a 429.
    - `keep_alive_s`: seconds between comments in a stream that waits; until the first, an error is still a status.
    - `connections`: open at most; requests on those beyond them get a 503.
    - `grace_s`: seconds for what is in flight when the server is told to stop; infinity waits for its end.
    - `keep_runs`, `keep_bytes`: how many recent runs, and how much of them, stay in memory; `runs`: a file for all.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    key: str | None = None
    max_body: int = 4 * 2**20
    timeout_s: float = 300.0
    concurrency: int = 64
    queue: int = 256
    keep_alive_s: float = 3.0
    connections: int = 512
    grace_s: float = 30.0
    keep_runs: int = 200
    keep_bytes: int = 64 * 2**20
    runs: str | None = None

    def __post_init__(self) -> None:
        _check(self, "port", least=0, most=65535)
        _check(self, "max_body", least=1024)
        _check(self, "concurrency", least=1)
        _check(self, "queue", least=0)
        _check(self, "connections", least=1)
        _check(self, "grace_s", least=0)
        _check(self, "keep_runs", least=1)
        for name in ("timeout_s", "keep_alive_s"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be greater than 0, got {getattr(self, name):g}", field=name)
        if self.key is not None and not (self.key.isascii() and self.key.isprintable() and self.key.strip()):
            raise InputError("the API key must be printable ASCII and not blank", field="api_key")
        if not self.host.strip():
            what = f"host must be an address or a name of this machine such as 127.0.0.1, got {self.host!r}"
            raise InputError(f"{what}; 0.0.0.0 listens on all of its addresses", field="host")
        if self.key is None and not is_loopback(self.host):
            said = f"{self.host} can be reached from other machines, and without a key so can the server"
            raise InputError(f"{said}; give --api-key or set EIRENE_API_KEY, or listen on 127.0.0.1", field="host")


def is_loopback(host: str) -> bool:
    """Whether an address or name can be reached from this machine alone; a name other than localhost may not."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _check(options: ServeOptions, name: str, *, least: int, most: int | None = None) -> None:
    value = getattr(options, name)
    if not value >= least or (most is not None and value > most):  # NaN is neither
        rule = f"at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{name} must be {rule}, got {value:g}", field=name)
