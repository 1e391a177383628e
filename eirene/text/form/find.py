"""Structured stretches of a text: fenced and bare code, JSON, YAML, CSV, HTML, XML, LaTeX, the steps of an agent.

Each is one piece for whoever judges or edits sentences. People's prose with brackets, colons, dashes, inline tags, or
verses is none. Tables of Markdown are rows, which are pieces of their own already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from eirene.text.form.code import agent_steps, code_lines
from eirene.text.form.data import bracketed_data, delimited_rows, keyed_lines
from eirene.text.form.markup import environments, tagged
from eirene.text.matching import Span
from eirene.text.remembered import remembered

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)
_MARKS = re.compile(r"[{}\[\]<>\\=;\t(:,$#/-]")
_FINDERS: tuple[Callable[[str], Iterator[Span]], ...] = (
    agent_steps, bracketed_data, environments, tagged, code_lines, keyed_lines, delimited_rows,
)  # fmt: skip


@remembered(512, longest=8_000)
def form_spans(text: str) -> tuple[Span, ...]:
    """Offsets of the structured stretches of a text in order, without white space at their ends.

    What a stretch holds is not looked at further. The same stretch by itself is found again.
    """
    spans = list(_fences(text))
    for find in _FINDERS:
        spans = sorted([*spans, *_outside(text, spans, find)])
    return tuple(_trimmed(text, span) for span in spans)


def is_form(text: str) -> bool:
    """Whether a text as a whole is structure."""
    said = text.strip()
    if not said or (_MARKS.search(said) is None and "```" not in said and "~~~" not in said):
        return False
    spans = form_spans(said)
    return bool(spans) and not any(said[a:b].strip() for a, b in _gaps(said, spans))


def _fences(text: str) -> Iterator[Span]:
    """Code between fences; one that is not closed goes to the end."""
    at = 0
    while (mark := _FENCE.search(text, at)) is not None:
        fence = mark.group(1)
        closing = re.compile(rf"^[ \t]*{fence}{fence[0]}*[ \t]*$", re.MULTILINE).search(text, mark.end())
        at = len(text) if closing is None else closing.end()
        yield mark.start(), at


def _outside(text: str, spans: list[Span], find: Callable[[str], Iterator[Span]]) -> Iterator[Span]:
    """What a finder finds between spans."""
    for start, end in _gaps(text, spans):
        if _MARKS.search(text, start, end):
            yield from ((start + a, start + b) for a, b in find(text[start:end]))


def _gaps(text: str, spans: list[Span] | tuple[Span, ...]) -> Iterator[Span]:
    at = 0
    for start, end in spans:
        if at < start:
            yield at, start
        at = end
    if at < len(text):
        yield at, len(text)


def _trimmed(text: str, span: Span) -> Span:
    start, end = span
    said = text[start:end]
    return start + len(said) - len(said.lstrip()), start + len(said.rstrip())
