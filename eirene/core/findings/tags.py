"""Tags of FAVA, read and written: `<kind>...</kind>` around a fault, `<mark>new</mark><delete>old</delete>` in it.

Tags are words of a closed list; anything else in angle brackets is text. A literal tag is escaped: `&lt;` for its
bracket, and `&lt;` itself with one more `amp;`. Reading never fails: a tag without its other half is dropped and
counted, its content stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from eirene.core.critique import HALLUCINATIONS, Finding, HallucinationKind
from eirene.core.errors import InputError
from eirene.core.findings.kinds import REMOVED, REPLACED, finding_of

_ALIASES = {"sentence": "contradictory", "contradiction": "contradictory"}
"""Other names of a kind: the paper's tables say Sentence, its prompts contradictory."""
_CHANGES = ("mark", "delete")
_KIND_NAMES = "|".join((*HALLUCINATIONS, *_ALIASES))
_TAG = re.compile(rf"<(?P<close>/?)[ \t]*(?P<name>{_KIND_NAMES}|mark|delete)[ \t]*>", re.IGNORECASE)
_ESCAPE = re.compile(r"&(?P<more>(?:amp;)*)lt;")

# A run of white space is tried from its beginning alone, or long ones would take time by the square.
_AROUND_CHANGE = re.compile(
    r"(?<!\s)(?:(?<=<mark>)\s++|(?<=<delete>)\s++|\s++(?=</(?:mark|delete)>)"
    rf"|(?<=</mark>)\s++(?=<delete>|</(?:{_KIND_NAMES})>)|(?<=</delete>)\s++(?=<mark>|</(?:{_KIND_NAMES})>))",
    re.IGNORECASE,
)
_OPENS_WIDE = re.compile(rf"((?:(?<!\s)\s++)?)(<(?:{_KIND_NAMES})>)\s++", re.IGNORECASE)
_CLOSES_WIDE = re.compile(rf"(?<!\s)\s++(</(?:{_KIND_NAMES})>)(?=(\s|[.,;:!?]|\Z)?)", re.IGNORECASE)

DEEPEST = 64
"""How deep elements may nest. A deeper tag is dropped with its other half, and counted as stray."""


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text without its tags, and the findings of those. `stray`: tags without their other half or out of place.

    Findings are ordered by start, longest first; they may nest, and never cross. Tags have no reasons, so theirs are
    those of `reason_for`.
    """

    text: str
    findings: tuple[Finding, ...] = ()
    stray: int = 0


def parse_tagged(tagged: str, *, tidy: bool = False) -> TaggedText:
    """The original text, and a finding for each pair of kind tags, with offsets into it.

    Text in `<delete>` or in no inner tag is the original's; text in `<mark>` is new, and becomes the finding's `edit`.
    Without a mark, `edit` is "" where something is deleted or the kind is one that is removed, and None for an entity
    or relation that is only marked. `tidy` drops white space at the inner edges of tags and between them, as people
    leave it in `<entity> <delete> old</delete> <mark>new </mark></entity>`.

    Any text can be read, in linear time. `parse_tagged(write_tagged(t, f))` gives back `t` and `f`.
    """
    reader, at = _TagReader(), 0
    if tidy:
        tagged = _tidied(tagged)
    for token in _TAG.finditer(tagged):
        reader.text(_unescaped(tagged[at : token.start()]))
        name = token["name"].lower()
        name = _ALIASES.get(name, name)
        if token["close"]:
            reader.closed(name)
        else:
            reader.opened(name)
        at = token.end()
    reader.text(_unescaped(tagged[at:]))
    return reader.result()


def write_tagged(text: str, findings: Iterable[Finding]) -> str:
    """The text with its findings as tags: `<delete>old</delete><mark>new</mark>` for changes, else the kind alone.

    Raises `InputError` for a finding that tags cannot express: another kind than the six, offsets outside the text,
    crossing or too deeply nested findings, an insertion of nothing, or a kind that is removed without an `edit`.
    """
    pieces: list[list[str]] = [[]]  # of the text, then of each open finding
    opened: list[Finding] = []
    at = 0

    def close() -> None:
        nonlocal at
        finding = opened.pop()
        old = "".join([*pieces.pop(), escape_tags(text[at : finding.end])])
        at = finding.end
        pieces[-1].append(_element(finding, old))

    for finding in in_order(findings):
        _check(text, finding)
        while opened and finding.end > opened[-1].end:
            close()
        if finding.start < at:
            raise InputError(f"the finding at {finding.start} to {finding.end} crosses one before it; tags only nest")
        pieces[-1].append(escape_tags(text[at : finding.start]))
        at = finding.start
        if len(opened) + 2 > DEEPEST:  # with the change in the innermost
            raise InputError(f"the finding at {finding.start} lies in {len(opened)} others; tags nest {DEEPEST} deep")
        opened.append(finding)
        pieces.append([])
    while opened:
        close()
    return "".join(pieces[0]) + escape_tags(text[at:])


def escape_tags(text: str) -> str:
    """The text escaped, so that `parse_tagged` reads no tag in it."""
    more = _ESCAPE.sub(lambda found: f"&amp;{found['more']}lt;", text)
    return _TAG.sub(lambda found: "&lt;" + found.group()[1:], more)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings by start, the longer first, without duplicates."""
    return tuple(dict.fromkeys(sorted(findings, key=lambda f: (f.start, -f.end))))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: f"&{found['more'][4:]}lt;" if found["more"] else "<", text)


