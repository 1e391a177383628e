"""The routes of the server: OpenAI's two, health and metrics, the runs, and the page."""

from __future__ import annotations

import asyncio
import functools
import hmac
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Match, Route

from eirene._version import __version__
from eirene.agent.server.access import AccessMiddleware, ServeOptions, to_response
from eirene.agent.server.answers import (
    ClientGoneError,
    Envelope,
    EventStream,
    answer_events,
    chunks,
    completion,
    done_within,
    event_stream,
    sse,
    while_client_waits,
)
from eirene.agent.server.engine import Answer, Engine
from eirene.agent.server.errors import CLIENT_GONE, ApiError
from eirene.agent.server.pages import Pages, RenderPage, page, policy_of, recorded
from eirene.agent.server.protocol import RESPONSES, ChatRequest, EditsRequest, RunRequest, body_of, describe, parse_body
from eirene.agent.server.result import shown_result
from eirene.agent.server.runs import ServerRun
from eirene.agent.server.service import Service
from eirene.core.logs import get_logger
from eirene.core.tracing import current_tracing
from eirene.core.validation import problem_text

logger = get_logger(__name__)

T = TypeVar("T")

RUN_ID = "x-eirene-run-id"
_BODY_S = 60.0  # for a body to arrive
_SMALL = 64 * 1024  # bytes of a body that takes no longer to read than a thread takes to begin
_ERRORS = {404: "there is nothing at this path", 405: "this path does not take that method"}


def create_app(engine: Engine, options: ServeOptions, *, render: RenderPage | None = None) -> FastAPI:
    """The server as an ASGI application. `render` makes the pages of past runs; without it there are none. Where it is
    made in the body of `Tracing.active`, requests that begin runs have spans.

    Raises `InputError` for a file of runs that cannot be written.
    """
    service = Service(engine, options)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await service.close()

    app = FastAPI(
        title="Eirene", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan, responses=RESPONSES
    )
    app.state.service = service
    app.add_middleware(AccessMiddleware, options=options, metrics=service.metrics, tracing=current_tracing())
    _add_error_handlers(app)
    routes = Routes(service, render)
    app.get("/v1/models", tags=["chat"])(routes.models)
    asked = {kind: body_of(kind) for kind in (ChatRequest, RunRequest, EditsRequest)}
    app.post("/v1/chat/completions", tags=["chat"], response_model=None, openapi_extra=asked[ChatRequest])(routes.chat)
    app.get("/v1/runs", tags=["runs"])(routes.list_runs)
    app.post("/v1/runs", tags=["runs"], status_code=202, openapi_extra=asked[RunRequest])(routes.start_run)
    app.post("/v1/edits", tags=["runs"], openapi_extra=asked[EditsRequest])(routes.make_edits)
    app.get("/v1/runs/{run_id}", tags=["runs"], response_model=None)(routes.show_run)
    app.get("/v1/runs/{run_id}/events", tags=["runs"], response_class=EventStream)(routes.watch_run)
    app.post("/v1/runs/{run_id}/cancel", tags=["runs"])(routes.cancel_run)
    app.get("/v1/runs/{run_id}/result", include_in_schema=False, response_model=None)(routes.show_result)
    app.get("/runs/{run_id}", include_in_schema=False, response_model=None)(routes.run_page)
    app.get("/healthz", tags=["server"])(routes.health)
    app.get("/metrics", tags=["server"], response_class=PlainTextResponse)(routes.metrics)
    app.get("/", include_in_schema=False, response_model=None)(routes.page)
    describe(app)
    return app


