"""The flag of tracing, and the exporter that lives as long as the command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

Trace = Annotated[
    Literal["off", "spans", "content"],
    typer.Option(
        help="Send OpenTelemetry spans of every run, as the OTEL_* variables say; with content: texts too (extra "
        "'otel', docs/guides/tracing.md).",
        rich_help_panel="Tracing",
    ),
]


@dataclass(frozen=True, kw_only=True)
class TraceFlags:
    """Whether runs have spans, and what is in them."""

    trace: Trace = "off"

    @contextmanager
    def active(self) -> Iterator[None]:
        """Around a command's runs: by a provider that is configured already (`opentelemetry-instrument`), else by one
        that is made for the command. Raises `MissingExtraError`, and `InputError` for variables that cannot be used."""
        if self.trace == "off":
            yield
            return
        from eirene.core.tracing import Tracing

        Tracing()  # raises where the extra is missing, before anything of it is imported
        from opentelemetry import trace

        from eirene.core.otlp import exporting

        is_configured = not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
        with nullcontext() if is_configured else exporting() as export:
            provider = None if export is None else export.provider
            with Tracing(content=self.trace == "content", provider=provider).active():
                yield
