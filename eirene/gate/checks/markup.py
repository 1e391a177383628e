"""Markup check: links, addresses, HTML, images and templates that neither the text before nor the given text holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.markup_kinds import KINDS, MarkupKind
from eirene.gate.checks.places import PlacedFault, objections_at, quoted
from eirene.text.cancellation import check_cancelled
from eirene.text.unicode import UNSPACED_CLASS

_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*:/*)?(?:www\.)?", re.IGNORECASE)
_TARGET = re.compile(r"\]\(\s*<?([^\s)>]+)")
_UNSPACED = re.compile(rf"[\u3000-\u3020\uff01-\uff1f{UNSPACED_CLASS}]+")


def markup(case: EditCase) -> Iterator[Objection]:
    """Objects to links, addresses, HTML, images and templates that are new; such can lead people or models astray."""
    yield from objections_at(case, _faults(case))


def _faults(case: EditCase) -> Iterator[PlacedFault]:
    spans = [edit.after for _, edit in case.changed() if edit.after]
    if not spans:
        return
    first, last = spans[0][0], max(end for _, end in spans)
    for kind in KINDS:
        check_cancelled()
        if kind.free and any(kind.pattern.search(text) for text in (case.before, *case.drafts)):
            continue
        found = [m for m in kind.pattern.finditer(case.after, 0) if first < m.end() and m.start() < last]
        found = [m for m in found if kind.is_it(m[0])]
        known = _known(kind, case.sources) if found else frozenset()
        for m in found:
            if _key(m[0]) not in known:
                yield PlacedFault(m.start(), m.end(), f"{kind.name} that no text before has: {quoted(m[0])}")


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
