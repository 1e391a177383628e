"""Code in a text without fences, line by line, and the steps of an agent ("Thought:", "Action:")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
