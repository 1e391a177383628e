"""Tracing: OpenTelemetry spans of runs, steps, model calls and detectors, where a caller asked for them.

Off, each place that could make a span looks at one context variable. Names and attributes are those of OpenTelemetry's
conventions for generative AI (`gen_ai.*`); what these have no name for is `eirene.*`. Context variables carry the span
under way into tasks and threads; another process needs its own (`eirene.core.otlp`).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from eirene._version import __version__
from eirene.core.errors import InputError
from eirene.core.extras import require
from eirene.core.logs import get_logger
from eirene.core.validation import described
from eirene.text.cancellation import WorkCancelledError
from eirene.text.unicode import mend_surrogates

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer, TracerProvider

logger = get_logger(__name__)

AttributeValue = str | bool | int | float | Sequence[str]
Attributes = Mapping[str, AttributeValue | None]
"""Attributes of a span; those that are None are left out."""
SpanKind = Literal["internal", "client", "server"]
ShownAs = Literal["CHAIN", "LLM", "EVALUATOR", "GUARDRAIL"]
"""As what Phoenix and Langfuse show a span: OpenInference's word for it."""
TracedMessage = tuple[str, str, str | None]
"""Role, text, and of a reply why it ended."""
MAX_CHARACTERS = 16_000
_SHORT = 300  # characters of a name or an id
_MOST_LISTED = 64  # entries of a list


@dataclass(frozen=True, slots=True)
class Tracing:
    """Asks for spans. `content`: with questions, answers, prompts, replies and messages of errors, of each attribute
    at most `max_characters`; without it no text of people or models is in a span.

    `provider`: an OpenTelemetry tracer provider, by default the one that is configured globally. Raises
    `MissingExtraError` without the extra `otel`.
    """

    content: bool = False
    provider: TracerProvider | None = None
    max_characters: int = MAX_CHARACTERS

    def __post_init__(self) -> None:
        if self.max_characters < 1:
            raise InputError(f"max_characters must be at least 1, got {self.max_characters}", field="max_characters")
        require("opentelemetry.trace")

    @contextmanager
    def active(self) -> Iterator[None]:
        """Runs that begin in the body, its tasks and its threads have spans: a trace each, or part of one under way."""
        from opentelemetry import trace

        around = _here.get()
        if around is None or around.tracing is not self:
            if self.provider is None and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
                _warn_of_no_provider()
            tracer = trace.get_tracer("eirene", __version__, tracer_provider=self.provider)
            around = _Here(self, tracer, _api(), None if around is None else around.span)
        token = _here.set(around)
        try:
            yield
        finally:
            _here.reset(token)


@dataclass(frozen=True, slots=True)
class _Here:
    """What is traced at this place: how, by which tracer, and in which span, if one is under way."""

    tracing: Tracing
    tracer: Tracer
    api: _Api
    span: OpenSpan | None = None


_here: ContextVar[_Here | None] = ContextVar("eirene_tracing", default=None)


class OpenSpan:
    """A span under way; `around`: the one that it is part of, if that is ours."""

    def __init__(self, span: Span, tracing: Tracing, around: OpenSpan | None = None) -> None:
        self._span, self._most = span, tracing.max_characters
        self.around = around
        self._records = span.is_recording()  # not where it was sampled out
        self.has_content = tracing.content and self._records

    def set(self, attributes: Attributes) -> None:
        """Adds attributes."""
        if self._records:
            self._span.set_attributes(_whole(attributes))

    def set_text(self, name: str, make: Callable[[], str]) -> None:
        """Adds a text of people or models, cut to length, where content was asked for."""
        if self.has_content:
            self._span.set_attribute(name, _cut(mend_surrogates(make()), self._most))

    def set_messages(self, name: str, make: Callable[[], Iterable[TracedMessage]]) -> None:
        """The same for messages, in the form of the conventions; their texts together are cut to length."""
        if self.has_content:
            self._span.set_attribute(name, _messages_json(make(), self._most))

    def failed(self, kind: str, message: str) -> None:
        """Marks the span as failed; the message may quote people or models, and so is content."""
        if self._records:
            from opentelemetry.trace import Status, StatusCode

            said = _cut(mend_surrogates(message), self._most) if self.has_content else None
            self._span.set_status(Status(StatusCode.ERROR, said))
            self._span.set_attribute("error.type", kind)

    def left_by(self, error: BaseException) -> None:
        """Notes what ended the work before its end."""
        if isinstance(error, WorkCancelledError) or not isinstance(error, Exception):
            self.set({"eirene.cancelled": True})
        else:
            self.failed(type(error).__name__, str(error))