def _tidied(tagged: str) -> str:
    """Moves white space out of the edges of kind tags, unless some is there already; drops it around changes."""
    text = _OPENS_WIDE.sub(lambda found: (found[1] or (" " if found.start() else "")) + found[2], tagged)
    text = _AROUND_CHANGE.sub("", text)
    return _CLOSES_WIDE.sub(lambda found: found[1] + ("" if found[2] is not None else " "), text)


def _check(text: str, finding: Finding) -> None:
    where = f"the finding {finding.kind} at {finding.start} to {finding.end}"
    if finding.kind not in HALLUCINATIONS:
        raise InputError(f"{where} has no tag; tags exist for {', '.join(HALLUCINATIONS)}", field="kind")
    if not finding.start <= finding.end <= len(text):
        raise InputError(f"{where} lies outside the text's {len(text)} characters", field="end")
    if finding.start == finding.end and not finding.edit:
        raise InputError(f"{where} neither holds nor inserts any text", field="edit")
    if finding.kind in REMOVED and finding.edit is None:
        raise InputError(f"{where} needs an edit: '' to remove the text, or what to put in its place", field="edit")


def _element(finding: Finding, old: str) -> str:
    edit = finding.edit
    if edit is None or (edit == "" and finding.kind in REMOVED):
        inner = old
    else:
        inner = (f"<delete>{old}</delete>" if old else "") + (f"<mark>{escape_tags(edit)}</mark>" if edit else "")
    return f"<{finding.kind}>{inner}</{finding.kind}>"


@dataclass(slots=True)
class _OpenElement:
    """An element that is not closed yet.

    `first` is its first piece of the text. `after` is its text after the edit: marks, and text in no inner tag.
    `ignored` counts dropped tags inside it, whose other halves are dropped with them.
    """

    name: str
    start: int
    first: int
    order: int
    deleted: bool = False
    after: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)


class _TagReader:
    def __init__(self) -> None:
        self._text: list[str] = []
        self._length = 0
        self._open: list[_OpenElement] = []
        self._found: list[tuple[int, int, int, str, str | None]] = []
        self._stray = 0
        self._opened = 0

    def text(self, text: str) -> None:
        """Text between two tags: new in a mark, else the original's."""
        inner = self._open[-1] if self._open else None
        if inner is None or inner.name != "mark":
            self._text.append(text)
            self._length += len(text)
        if inner is not None and inner.name != "delete":
            inner.after.append(text)

    def opened(self, name: str) -> None:
        """An opening tag. A change needs a kind around it; in new text nothing nests."""
        inner = self._open[-1] if self._open else None
        if inner is not None and inner.name in _CHANGES and name in _CHANGES and inner.name != name:
            self._stray += 1  # `<mark>new<delete>old</delete>`: the closing tag was left out
            self._finish(self._open.pop())
            inner = self._open[-1] if self._open else None
        if inner is not None and (inner.name == "mark" or len(self._open) == DEEPEST):
            inner.ignored[name] += 1
            self._stray += 1
            return
        if name in _CHANGES and (inner is None or inner.name == "delete"):
            self._stray += 1
            if name == "delete" or inner is not None:
                return
            # A mark outside any kind: its text is not the original's, so it is read and dropped.
        self._open.append(_OpenElement(name, self._length, len(self._text), self._opened))
        self._opened += 1

    def closed(self, name: str) -> None:
        """A closing tag: ends the innermost element of its name, and whatever is open inside it."""
        inner = self._open[-1] if self._open else None
        if inner is not None and inner.ignored[name]:
            inner.ignored[name] -= 1
            return
        if all(element.name != name for element in self._open):
            self._stray += 1
            return
        while self._open[-1].name != name:
            self._abandon(self._open.pop())
        self._finish(self._open.pop())

    def result(self) -> TaggedText:
        while self._open:
            self._abandon(self._open.pop())
        text = "".join(self._text)
        found = [
            finding_of(cast(HallucinationKind, kind), start, end, text=text, edit=edit)
            for _, start, end, kind, edit in sorted(self._found, key=lambda f: f[0])
            if start < end or edit
        ]
        return TaggedText(text, in_order(found), self._stray)

    def _abandon(self, element: _OpenElement) -> None:
        """An element without an end. A change ends with its kind; the contents of a kind go to the outer element."""
        self._stray += 1
        outer = self._open[-1] if self._open else None
        if element.name in _CHANGES and outer is not None:
            self._finish(element)
        elif element.name == "mark":  # it runs to the end of the text, so it may be the answer's own
            self.text("".join(element.after))
        elif outer is not None and outer.name not in _CHANGES:
            outer.after += element.after
            outer.marks += element.marks
            outer.deleted |= element.deleted

    def _finish(self, element: _OpenElement) -> None:
        outer = self._open[-1] if self._open else None
        new_text = "".join(element.after)
        if element.name not in _CHANGES:
            self._found.append((element.order, element.start, self._length, element.name, _edit_of(element)))
            new_text = "".join(self._text[element.first :]) if outer is not None else ""
        if outer is None:
            return
        if element.name == "delete":
            outer.deleted = True
        elif outer.name != "delete":
            outer.after.append(new_text)
            outer.marks += [new_text] if element.name == "mark" else []


def _edit_of(element: _OpenElement) -> str | None:
    if element.marks and not element.deleted:
        return "".join(element.marks)  # it replaces what is beside it
    if element.deleted:
        return "".join(element.after)
    return None if element.name in REPLACED else ""
