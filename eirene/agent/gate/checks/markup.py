"""Markup check: links, HTML, images and code that neither the text before nor the given text holds."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

from eirene.agent.gate.checks.base import EditCase, Objection
from eirene.agent.gate.checks.markup_kinds import KINDS, MarkupKind
from eirene.agent.gate.checks.places import PlacedFault, objections_at, quoted
from eirene.text.cancellation import check_cancelled
from eirene.text.unicode import UNSPACED_CLASS

_ASKED_FOR = re.compile(
    r"""\b(?:code|script|snippet|bash|sql|regex|html|css|xml|json|yaml|csv|latex|markdown|python|javascript|c\+\+|java
      |hashtags?|tweet)(?!\w)
    | \b(?:write|create|generate|make|give|show|format|draw|design|compose|build|implement|solve|calculate|compute
      |add|use|produce|convert|simplify|evaluate|construct)\b[^.?!\n]{0,80}
      \b(?:tables?|formulas?|equations?|functions?|programs?|headings?|headlines?|templates?|charts?|outlines?
      |commands?|quer(?:y|ies)|expressions?|integrals?|lists?|links?|letters?|e-?mails?|articles?|bold)\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""A question, or a reason of the critique, that asks for code, tables or the like."""
_EMPHASIS = re.compile(
    r"\*{2,3}[^*\n]{1,3000}\*{2,3}|(?<!\w)__[^_\n]{1,3000}__(?!\w)|(?<![\w*])\*[^\s*][^*\n]{0,3000}\*(?![\w*])"
    r"|~~[^~\n]{1,3000}~~|(?<![\w=])==[^=\n]{1,300}==(?!\w)"
)
_EMPHASISED = 4
"""Most words of an added sentence that may be in bold."""
_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*:/*)?(?:www\.)?", re.IGNORECASE)
_TARGET = re.compile(r"\]\(\s*<?([^\s)>]+)")
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(rf"[\u3000-\u3020\uff01-\uff1f{UNSPACED_CLASS}]+")


def markup(case: EditCase) -> Iterator[Objection]:
    """Objects to links, addresses, HTML, images, code, formulas, templates and emphasis that are new."""
    yield from objections_at(case, _faults(case))


def _faults(case: EditCase) -> Iterator[PlacedFault]:
    spans = [edit.after for _, edit in case.changed() if edit.after]
    if not spans:
        return
    first, last = spans[0][0], max(end for _, end in spans)
    free = _frees(case)
    for kind in KINDS:
        check_cancelled()
        found = [m for m in kind.pattern.finditer(case.after, 0) if first < m.end() and m.start() < last]
        found = [m for m in found if kind.is_it(m[0])]
        if not found or (kind.free and (free or _has(kind, (case.before, *case.drafts)))):
            continue
        known = _known(kind, case.sources)
        for m in found:
            if _key(m[0]) not in known and not _is_a_name(m[0], case):
                yield PlacedFault(m.start(), m.end(), f"{kind.name} that no text before has: {quoted(m[0])}")
    if not free:
        yield from _new_emphasis(case)


def _frees(case: EditCase) -> bool:
    return any(_ASKED_FOR.search(text) for text in (case.question, *(a.reason for a in case.asked)))


def _has(kind: MarkupKind, texts: tuple[str, ...]) -> bool:
    return any(kind.is_it(m[0]) for text in texts for m in kind.pattern.finditer(text))


def _known(kind: MarkupKind, sources: tuple[str, ...]) -> frozenset[str]:
    """What the sources have of a kind; of links in any form."""
    kinds = [k for k in KINDS if k.name == kind.name or ("link" in k.name and "link" in kind.name)]
    return frozenset().union(*(_keys(k, text) for k in kinds for text in sources))


@lru_cache(maxsize=256)
def _keys(kind: MarkupKind, text: str) -> frozenset[str]:
    return frozenset(_key(m[0]) for m in kind.pattern.finditer(text))


def _key(found: str) -> str:
    """The same for two forms of one address; for a Markdown link its target."""
    target = _TARGET.search(found)
    parts = [part for part in _UNSPACED.split((target[1] if target else found).strip("<>")) if part]
    return _SCHEME.sub("", parts[0] if parts else found).rstrip("/.,;:!?)").lower()


def _is_a_name(found: str, case: EditCase) -> bool:
    """Whether it is a word of the sources that is only set as code."""
    name = found.strip("`")
    if len(name) == len(found) or not name.isidentifier():
        return False
    return any(name in _words(text) for text in case.sources)


@lru_cache(maxsize=64)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


def _new_emphasis(case: EditCase) -> Iterator[PlacedFault]:
    """Bold and italics, where the text before has none: in a sentence that was there, or for most of a new one."""
    if any(_EMPHASIS.search(text) for text in (case.before, *case.drafts)):
        return
    added = sorted(edit.after for _, edit in case.changed() if edit.after and not edit.before)
    starts = [start for start, _ in added]
    for m in _EMPHASIS.finditer(case.after):
        check_cancelled()
        at = bisect_right(starts, m.start()) - 1
        inside = added[at] if at >= 0 and m.end() <= added[at][1] else None
        is_short = len(_WORD.findall(m[0])) <= _EMPHASISED
        if inside is None or not is_short or 2 * len(m[0]) > inside[1] - inside[0]:
            why = f"emphasis that the text before has none of: {quoted(m[0])}"
            yield PlacedFault(m.start(), m.start() + 1, why)
            yield PlacedFault(m.end() - 1, m.end(), why)