class Routes:
    """The route functions, bound to a service."""

    def __init__(self, service: Service, render: RenderPage | None) -> None:
        self._service = service
        self._pages = None if render is None else Pages(service.runs, render)

    async def models(self) -> dict[str, Any]:
        """The names that a chat may ask for."""
        made = {"object": "model", "created": 0, "owned_by": "eirene"}
        return {"object": "list", "data": [{"id": name, **made} for name in self._service.models]}

    async def chat(self, request: Request) -> Response:
        """A chat, refined: OpenAI's protocol, with `context`, `perspectives` and `eirene_trace` beside it."""
        asked, task = await self._read(request, self._service.chat_task)
        run = self._service.begin(asked.model, task)
        answered = functools.partial(_events if asked.stream else _whole, asked, run)

        async def work() -> Any:
            return await asyncio.to_thread(answered, await self._service.perform(run, task))

        under_way = asyncio.create_task(work(), name=run.id)
        keep_alive_s = self._service.options.keep_alive_s
        try:
            if await done_within(under_way, request, seconds=keep_alive_s if asked.stream else None):
                under_way.result()  # an error that comes soon has a status of its own in a stream as well
        except ApiError as error:
            response = to_response(error)
            response.headers[RUN_ID] = run.id
            return response
        except BaseException:
            under_way.cancel()
            raise
        if asked.stream:
            return event_stream(answer_events(under_way), keep_alive_s=keep_alive_s, headers={RUN_ID: run.id})
        return cast(Response, under_way.result())

    async def list_runs(self) -> dict[str, Any]:
        """The recent runs, newest first."""
        return {"object": "list", "data": [self._brief(run) for run in self._service.runs.recent()]}

    async def start_run(self, request: Request) -> dict[str, Any]:
        """Begins a run of one question and, unless the server is to write it, its answer."""
        task = await self._read(request, lambda data: self._service.run_task(parse_body(data, RunRequest)))
        return self._brief(self._service.start(task))

    async def make_edits(self, request: Request) -> dict[str, Any]:
        """A text with the edits made that are asked for, joints mended; `skipped` numbers those without a place."""
        asked = await self._read(request, lambda data: parse_body(data, EditsRequest))
        return await asyncio.to_thread(self._service.edited, asked)

    async def show_run(self, run_id: str) -> Response:
        """A recent run with its whole records, or how far it is."""
        run = self._run(run_id)
        return Response(run.data, media_type="application/json") if run.data else JSONResponse(self._brief(run))

    async def watch_run(self, run_id: str) -> Response:
        """A run's events, from the first to its end, as server-sent events."""
        events = (sse(event) async for event in self._run(run_id).follow())
        return event_stream(events, keep_alive_s=self._service.options.keep_alive_s)

    async def cancel_run(self, run_id: str) -> dict[str, Any]:
        """Ends a run that was begun with `POST /v1/runs`; one that has ended stays as it is."""
        run = self._run(run_id)
        await self._service.cancel(run)
        return self._brief(run)

    async def show_result(self, run_id: str) -> Response:
        """A run as the page shows it: its line of the list and, where it was refined, its result."""
        run = self._run(run_id)
        return JSONResponse(await asyncio.to_thread(self._result, run))

    def _result(self, run: ServerRun) -> dict[str, Any]:
        found = json.loads(run.data or b"{}")
        told = {**self._brief(run), "said": found.get("why"), "error": found.get("error"), "result": None}
        if (found.get("records") or [None])[0] is None:
            return told
        return {**told, "result": shown_result(*recorded(found, 0))}

    async def run_page(self, run_id: str, request: Request, token: str = "", choice: int = 0) -> Response:
        """A finished run as a page; with a key, its address from the list holds the token that opens it."""
        run = self._run(run_id)
        if self._service.options.key is not None and not hmac.compare_digest(
            token.encode("utf-8", "replace"), run.token.encode()
        ):
            raise ApiError(401, "this page's address lacks its token; open it from the list of runs")
        if self._pages is None:
            raise ApiError(404, "this server makes no pages of runs", code="not_found")
        return HTMLResponse(await while_client_waits(request, self._pages.page(run, choice)))

    async def health(self) -> dict[str, str]:
        """Whether the server answers."""
        return {"status": "ok", "version": __version__}

    async def metrics(self) -> Response:
        """Counts in Prometheus' form."""
        return Response(self._service.metrics.text(), media_type=self._service.metrics.content_type)

    async def page(self) -> Response:
        """The page."""
        text = page(
            models=self._service.models,
            mode=self._service.default_mode,
            modes=self._service.served,
            drafts=self._service.engine.upstream is not None,
            wants_key=self._service.options.key is not None,
            needs_given=self._service.engine.parts.backend == "embedded",
        )
        return HTMLResponse(text, headers={"Content-Security-Policy": policy_of(text)})

    def _run(self, run_id: str) -> ServerRun:
        run = self._service.runs.get(run_id)
        if run is None:
            raise ApiError(404, "no such run; only recent ones are kept", code="not_found", param="run_id")
        return run

    def _brief(self, run: ServerRun) -> dict[str, Any]:
        has_page = self._pages is not None and run.state == "done" and run.status != "untouched"
        token = f"?token={run.token}" if self._service.options.key is not None else ""
        return {**run.brief, "page": f"/runs/{run.id}{token}" if has_page else None}

    async def _read(self, request: Request, parse: Callable[[bytes], T]) -> T:
        """What the body says. A large one is read in a thread: it takes as long as many small requests.

        Raises `ApiError` 413 for one beyond the limit, 408 where it does not come.
        """
        most, data = self._service.options.max_body, bytearray()
        fault = ApiError(413, f"the body has more than {most} bytes", code="request_too_large")
        packed = request.headers.get("content-encoding", "identity").lower()
        if packed != "identity":
            raise ApiError(415, f"a body packed as {packed[:20]!r} is not read; send it as it is", code="packed_body")
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > most:
            raise fault
        try:
            async with asyncio.timeout(_BODY_S):
                async for piece in request.stream():
                    data += piece
                    if len(data) > most:
                        raise fault
        except TimeoutError:
            raise ApiError(408, "the body did not arrive in time", code="timeout") from None
        return parse(bytes(data)) if len(data) <= _SMALL else await asyncio.to_thread(parse, bytes(data))