def as_tracing(given: Tracing | bool | None) -> Tracing | None:
    """What a caller gave as `tracing`: True asks for spans without content. Raises `InputError` for anything else."""
    value: object = given  # whatever a caller gave
    if isinstance(value, Tracing):
        return value
    if not isinstance(value, bool | None):
        said = f"tracing must be True, False or eirene.Tracing(content=True), got {described(value)}"
        raise InputError(said, field="tracing")
    return Tracing() if value else None


def current_tracing() -> Tracing | None:
    """How the code that asks is traced; None where it is not."""
    here = _here.get()
    return None if here is None else here.tracing


def root_span(
    name: str,
    make: Callable[[], Attributes],
    *,
    tracing: Tracing | None = None,
    kind: SpanKind = "internal",
    headers: Mapping[str, str] | None = None,
) -> AbstractContextManager[OpenSpan | None]:
    """A span that may begin a trace: part of the span under way, else of the one that `headers` (`traceparent`) name.

    None where nothing is traced. `tracing` turns it on for the body.
    """
    if tracing is not None:
        return _activated(tracing, lambda: root_span(name, make, kind=kind, headers=headers))
    here = _here.get()
    if here is None:
        return _NOTHING
    return _Opening(here, name, make, kind, context=_parent(headers) if here.span is None else None)


def span(
    name: str,
    make: Callable[[], Attributes] = dict,
    *,
    kind: SpanKind = "internal",
    shown_as: ShownAs = "CHAIN",
    passing: tuple[type[BaseException], ...] = (),
) -> AbstractContextManager[OpenSpan | None]:
    """A span in the one under way; None, and nothing of `make`, where there is none.

    What the body raises marks it as failed, unless it is among `passing`.
    """
    here = _here.get()
    if here is None or here.span is None:
        return _NOTHING
    return _Opening(here, name, make, kind, shown_as, passing)


def note(make: Callable[[], Attributes]) -> None:
    """Adds attributes to the innermost span under way, if there is one."""
    here = _here.get()
    if here is not None and here.span is not None:
        here.span.set(make())


def note_text(name: str, make: Callable[[], str]) -> None:
    """The same for a text of people or models."""
    here = _here.get()
    if here is not None and here.span is not None:
        here.span.set_text(name, make)


_NOTHING: AbstractContextManager[None] = nullcontext()
"""Of which there needs to be one: a place that makes no span costs a look at a variable."""


@contextmanager
def _activated(
    tracing: Tracing, opened: Callable[[], AbstractContextManager[OpenSpan | None]]
) -> Iterator[OpenSpan | None]:
    with tracing.active(), opened() as found:
        yield found


