"""Markup check: links, addresses, HTML, images and templates that neither the text before nor the given text holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import PlacedFault, objections_at, quoted
from eirene.text.cancellation import check_cancelled
from eirene.text.unicode import UNSPACED_CLASS

# Endings of names of hosts; beside these every ending of two letters counts, unless it is one of a file.
_ENDINGS = (
    "com|org|net|edu|gov|mil|info|biz|name|app|dev|xyz|online|site|shop|store|club|top|blog|cloud|tech|live|link|page"
    "|website|space|world|news|media|email|agency|support|click|int|museum|pro|mobi|wiki|chat|art|bank|money|vip|icu"
)
_FILES = "py|sh|rs|md|js|ts|pl|cs|so|cc|ps|gz|db|go|rb|hs|ml|vb|rc|no|is|it|in|to|my|be|me|am|as|at|by|do|us|id"
_BEGIN = r"(?<![A-Za-z0-9_])"  # a letter of a script without spaces may stand before it
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_HOST = rf"(?:{_LABEL}\.){{1,6}}(?:{_ENDINGS}|(?-i:(?!(?:{_FILES})\b)[a-z]{{2}}))\b"


@dataclass(frozen=True, slots=True)
class _MarkupKind:
    """A kind of markup. `is_it` tells what the pattern finds from what only looks like it.

    `free`: new ones are fine where the text before has any.
    """

    name: str
    pattern: re.Pattern[str]
    is_it: Callable[[str], bool] = lambda found: True
    free: bool = False


def _is_phone(found: str) -> bool:
    digits = sum(map(str.isdigit, found))
    groups = re.findall(r"\d+", found)
    if digits < 7 or re.fullmatch(r"\d{4}-\d\d?-\d\d?|\d\d?[-.]\d\d?[-.]\d{4}|\d{4}\s?[-–]\s?\d{4}", found):
        return False
    if found[0] in "+(0":
        return True
    return len(groups) > 2 and not (" " in found and all(len(g) == 3 for g in groups[1:]))


def _is_blob(found: str) -> bool:
    return bool(re.search(r"\d", found) and re.search(r"[A-Z]", found) and re.search(r"[a-z]", found)) or (
        found.startswith("0x") or re.fullmatch(r"[0-9a-fA-F]{26,}", found) is not None
    )


def _is_element(found: str) -> bool:
    """Whether it is an element and no comparison, such as "a <b and c> d"."""
    inside = found[1:-1].strip("/ ")
    return " " not in inside or "=" in inside or inside.startswith(("!", "?"))


_KINDS = (
    _MarkupKind("a link", re.compile(rf"{_BEGIN}[a-z][a-z0-9+.-]{{1,20}}:/?/[^\s<>\"'”)\]]+", re.IGNORECASE)),
    _MarkupKind(
        "a link",
        re.compile(
            rf"{_BEGIN}(?:https?|ftp|javascript|vbscript|mailto|tel|sms|magnet|callto|skype|whatsapp):[^\s<>\"]+",
            re.IGNORECASE,
        ),
    ),
    _MarkupKind(
        "a link", re.compile(rf"{_BEGIN}data:[a-z]{{1,20}}/[^\s<>\"]+|{_BEGIN}data:[;,][^\s<>\"]+", re.IGNORECASE)
    ),
    _MarkupKind("an e-mail address", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,6}[^\W\d_]{2,24}\b")),
    _MarkupKind("a link", re.compile(rf"(?<![\w.@/-])(?:www\.[^\s<>\"]+|{_HOST}(?:[/:?#][^\s<>\"]*)?)", re.IGNORECASE)),
    _MarkupKind(
        "a link", re.compile(r"(?<![\w.@/-])(?:[A-Za-z0-9-]{1,63}\.){1,6}[a-z]{1,24}/[A-Za-z0-9_~?#%-][^\s<>\"]*")
    ),
    _MarkupKind(
        "a disguised address",
        re.compile(
            rf"\bh(?:xx|\*\*|tt?x)ps?\b\S*|[\[({{]\s?(?:dot|at|punkt|point|\.|@)\s?[\])}}]"
            rf"|\b\w{{2,63}} dot (?:{_ENDINGS}|[a-z]{{2}})\b|\[\.\]",
            re.IGNORECASE,
        ),
    ),
    _MarkupKind(
        "a telephone number",
        re.compile(r"(?<![\w.,/$€£-])\+?\(?\d[\d().\u2010-\u2015 /-]{5,22}\d(?![\w,%])"),
        _is_phone,
    ),
    _MarkupKind("a telephone number", re.compile(r"\b1?-?8\d\d-(?=[\w-]*[A-Z])[\w-]{4,15}")),
    _MarkupKind("an account", re.compile(r"(?<![\w@./])@[^\W\d]\w{2,30}(?!\w)"), free=True),
    _MarkupKind("an image", re.compile(r"!\[[^\]\n]{0,300}\](?:\([^)\n]{0,2000}\)?|\[[^\]\n]{0,100}\])")),
    _MarkupKind(
        "a Markdown link", re.compile(r"\[(?![\d, ]{1,9}\])[^\]\n]{1,300}\](?:\([^)\n]{1,2000}\)|\[[^\]\n]{1,100}\])")
    ),
    _MarkupKind("a link's definition", re.compile(r"^[ \t]*\[[^\]\n]{1,100}\]:[ \t]*\S+", re.MULTILINE)),
    _MarkupKind("an HTML comment", re.compile(r"<!--|-->")),
    _MarkupKind(
        "an HTML element",
        re.compile(r"</?[a-z!?][\w:.-]{0,40}(?:\s[^<>]{0,2000})?/?>", re.IGNORECASE),
        _is_element,
    ),
    _MarkupKind(
        "an HTML element",
        re.compile(r"<(?:script|iframe|img|a|svg|form|style|link|meta)\b[^<>]{0,2000}", re.IGNORECASE),
    ),
    _MarkupKind(
        "an HTML entity", re.compile(r"&(?:[a-z]{2,10}\d{0,2}|#\d{1,7}|#x[0-9a-f]{1,6});", re.IGNORECASE), free=True
    ),
    _MarkupKind("a mark of a chat template", re.compile(r"<[|｜][^|｜<>\n]{1,60}[|｜]>|\[/?(?:INST|SYS)\]|<</?SYS>>")),
    _MarkupKind(
        "a placeholder",
        re.compile(r"\{\{[^{}\n]{0,300}\}\}|\{%[^%\n]{0,300}%\}|<%[^%\n]{0,300}%>|\$\{[^{}\n]{0,300}\}"),
    ),
    _MarkupKind(
        "a placeholder", re.compile(r"\[\[[^\[\]\n]{1,200}\]\]|<<[^<>\n]{1,200}>>|(?<!\w)__[A-Z][A-Z_]{1,40}__(?!\w)")
    ),
    _MarkupKind(
        "a placeholder",
        re.compile(
            r"\[/?[A-Z][A-Z _/-]{2,60}\]|\{[A-Za-z_]\w{0,40}\}"
            r"|<(?![^<>]* (?:and|or|but) )[a-z]{1,30}(?:[ _-][a-z]{1,30}){1,5}>"
        ),
    ),
    _MarkupKind(
        "BBCode",
        re.compile(r"\[/?(?:b|i|u|s|url|img|code|quote|color|size|spoiler|list)(?:=[^\]\n]{0,500})?\]", re.IGNORECASE),
    ),
    _MarkupKind(
        "a coded text", re.compile(r"(?<![\w/+-])(?:0x[0-9a-fA-F]{12,}+|[A-Za-z0-9+/_-]{26,}+={0,2})"), _is_blob
    ),
)

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
    for kind in _KINDS:
        check_cancelled()
        if kind.free and any(kind.pattern.search(text) for text in (case.before, *case.drafts)):
            continue
        found = [m for m in kind.pattern.finditer(case.after, 0) if first < m.end() and m.start() < last]
        found = [m for m in found if kind.is_it(m[0])]
        known = _known(kind, case.sources) if found else frozenset()
        for m in found:
            if _key(m[0]) not in known:
                yield PlacedFault(m.start(), m.end(), f"{kind.name} that no text before has: {quoted(m[0])}")


def _known(kind: _MarkupKind, sources: tuple[str, ...]) -> frozenset[str]:
    """What the sources have of a kind; of links in any form."""
    kinds = [k for k in _KINDS if k.name == kind.name or ("link" in k.name and "link" in kind.name)]
    return frozenset().union(*(_keys(k, text) for k in kinds for text in sources))


@lru_cache(maxsize=256)
def _keys(kind: _MarkupKind, text: str) -> frozenset[str]:
    return frozenset(_key(m[0]) for m in kind.pattern.finditer(text))


def _key(found: str) -> str:
    """The same for two forms of one address; for a Markdown link its target."""
    target = _TARGET.search(found)
    parts = [part for part in _UNSPACED.split((target[1] if target else found).strip("<>")) if part]
    return _SCHEME.sub("", parts[0] if parts else found).rstrip("/.,;:!?)").lower()
