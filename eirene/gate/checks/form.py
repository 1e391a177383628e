"""Form check: structure stays whole: data that could be read, tags, brackets and fences in pairs, heads of tables."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator

from eirene.gate.checks.base import EditCase, Objection
from eirene.text.form import is_form

_LONGEST = 50_000
"""Characters of a piece that is read as data or code."""
_OPENING_LINE = re.compile(r"\A[`~]{3,}[^\n]*\n|\n[ \t]*[`~]{3,}\s*\Z")
_PAIRS = re.compile(
    r"(?P<tag><(?P<end>/?)(?P<name>[A-Za-z][\w:.-]{0,40})(?:\s[^<>]{0,500})?(?<!/)>)"
    r"|\\(?P<environment>begin|end)\{(?P<of>[^{}\n]{1,40})\}|(?P<fence>^[ \t]*(?:`{3,}|~{3,}))|(?P<bracket>[()\[\]{}])",
    re.MULTILINE,
)
_MARKER = re.compile(r"(?<![\w(])\(?\w{1,3}\)(?=\s)|[:;]-?[()]")
_VOID = frozenset(["br", "hr", "img", "input", "link", "meta", "wbr"])
"""Elements that have no end."""
_CLOSERS = {")": "(", "]": "[", "}": "{"}


def form(case: EditCase) -> Iterator[Objection]:
    """Objects to edits after which structure is broken that was whole before."""
    if _breaks(case.before, case.after):
        yield from (Objection(n, "the text could be read before, and no longer can") for n, _ in case.changed())
        return
    torn = Counter[str]() if any(_open(case.before).values()) else _open(case.after)
    for n, edit in case.changed():
        old, new = case.old(edit), case.new(edit)
        changed = sorted(mark for mark, more in torn.items() if more and _open(old)[mark] != _open(new)[mark])
        if new and _breaks(old, new):
            yield Objection(n, "structured text that could be read before no longer can")
        elif changed:
            yield Objection(n, f"leaves {changed[0]} without its other half")
        elif edit.kind == "removed" and {"|", "-"} <= {*old} <= {*" \t:|-"} and "|" in case.after:
            yield Objection(n, "takes the rule under a table's head away")


def _breaks(old: str, new: str) -> bool:
    """Whether a text is data or code without an error in it, and another one is not."""
    read = _read_as(old)
    return read is not None and _read_as(new) != read


def _read_as(text: str) -> str | None:
    """What structure without an error in it is: `data` (JSON) or `code` (Python); None for all else."""
    said = _OPENING_LINE.sub("", text.strip())
    if not said or len(said) > _LONGEST or not is_form(text):
        return None
    try:
        json.loads(said)
        return "data"
    except (ValueError, RecursionError):
        pass
    try:
        ast.parse(said)
        return "code"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _open(text: str) -> Counter[str]:
    """How many more of each kind of pair are opened than closed."""
    found: Counter[str] = Counter()
    for mark in _PAIRS.finditer(_MARKER.sub("", text)):
        if mark["tag"]:
            name = mark["name"].lower()
            found[f"<{name}>"] += 0 if name in _VOID else -1 if mark["end"] else 1
        elif mark["environment"]:
            found[f"\\begin{{{mark['of']}}}"] += 1 if mark["environment"] == "begin" else -1
        elif mark["fence"]:
            found["a code fence"] ^= 1
        else:
            found[_CLOSERS.get(mark[0], mark[0])] += -1 if mark[0] in _CLOSERS else 1
    return found
