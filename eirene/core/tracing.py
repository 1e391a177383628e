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
            around = _Here(self, tracer, None if around is None else around.span)
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
    span: OpenSpan | None = None


_here: ContextVar[_Here | None] = ContextVar("eirene_tracing", default=None)
_NOTHING: AbstractContextManager[None] = nullcontext()


class OpenSpan:
    """A span under way."""

    def __init__(self, span: Span, tracing: Tracing) -> None:
        self._span, self._most = span, tracing.max_characters
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


@contextmanager
def root_span(
    name: str,
    make: Callable[[], Attributes],
    *,
    tracing: Tracing | None = None,
    kind: SpanKind = "internal",
    headers: Mapping[str, str] | None = None,
) -> Iterator[OpenSpan | None]:
    """A span that may begin a trace: part of the span under way, else of the one that `headers` (`traceparent`) name.

    None where nothing is traced. `tracing` turns it on for the body.
    """
    with _NOTHING if tracing is None else tracing.active():
        here = _here.get()
        if here is None:
            yield None
            return
        with _opened(here, name, make, kind=kind, context=_parent(headers) if here.span is None else None) as found:
            yield found


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
    return _opened(here, name, make, kind=kind, shown_as=shown_as, passing=passing)


def note(make: Callable[[], Attributes]) -> None:
    """Adds attributes to the innermost span under way, if there is one."""
    here = _here.get()
    if here is not None and here.span is not None:
        here.span.set(make())


@contextmanager
def _opened(
    here: _Here,
    name: str,
    make: Callable[[], Attributes],
    *,
    kind: SpanKind,
    shown_as: ShownAs = "CHAIN",
    passing: tuple[type[BaseException], ...] = (),
    context: Context | None = None,
) -> Iterator[OpenSpan]:
    """The span around the body; with a `context` it goes on a trace from elsewhere."""
    from opentelemetry import trace

    attributes = _whole({"openinference.span.kind": shown_as, **make()})
    with here.tracer.start_as_current_span(
        _named(name), context, trace.SpanKind[kind.upper()], attributes,
        record_exception=False, set_status_on_exception=False,
    ) as begun:  # fmt: skip
        found = OpenSpan(begun, here.tracing)
        inside = _here.set(_Here(here.tracing, here.tracer, found))
        try:
            yield found
        except BaseException as error:
            if isinstance(error, WorkCancelledError) or not isinstance(error, Exception):
                found.set({"eirene.cancelled": True})
            elif not isinstance(error, passing):
                found.failed(type(error).__name__, str(error))
            raise
        finally:
            _here.reset(inside)


def _parent(headers: Mapping[str, str] | None) -> Context | None:
    if headers is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    # Nothing is done with baggage and tracestate, and OpenTelemetry's readers log what they cannot read of them.
    return TraceContextTextMapPropagator().extract({"traceparent": headers.get("traceparent", "")})


def _whole(attributes: Attributes) -> dict[str, Any]:
    """What an exporter can encode: no None, no half surrogate pair, names and lists of bounded length."""

    def encodable(value: AttributeValue) -> Any:
        if isinstance(value, str):
            return _named(value)
        return [_named(each) for each in value[:_MOST_LISTED]] if isinstance(value, Sequence) else value

    return {name: encodable(value) for name, value in attributes.items() if value is not None}


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
