"""Form: the stretches of a text that are structure, each of which stays whole or is left alone by whoever edits.

That is fenced and bare code, JSON, YAML, CSV, HTML, XML, LaTeX, the steps of an agent. People's prose with brackets,
colons, dashes, inline tags, or verses is none. Tables of Markdown are rows, which are pieces of their own already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from eirene.text.form_lines import agent_steps, bracketed_data, code_lines, delimited_rows, keyed_lines
from eirene.text.matching import Span, between
from eirene.text.remembered import remembered
from eirene.text.words import word_set

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)
_MARKS = re.compile(r"[{}\[\]<>\\=;\t(:,$#/-]")
_ATTRIBUTE = r"\s+[\w:@.-]{1,60}(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>=]{1,300}))?"
_TAG = re.compile(
    rf"<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]{{0,40}})(?:{_ATTRIBUTE}){{0,30}}\s*(?P<own>/?)>|<[!?][^<>]{{1,500}}>"
)
_INLINE, _BLOCKS, _VOID = (word_set(f"tags {kind}") for kind in ("inline", "block", "void"))
_MORE_THAN_ONE = re.compile(r"[.!?]\s+\S|\n")
_ENVIRONMENT = re.compile(r"\\(begin|end)\{([^{}\n]{1,40})\}")
_DISPLAY = re.compile(
    r"^[ \t]*+(?:\$\$[^$]{1,1500}\$\$|\\\[(?:(?!\\[\[\]])[\s\S]){1,1500}\\\])[ \t]*+[.,;]?[ \t]*+$", re.MULTILINE
)
_COMMAND = re.compile(
    r"^[ \t]*\\[a-zA-Z]{2,30}\*?(?:\[[^\]\n]{0,200}\])?(?:\{[^\n]{0,300}\})?[ \t]*(?:%.*)?$|^[ \t]*\\item\b.*$",
    re.MULTILINE,
)


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
    return bool(spans) and not any(said[a:b].strip() for a, b in between(spans, len(said)))


def _fences(text: str) -> Iterator[Span]:
    """Code between fences; one that is not closed goes to the end."""
    at = 0
    while (mark := _FENCE.search(text, at)) is not None:
        fence = mark.group(1)
        closing = re.compile(rf"^[ \t]*{fence}{fence[0]}*[ \t]*(?=\r?$)", re.MULTILINE).search(text, mark.end())
        at = len(text) if closing is None else closing.end()
        yield mark.start(), at


def _outside(text: str, spans: list[Span], find: Callable[[str], Iterator[Span]]) -> Iterator[Span]:
    """What a finder finds between spans."""
    for start, end in between(spans, len(text)):
        if _MARKS.search(text, start, end):
            yield from ((start + a, start + b) for a, b in find(text[start:end]))


def _trimmed(text: str, span: Span) -> Span:
    start, end = span
    said = text[start:end]
    return start + len(said) - len(said.lstrip()), start + len(said.rstrip())


def tagged(text: str) -> Iterator[Span]:
    """Elements with all that they hold; those of a word or a sentence (`<b>`, `<sup>`) where they hold several.

    A line that begins with a block's tag whose other tag is missing is one as well.
    """
    if "<" not in text:
        return
    joined: list[Span] = []
    for start, end in sorted(_elements(text)):
        if joined and (start < joined[-1][1] or not text[joined[-1][1] : start].strip()):
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    yield from joined


def _elements(text: str) -> Iterator[Span]:
    open_tags: list[tuple[str, int]] = []
    for tag in _TAG.finditer(text):
        name = (tag["name"] or "").lower()
        if not name:
            yield tag.span()
        elif not tag["end"]:
            if name not in _VOID and not tag["own"]:
                open_tags.append((name, tag.start()))
            elif name not in _INLINE and _is_line(text, tag.start(), tag.end()):
                yield tag.span()
        elif (found := next((n for n in reversed(range(len(open_tags))) if open_tags[n][0] == name), None)) is not None:
            start = open_tags[found][1]
            yield from _lines_of_blocks(text, open_tags[found + 1 :])
            del open_tags[found:]
            if _is_structure(text, name, start, tag.end()):
                yield start, tag.end()
    yield from _lines_of_blocks(text, open_tags)


def _is_structure(text: str, name: str, start: int, end: int) -> bool:
    """Whether an element is more than a mark within a sentence."""
    is_alone = name not in _INLINE and _is_line(text, start, end)
    return name in _BLOCKS or is_alone or _MORE_THAN_ONE.search(text, start, end) is not None


def _lines_of_blocks(text: str, tags: list[tuple[str, int]]) -> Iterator[Span]:
    """The lines that tags of blocks begin which nothing closes."""
    for name, start in tags:
        if name in _BLOCKS and _begins_line(text, start):
            yield start, _line_end(text, start)


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def _begins_line(text: str, offset: int) -> bool:
    return not text[text.rfind("\n", 0, offset) + 1 : offset].strip()


def _is_line(text: str, start: int, end: int) -> bool:
    return _begins_line(text, start) and not text[end:].partition("\n")[0].strip()


def environments(text: str) -> Iterator[Span]:
    """Environments of LaTeX, formulas and commands, each the whole lines that it stands in."""
    if "\\" not in text and "$$" not in text:
        return
    found = list(_environment_lines(text))
    yield from found
    for start, end in between(found, len(text)):
        part = text[start:end]
        shown = [m.span() for m in _DISPLAY.finditer(part)]
        lines = [m.span() for m in _COMMAND.finditer(part) if not any(a <= m.start() < b for a, b in shown)]
        yield from ((start + a, start + b) for a, b in [*shown, *lines])


def _environment_lines(text: str) -> Iterator[Span]:
    depth, start, at = 0, 0, 0  # whole lines: an environment may stand in a formula
    for mark in _ENVIRONMENT.finditer(text):
        if mark[1] == "begin":
            start = start if depth else max(at, text.rfind("\n", 0, mark.start()) + 1)
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                at = _line_end(text, mark.end())
                if start < at:
                    yield start, at
    if depth:
        yield start, len(text)


_FINDERS: tuple[Callable[[str], Iterator[Span]], ...] = (
    agent_steps, bracketed_data, environments, tagged, code_lines, keyed_lines, delimited_rows,
)  # fmt: skip