@dataclass(slots=True)
class _Opening:
    """A span as a context manager; with a `context` it goes on a trace from elsewhere."""

    here: _Here
    name: str
    attributes: Callable[[], Attributes]
    kind: SpanKind
    shown_as: ShownAs = "CHAIN"
    passing: tuple[type[BaseException], ...] = ()
    context: Context | None = None
    span: Span | None = None
    found: OpenSpan | None = None
    tokens: tuple[Any, Any] | None = None

    def start(self) -> OpenSpan:
        """Begins the span, and puts it nowhere yet."""
        api, here = self.here.api, self.here
        attributes = _whole({"openinference.span.kind": self.shown_as, **self.attributes()})
        kind = api.kinds[self.kind]
        self.span = here.tracer.start_span(_named(self.name), self.context, kind, attributes, record_exception=False)
        self.found = OpenSpan(self.span, here.tracing, here.span)
        return self.found

    def attach(self) -> None:
        """Makes it the span under way."""
        assert self.span is not None
        api, here = self.here.api, self.here
        inside = _here.set(_Here(here.tracing, here.tracer, api, self.found))
        self.tokens = (inside, api.attach(api.set_span_in_context(self.span)))

    def detach(self) -> None:
        """Puts what was under way before in its place again."""
        assert self.tokens is not None
        self.here.api.detach(self.tokens[1])
        _here.reset(self.tokens[0])

    def end(self, error: BaseException | None = None) -> None:
        """Ends the span, by the error that ended its body if there was one."""
        assert self.span is not None and self.found is not None
        if error is not None and not isinstance(error, self.passing):
            self.found.left_by(error)
        self.span.end()

    def __enter__(self) -> OpenSpan:
        found = self.start()
        self.attach()
        return found

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.detach()
        self.end(error)


class HeldSpan:
    """A span whose body runs in pieces, such as the turns of a generator: under way in each, and not between them."""

    def __init__(self, opening: _Opening) -> None:
        self._opening = opening
        opening.start()

    @contextmanager
    def piece(self) -> Iterator[None]:
        """Around each piece."""
        self._opening.attach()
        try:
            yield
        finally:
            self._opening.detach()

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Around all pieces: it ends with them."""
        try:
            yield
        except BaseException as error:
            self._opening.end(error)
            raise
        self._opening.end()


def held_span(name: str, make: Callable[[], Attributes], *, tracing: Tracing) -> HeldSpan:
    """A span that may begin a trace, as `root_span`, for a body that runs in pieces."""
    with tracing.active():
        here = _here.get()
        assert here is not None
        return HeldSpan(_Opening(here, name, make, "internal"))


@dataclass(frozen=True, slots=True)
class _Api:
    """What is used of OpenTelemetry at each span, imported once."""

    kinds: Mapping[SpanKind, Any]
    attach: Callable[[Context], Any]
    detach: Callable[[Any], None]
    set_span_in_context: Callable[[Span], Context]


@functools.cache
def _api() -> _Api:
    from opentelemetry import context, trace

    kinds: Mapping[SpanKind, Any] = {
        "internal": trace.SpanKind.INTERNAL, "client": trace.SpanKind.CLIENT, "server": trace.SpanKind.SERVER,
    }  # fmt: skip
    return _Api(kinds, context.attach, context.detach, trace.set_span_in_context)


def _parent(headers: Mapping[str, str] | None) -> Context | None:
    if headers is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    # Nothing is done with baggage and tracestate, and OpenTelemetry's readers log what they cannot read of them.
    return TraceContextTextMapPropagator().extract({"traceparent": headers.get("traceparent", "")})


def _whole(attributes: Attributes) -> dict[str, Any]:
    """What an exporter can encode: no None, no half surrogate pair, names and lists of bounded length."""
    return {
        name: _named(value) if isinstance(value, str) else _listed(value) if isinstance(value, Sequence) else value
        for name, value in attributes.items()
        if value is not None
    }


def _listed(values: Sequence[str]) -> list[str]:
    return [_named(value) for value in values[:_MOST_LISTED]]


def _named(text: str) -> str:
    return text[:_SHORT] if text.isascii() else mend_surrogates(text)[:_SHORT]


def _messages_json(messages: Iterable[TracedMessage], most: int) -> str:
    told, left = [], most
    for role, text, ended in messages:
        shown = _cut(mend_surrogates(text), left)
        left -= len(shown)
        finish = {} if ended is None else {"finish_reason": ended}
        told.append({"role": role, "parts": [{"type": "text", "content": shown}], **finish})
    return json.dumps(told, ensure_ascii=False)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(0, most - 1)] + "…"[:most]


@functools.cache
def _warn_of_no_provider() -> None:
    """Once a process: it is configured for all of it."""
    logger.warning(
        "tracing was asked for, and no OpenTelemetry tracer provider is configured, so that no span is kept; see "
        "docs/guides/tracing.md"
    )
