"""Lines of a text that are structure without a fence: code, an agent's steps, JSON, rows of CSV or TSV, YAML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from eirene.text.matching import Span


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


_LONGEST = 400
"""Characters of a line of code."""
_DECLARED = r"(?:const|let|var|val|final|static|int|float|double|char|bool|string|auto|my|local|export|set)\s+"
_NAME = r"(?:[a-z_$@][\w.$\[\]\"'-]*|[A-Z][A-Z0-9_]{1,40}|\w+\.\w[\w.\[\]]*)"
_PROSE = r"\s*[A-Za-z]+(?:\s+\(?[a-z]+\)?){2}"
_PROGRAMS = (
    r"(?:sudo|pip3?|npm|npx|yarn|git|docker|kubectl|curl|wget|apt(?:-get)?|brew|mkdir|chmod|chown|tar|grep|ssh|scp|conda"
    r"|cargo)\s"
)
_STRONG = _any_of([
    r"(?:async\s+)?def\s+\w+\s*\(|class\s+[A-Z]\w*\s*(?:\([^)]*\))?:$|function\b.*\(",
    r"(?:public|private|static|export|abstract)\s.*[({]",
    r"import\s+[\w.*]+(?:\s+as\s+\w+)?(?:,\s*\w+)*;?$|from\s+[\w.]+\s+import\s|#include\s*[<\"]|#!/|//|/\*",
    rf"(?:{_DECLARED})?{_NAME}(?:\s*:\s*[\w\[\], .|]+)?\s*(?:[-+*/%&|]|//|\*\*)?=(?![=\s]*$)(?!=)(?!{_PROSE})",
    r"(?:const|let|var)\s+\w+|.*[)\]}\"']\s*;$|.*[)\w\"'=:>,(]\s*\{$|.*\)\s*=>",
    r"[\w.$]+\((?:[^()]*[\"',=][^()]*|)\)\s*[;:]?$|\w+(?:\.\w+)+\([^()]*\)\s*[;:]?$",
    r"Traceback \(most|File \".*\", line \d|@@ -\d|(?:---|\+\+\+) [ab]/",
    r"SELECT\b|INSERT INTO\b|UPDATE\s+\w+\s+SET\b|DELETE FROM\b|(?:CREATE|ALTER|DROP) (?:TABLE|INDEX|VIEW|DATABASE)\b",
    rf"\$ \S|{_PROGRAMS}\S+(?!.*[.!?]$)",
    r"(?:cd|export|echo|python3?|bash|sh|find|set|rm|cp|mv|ls|sed|awk|source|make|cat) "
    r"(?=.*(?: ?-\w|/|\$|\"|=|\.\w+$))(?!.*[.!?]$)",
])  # fmt: skip
"""A line that is code."""
_WEAK = _any_of([
    r"(?:if|elif|else|for|while|with|try|except|finally|switch|case|do)\b.*[:{(]$",
    r"(?:return|yield|raise|throw|break|continue|pass|await|print)\b|(?:end|fi|done|esac|then);?$",
    r"[}\])]+[;,)]*$|[}\])].*[{;,]$|#(?!#)|;|--|@\w+|\[[\w .:-]+\]$|\w+\(.*\);?$|.*[;{]$",
    r"(?:FROM|.*\bJOIN|WHERE|GROUP BY|ORDER BY|HAVING|LIMIT|AND|OR|VALUES|SET|UNION|ON)\b",
])  # fmt: skip
"""A line that is code beside code."""
_ALONE = _any_of([
    r"SELECT\b.+\bFROM\b|INSERT INTO\b.+\bVALUES\b|DELETE FROM\b.+\bWHERE\b|UPDATE\b.+\bSET\b.+=|#include\s*[<\"]",
    r"def\s+\w+\(.*\).*:|from\s+[\w.]+\s+import\s+\S+$|[a-z_][\w.]*\((?:[^()]*[\"'=][^()]*)\);?$",
    rf"(?:const|let|var)\s+\w+\s*=|\$ \S|{_PROGRAMS}(?=.*[-/.=])\S+.*[^.!?]$",
])  # fmt: skip
"""A line that is code by itself."""
_INDENTED = re.compile(r"(?: {2,}|\t)(?![-*+•]\s|\d{1,3}[.)]\s)\S")
_AGENT = re.compile(r"^(?P<key>Thought|Action|Action Input|Observation|Final Answer)[ \t]*:", re.MULTILINE)
_NAMED = re.compile(r"^Action[ \t]*+:[ \t]*+(?:(?:Final Answer|[\w.-]++(?:\[.*\]|\(.*\))?)[ \t]*+)?$", re.MULTILINE)


def code_lines(text: str) -> Iterator[Span]:
    """Runs of lines that read as code: two that surely do, or one and what belongs to it; a few kinds of line alone."""
    run: list[tuple[int, int, str]] = []  # start, end and kind of the lines so far
    at = 0
    for line in [*text.splitlines(keepends=True), "."]:
        kind = _kind(line, bool(run))
        if not kind:
            yield from _as_code(text, run)
            run = []
        elif run or kind != "blank":
            run.append((at, at + len(line), kind))
        at += len(line)


def _kind(line: str, in_code: bool) -> str:
    """What a line is in code: `strong`, `weak`, `inner` or `blank`; empty where it is prose."""
    said = line.strip()
    if not said:
        return "blank"
    if len(said) > _LONGEST:
        return ""
    if _STRONG.match(said):
        return "strong"
    if _WEAK.match(said):
        return "weak"
    return "inner" if in_code and _INDENTED.match(line) else ""


def _as_code(text: str, run: list[tuple[int, int, str]]) -> Iterator[Span]:
    while run and run[-1][2] == "blank":
        run.pop()
    strong = sum(kind == "strong" for _, _, kind in run)
    others = sum(kind in ("weak", "inner") for _, _, kind in run)
    first, last = (run[0][0], run[-1][1]) if run else (0, 0)
    if (
        strong > 1
        or (strong and others)
        or (strong and last - first <= 2 * _LONGEST and _ALONE.match(text[first:last].strip()))
    ):
        yield first, last


def agent_steps(text: str) -> Iterator[Span]:
    """The steps of an agent, up to the words "Final Answer:", which lead in what it says."""
    keys = list(_AGENT.finditer(text))
    names = {key["key"] for key in keys}
    if "Action" not in names or not (len(names) > 1 or "Final Answer" in text) or not _NAMED.search(text):
        return
    final = next((key for key in keys if key["key"] == "Final Answer"), None)
    yield keys[0].start(), len(text) if final is None else final.end()


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
        bare = [_QUOTED.sub("", line.strip("\r\n ").lstrip()) for line in lines] if delimiter in text else []
        counts = [line.count(delimiter) for line in bare]
        for count, group in groupby(range(len(counts)), key=counts.__getitem__):
            rows = list(group)
            if count and starts[rows[0]] >= taken and _is_table([lines[n] for n in rows], delimiter, count):
                taken = starts[rows[-1] + 1]
                yield starts[rows[0]], taken


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
