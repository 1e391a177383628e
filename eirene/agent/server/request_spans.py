"""ASGI middleware for tracing: a span for each request that begins a run, part of the trace that its headers name."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eirene.core.tracing import Tracing, root_span

_TRACED = frozenset({"/v1/chat/completions", "/v1/runs"})


class RequestSpans:
    """To stand behind the check of keys: a stranger's `traceparent` is not gone on with."""

    def __init__(self, app: ASGIApp, *, tracing: Tracing) -> None:
        self._app = app
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in _TRACED:
            await self._app(scope, receive, send)
            return
        method, path = scope["method"], scope["path"]
        began = {"http.request.method": method, "http.route": path, "url.scheme": scope.get("scheme", "http")}
        headers = dict(Headers(scope=scope))
        with root_span(
            f"{method} {path}", lambda: began, tracing=self._tracing, kind="server", headers=headers
        ) as found:

            async def watched(message: Message) -> None:
                if message["type"] == "http.response.start" and found is not None:
                    status = message["status"]
                    found.set({"http.response.status_code": status})
                    if status >= 500:
                        found.failed(str(status), "")
                await send(message)

            await self._app(scope, receive, watched)
