"""Data in a text: JSON and its like, rows of CSV or TSV, keys and values of YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from eirene.text.matching import Span

_OPENS = re.compile(
    r"""(?:^[ \t]*(?:[\w.]+[ \t]*=[ \t]*)?|:[ \t]*)(?=\{\s*(?:["'][^"'\n]{1,200}["']|[A-Za-z_]\w{0,60})\s*:
      | \{\s*\}\s*$ | \[\s*(?:\{|\[\s*(?:["'\[]|-?[\d.]+\s*,)|["'][^"'\n]{0,2000}["']\s*[,\]]|[-\d.]+\s*,\s*$)
      | \[\s*[-\d.]+(?:\s*,\s*[-\d.]+){2,}\s*\]\s*$)""",
    re.VERBOSE | re.MULTILINE,
)
_BRACKETS = re.compile(r"""[{}\[\]]|"(?:[^"\\\n]|\\.)*"|(?<![\w])'(?:[^'\\\n]|\\.)*'(?=\s*[,:}\]])""")
_REST = re.compile(r"[ \t]*+[,;]?[ \t]*+(?:$|(?=[{\[<]))", re.MULTILINE)
_KEY = re.compile(r"[ \t]*(?:- )?[a-z_][\w.-]{0,60}:(?:[ \t]+\S.*)?$")
_UNDER = re.compile(r"(?:[ \t]+|- )\S|#|---\s*$|\.\.\.\s*$")
_SENTENCE_END = re.compile(r"[.!?:;,]\s*$")
_MARKED = re.compile(r"[-*+•|>#(]|\w{1,3}[.)]\s")
_QUOTED = re.compile(r'"[^"\n]*"')
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_FEWEST_ROWS, _FEWEST_LOOSE = 2, 3
_FIELD_WORDS = 4


def bracketed_data(text: str) -> Iterator[Span]:
    """JSON and its like where a line, or what follows a colon, begins with it; one that is cut off goes to the end."""
    at = 0
    while (found := _OPENS.search(text, at)) is not None:
        start = found.end()
        end = _balanced(text, start)
        at = start + 1
        rest = _REST.match(text, end)
        if rest is not None:
            at = rest.end()
            yield found.start() if "=" in found[0] else start, at


def _balanced(text: str, start: int) -> int:
    """The end of the brackets that open at an offset; the text's where they stay open."""
    depth = 0
    for mark in _BRACKETS.finditer(text, start):
        depth += 1 if mark[0] in "{[" else -1 if mark[0] in "}]" else 0
        if depth == 0:
            return mark.end()
    return len(text)


def keyed_lines(text: str) -> Iterator[Span]:
    """Lines of YAML: keys in small letters, and what is indented under them."""
    start, at, last, keys = -1, 0, 0, 0
    for line in [*text.splitlines(keepends=True), "."]:
        is_key = _KEY.match(line.rstrip("\r\n")) is not None
        if is_key and start < 0:
            start, keys = at, 0
        if start >= 0 and not is_key and line.strip() and not _UNDER.match(line):
            if keys >= _FEWEST_ROWS:
                yield start, last
            start = -1
        keys += is_key
        at += len(line)
        last = at if line.strip() else last


def delimited_rows(text: str) -> Iterator[Span]:
    """Rows of CSV or TSV: consecutive lines with as many delimiters each."""
    lines, starts = text.splitlines(keepends=True), [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    taken = 0
    for delimiter in "\t;,":
        counts = [_delimiters(line, delimiter) for line in lines] if delimiter in text else []
        for count, group in groupby(range(len(counts)), key=counts.__getitem__):
            rows = list(group)
            if count and starts[rows[0]] >= taken and _is_table([lines[n] for n in rows], delimiter, count):
                taken = starts[rows[-1] + 1]
                yield starts[rows[0]], taken


def _delimiters(line: str, delimiter: str) -> int:
    return _QUOTED.sub("", line.strip("\r\n ").lstrip()).count(delimiter)


def _is_table(rows: Sequence[str], delimiter: str, count: int) -> bool:
    bare = [_QUOTED.sub("q", row.strip()) for row in rows]
    if len(rows) < _FEWEST_ROWS or _SENTENCE_END.search(bare[0]) or any(map(_MARKED.match, bare)):
        return False
    if delimiter == "\t":
        return True
    if not any(delimiter in _THOUSANDS.sub("", row) for row in bare):
        return False
    if not any(f"{delimiter} " in row or f" {delimiter}" in row for row in bare):
        return all(not row.endswith((".", "!", "?")) for row in bare)
    fields = [field for row in bare for field in row.split(delimiter)]
    is_short = all(len(field.split()) <= _FIELD_WORDS for field in fields)
    return len(rows) >= _FEWEST_LOOSE and count > 1 and is_short and not any(map(_SENTENCE_END.search, bare))
