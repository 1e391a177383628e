"""Spans of workers: other processes and machines make the rows, and so send the spans of these themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from eirene.core.otlp import SpanExport
from eirene.core.tracing import Tracing, current_tracing


@dataclass(frozen=True, slots=True)
class WorkerTracing:
    """What a worker is told of tracing. Can be pickled, unlike a provider; it sends where its environment says."""

    content: bool
    max_characters: int

    @classmethod
    def here(cls) -> WorkerTracing | None:
        """That of the code that asks; None where it is not traced."""
        tracing = current_tracing()
        return None if tracing is None else cls(tracing.content, tracing.max_characters)


class WorkerSpans:
    """What makes and sends the spans of one worker; nothing where it was told of no tracing."""

    def __init__(self, told: WorkerTracing | None) -> None:
        self._export = None if told is None else SpanExport()
        self._tracing: Tracing | None = None
        if told is not None and self._export is not None:
            self._tracing = Tracing(told.content, self._export.provider, told.max_characters)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Rows made in the body have spans."""
        if self._tracing is None:
            yield
            return
        with self._tracing.active():
            yield

    def flush(self) -> None:
        """Sends what there is: a worker is ended without a word. To be called before the last row of a chunk is sent
        back."""
        if self._export is not None:
            self._export.flush()