def _whole(asked: ChatRequest, run: ServerRun, answer: Answer) -> Response:
    envelope = Envelope(run.id, run.created, asked.model)
    return JSONResponse(completion(envelope, answer, trace=asked.eirene_trace), headers={RUN_ID: run.id})


def _events(asked: ChatRequest, run: ServerRun, answer: Answer) -> list[str]:
    envelope, options = Envelope(run.id, run.created, asked.model), asked.stream_options
    include_usage = bool(options is not None and options.include_usage)
    return list(chunks(envelope, answer, trace=asked.eirene_trace, include_usage=include_usage))


def _add_error_handlers(app: FastAPI) -> None:
    async def api_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, ApiError)
        return to_response(error)

    async def http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        said = _ERRORS.get(error.status_code, str(error.detail))
        response = to_response(
            ApiError(error.status_code, said, code="not_found" if error.status_code == 404 else None)
        )
        response.headers.update(error.headers or {})
        if error.status_code == 405:  # Starlette names the methods of the first route at the path alone
            routes = (r for r in app.routes if isinstance(r, Route) and r.matches(request.scope)[0] is not Match.NONE)
            response.headers["Allow"] = ", ".join(sorted({method for r in routes for method in r.methods or ()}))
        return response

    async def bad_query(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        problem = error.errors()[0]
        field = str(problem["loc"][-1])
        said = problem_text([problem], (field,), BaseModel)
        return to_response(ApiError(400, said, param=field, code="invalid_value"))

    async def client_gone(request: Request, error: Exception) -> Response:
        return Response(status_code=CLIENT_GONE)  # which the metrics see

    handlers: list[tuple[type[Exception], Callable[..., Any]]] = [
        (ApiError, api_error), (HTTPException, http_error), (RequestValidationError, bad_query),
        (ClientGoneError, client_gone), (ClientDisconnect, client_gone),
    ]  # fmt: skip
    for kind, handler in handlers:
        app.add_exception_handler(kind, handler)
