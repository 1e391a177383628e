"""Server-sent events: what a run reports step by step, and keep-alive lines meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from eirene.agent.server.errors import CLIENT_GONE, ApiError, internal_error
from eirene.agent.server.result import shown_critique, shown_diff
from eirene.agent.state import Event, State
from eirene.core.critique import Critique
from eirene.core.logs import get_logger

logger = get_logger(__name__)

T = TypeVar("T")
DONE = "data: [DONE]\n\n"
_COMMENT = ": refining\n\n"
_PART_CHARACTERS = 16 * 1024  # of a stream, in one write


def sse(body: Any) -> str:
    """One server-sent event; a text is JSON already."""
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n"


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


async def while_client_waits(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; a client that goes away ends it. Raises `ClientGoneError` then."""
    task = asyncio.ensure_future(work)
    try:
        await done_within(task, request, seconds=None)
        return task.result()
    finally:
        await _cancel(task)


class EventStream(Response):
    """Server-sent events as they come, with comments between them wherever none comes for `keep_alive_s`."""

    def __init__(self, events: AsyncGenerator[str, None], *, keep_alive_s: float, headers: dict[str, str]) -> None:
        super().__init__(None, 200, headers, "text/event-stream")
        del self.headers["content-length"]
        self._events = events
        self._keep_alive_s = keep_alive_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends them until they end or the client goes away, which ends what makes them as well."""
        gone = asyncio.ensure_future(_disconnected(receive))
        coming = asyncio.ensure_future(anext(self._events))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while not gone.done():
                await _wait_first([coming, gone], self._keep_alive_s)
                text = _COMMENT
                if coming.done():
                    if isinstance(coming.exception(), StopAsyncIteration):
                        break
                    text, coming = coming.result(), asyncio.ensure_future(anext(self._events))
                await send({"type": "http.response.body", "body": text.encode("utf-8"), "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await _cancel(gone, coming)
            await self._events.aclose()


async def answer_events(work: asyncio.Task[Iterable[str]]) -> AsyncGenerator[str, None]:
    """A comment at once, then the events that the work gives, joined into few writes; its failure is an event, too."""
    try:
        yield _COMMENT
        pieces = await work
    # The head is out, so that an error can only be an event; one of ours is no reason to break the stream off.
    except Exception as error:
        if not isinstance(error, ApiError):
            logger.exception("a stream failed: %s", type(error).__name__)
        yield sse((error if isinstance(error, ApiError) else internal_error()).body) + DONE
        return
    finally:
        work.cancel()
    for part in _in_parts(pieces):
        yield part
        await asyncio.sleep(0)  # others have their turn between the parts of a long answer


async def done_within(task: asyncio.Task[T], request: Request, *, seconds: float | None) -> bool:
    """Whether the work is done within so many seconds. Raises `ClientGoneError` where its client is gone before."""
    gone = asyncio.ensure_future(_disconnected(request.receive))
    try:
        await _wait_first([task, gone], seconds)
        if gone.done() and not task.done():
            await _cancel(task)
            raise ClientGoneError
        return task.done()
    finally:
        await _cancel(gone)


def client_gone_response() -> Response:
    """What a client that is gone gets; the metrics see its status."""
    return Response(status_code=CLIENT_GONE)


def _in_parts(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces, joined up to so many characters: they are all there, and a write for each word would cost more."""
    part: list[str] = []
    characters = 0
    for piece in pieces:
        part.append(piece)
        characters += len(piece)
        if characters >= _PART_CHARACTERS:
            yield "".join(part)
            part, characters = [], 0
    if part:
        yield "".join(part)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _wait_first(futures: Sequence[asyncio.Future[Any]], timeout_s: float | None) -> None:
    await asyncio.wait(futures, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)


async def _cancel(*futures: asyncio.Future[Any]) -> None:
    """Cancels what is not done and waits until it has ended."""
    for future in futures:
        future.cancel()
    await asyncio.wait(futures)
    for future in futures:
        if not future.cancelled():
            future.exception()  # looked at, so that asyncio does not report it as forgotten


RunEvent = dict[str, Any]
OnRunEvent = Callable[[RunEvent], None]
_ERRORS = ("hallucination", "coverage")
_FROM_STATE = frozenset({"critique", "scores", "decision"})  # told in full by the state, rather than in a few words


class RunReporter:
    """Tells of one choice of a run: each event with the number of the choice, and what is new in the state."""

    def __init__(self, tell: OnRunEvent, choice: int, *, advisory: Collection[str] = ()) -> None:
        self._tell = tell
        self._advisory = sorted(advisory)
        self._choice = choice
        self._seen: dict[str, Any] = {}

    def on_event(self, event: Event) -> None:
        """Passes the loop's own events on."""
        if event["kind"] not in _FROM_STATE or event["node"] == "select_critique":
            self._tell({**event, "choice": self._choice})

    def on_state(self, state: State) -> None:
        """Tells of votes, critique, rewrite, scores and decision as soon as the state has them."""
        if samples := self._new("samples", state.get("samples")):
            self._send("votes", state, **_votes(samples))
        if critique := self._new("critique", state.get("critique")):
            text = state.get("best", state["item"]["answer"])
            self._send("critique_chosen", state, **shown_critique(Critique.model_validate(critique), text))
        attempt = state.get("attempt") or {}
        candidate = self._new("candidate", attempt.get("candidate"))
        if candidate is not None:
            before = state.get("best", state["item"]["answer"])
            told = {"before": before, "after": candidate, "unusable": attempt.get("unusable")}
            self._send("rewrite", state, **told, diff=shown_diff(before, candidate))
        if scores := self._new("scores", attempt.get("scores")):
            before, after = _errors(state.get("best_scores", {})), _errors(scores)
            self._send("scored", state, before=before, after=after, advisory=self._advisory)
        rounds = state.get("rounds") or []
        if len(rounds) > self._seen.get("rounds", 0):
            last = rounds[-1]
            decided = {"decision": last["decision"], "why": last["why"], "rewritten": last["candidate"] is not None}
            self._send("decided", state, number=len(rounds), **decided)
        self._seen["rounds"] = len(rounds)

    def _send(self, kind: str, state: State, **more: Any) -> None:
        self._tell({"kind": kind, "choice": self._choice, "round": state.get("round", 1), **more})

    def _new(self, key: str, value: Any) -> Any:
        """The value where it is another than before."""
        is_new = value != self._seen.get(key)
        self._seen[key] = value
        return value if is_new else None


def _votes(samples: list[RunEvent]) -> RunEvent:
    """How many of the valid samples called each sentence incomplete."""
    valid = [s["tags"] for s in samples if s["invalid"] is None]
    counts = [sum(tag == "Incomplete" for tag in column) for column in zip(*valid, strict=True)]
    return {"incomplete": counts, "valid": len(valid), "drawn": len(samples)}


def _errors(scores: RunEvent) -> RunEvent:
    """The answer's two error scores by detector; null where one is unscored."""
    return {name: {error: _number(found[error]) for error in _ERRORS} for name, found in scores.items()}


def _number(score: Any) -> float | None:
    return None if isinstance(score, dict) else float(score)
