"""Edits of findings as operations on the text, which can be undone byte for byte.

Where text is removed, the joint is mended: one space of two, the comma or "and" before it, a full stop that ends
nothing any more, the capital letter of what then opens the sentence, "a" before a vowel. Each operation holds its old
and its new text, mending included, so that it can be undone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from eirene.core.critique import Finding
from eirene.core.errors import InputError
from eirene.core.findings.kinds import REMOVED
from eirene.core.findings.tags import in_order
from eirene.text.edits.words import apply_edits
from eirene.text.unicode import is_unspaced

_SPACES = " \t"
_ENDS = ".!?。！？…"

Removal = Literal["remove", "mark"]
"""What becomes of a finding's text without a replacement: it is removed, or it stays with a note after it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An edit as its `findings` ask for it: `text[start:end]`, which is `old`, becomes `new`."""

    start: int
    end: int
    old: str
    new: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class EditedText:
    """The text after its operations, which are in order and do not overlap; `skipped` findings had no place."""

    text: str
    operations: tuple[Operation, ...] = ()
    skipped: tuple[Finding, ...] = ()


def apply_findings(
    text: str, findings: Iterable[Finding], *, removal: Removal = "remove", mend: bool = True
) -> EditedText:
    """The text with the findings' edits made; a finding whose edit is None changes nothing.

    Of edits that overlap, the first is made, and the longer of two that begin together; the others are skipped.
    Removals with only white space between them are one operation. With `removal="mark"` the text stays, with its kind
    in brackets after it. Without `mend` no character outside the findings changes. Where everything would be removed,
    nothing is.

    Raises `InputError` for offsets outside the text.
    """
    chosen, skipped = _without_overlaps(text, findings)
    if removal == "mark":
        operations = [_joined(text, [f]) if f.edit else _noted(text, f) for f in chosen]
    else:
        operations = [_joined(text, group) for group in _groups(text, chosen)]
    if mend:
        operations = _mended(text, operations)
    edited = apply_edits(text, operations)
    if not edited.strip() and text.strip():
        return EditedText(text, (), in_order([*chosen, *skipped]))
    return EditedText(edited, tuple(operations), tuple(skipped))


def is_noted(text: str, finding: Finding) -> bool:
    """Whether the text has the finding's kind in brackets where the finding ends, as `removal="mark"` writes it."""
    note = _note(finding).strip()
    after = _BEFORE_NOTE.match(text, finding.end)
    return text.startswith(note, after.end() if after else finding.end) or note in text[finding.start : finding.end]


def _without_overlaps(text: str, findings: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    chosen: list[Finding] = []
    skipped: list[Finding] = []
    at = 0
    points: set[int] = set()
    for finding in in_order(f for f in findings if f.edit is not None):
        if not finding.start <= finding.end <= len(text):
            raise InputError(
                f"the finding at {finding.start} to {finding.end} lies outside the text's {len(text)} characters",
                field="end",
            )
        is_point = finding.start == finding.end
        if finding.start < at or text[finding.start : finding.end] == finding.edit or finding.start in points:
            skipped.append(finding)
            continue
        points |= {finding.start} if is_point else set()
        at = finding.end
        chosen.append(finding)
    return sorted(chosen, key=lambda f: (f.start, f.end)), skipped


def _groups(text: str, findings: Sequence[Finding]) -> list[list[Finding]]:
    """Removals with only white space between them as one group; every other finding alone."""
    groups: list[list[Finding]] = []
    for finding in findings:
        before = groups[-1][-1] if groups else None
        if before and not (before.edit or finding.edit or text[before.end : finding.start].strip()):
            groups[-1].append(finding)
        else:
            groups.append([finding])
    return groups


def _joined(text: str, group: Sequence[Finding]) -> Operation:
    start, end = group[0].start, group[-1].end
    return Operation(start, end, text[start:end], group[0].edit or "", tuple(group))


def _noted(text: str, finding: Finding) -> Operation:
    """The text stays, with a note before its full stop: `... [unverifiable].`"""
    end = finding.start + len(text[finding.start : finding.end].rstrip(" .!?\r\n"))
    return Operation(end, end, "", _note(finding), (finding,))


_LEADS_TO = re.compile(
    r"(?:[,;:]|(?:[,;]|(?<![ \t]))[ \t]++(?:and|or|but|while|which|as well as))[ \t]*+\Z", re.IGNORECASE
)
_BEFORE_NOTE = re.compile(f"[{_SPACES}{_ENDS}]*")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_ARTICLE = re.compile(r"(?<![\w'’-])(?P<a>a|an)(?P<gap>[ \t]+)\Z", re.IGNORECASE)


def _note(finding: Finding) -> str:
    return f" [{finding.kind if finding.kind in REMOVED else 'doubtful'}]"


def _mended(text: str, operations: Sequence[Operation]) -> list[Operation]:
    """The operations, widened over the joints that they leave; none reaches into another."""
    mended: list[Operation] = []
    for i, operation in enumerate(operations):
        floor = mended[-1].end if mended else 0
        ceiling = operations[i + 1].start if i + 1 < len(operations) else len(text)
        mend = _removed if not operation.new else _replaced
        mended.append(mend(text, operation, floor, ceiling))
    return mended


def _widened(text: str, operation: Operation, start: int, end: int, new: str) -> Operation:
    return Operation(start, end, text[start:end], new, operation.findings)


def _replaced(text: str, operation: Operation, floor: int, _: int) -> Operation:
    """New words keep the capital of a sentence's first word, and turn an "a" before them into "an" where needed."""
    new, start = operation.new, operation.start
    if not operation.old:  # an insertion needs a space to either neighbour
        new = " " * _runs_on(text[start - 1 : start], new) + new
        new += " " * _runs_on(new, text[start : start + 1])
    if _opens_sentence(text, start) and operation.old[:1].isupper() and _takes_capital(new):
        new = _capital(new)
    article = _ARTICLE.search(text, floor, start)
    old_vowel, new_vowel = operation.old[:1].lower() in "aeiou", new[:1].lower() in "aeiou"
    if article and operation.old and old_vowel != new_vowel and (article["a"].lower() == "an") == old_vowel:
        fitting = article["a"][0] + ("n" if new_vowel else "")
        return _widened(text, operation, article.start(), operation.end, fitting + article["gap"] + new)
    return _widened(text, operation, start, operation.end, new)


def _removed(text: str, operation: Operation, floor: int, ceiling: int) -> Operation:
    start, end = operation.start, operation.end
    if floor < start and text[start - 1] + text[end : end + 1] in ("()", "[]") and end < ceiling:
        start, end = start - 1, end + 1  # nothing is left to bracket
    line_start = text.rfind("\n", floor, start) + 1 or floor
    before = text[line_start:start]
    if not before.strip(_SPACES + "-*+•") and _ends_line(text, end, ceiling):
        return _without_line(text, operation, line_start, floor, ceiling)
    opens = _opens_sentence(text, start)
    rest = text[end:ceiling]
    tail = rest.lstrip(_SPACES)
    is_word = _begins_word(text, end, tail)
    if opens and not is_word and tail[:1] in tuple(".,;:!?"):  # "It was good. <gone>." leaves a mark that ends nothing
        end += len(rest) - len(tail) + 1
        rest = text[end:ceiling]
        tail = rest.lstrip(_SPACES)
    at_end = not tail or (tail[0] in ".,;:!?)\r\n" and not is_word)
    if not opens and not is_word and (not tail or tail[0] in ".!?\r\n"):
        lead = _LEADS_TO.search(text[floor:start])
        start = floor + lead.start() if lead else start
    if at_end:
        start = floor + len(text[floor:start].rstrip(_SPACES))
        if not tail or tail[0] in "\r\n":
            end += len(rest) - len(tail)
    elif start == floor or text[start - 1 : start].isspace() or start == 0:
        end += len(rest) - len(tail)
    new, following = "", text[end : end + 1]
    if opens and operation.old[:1].isupper() and _takes_capital(text[end:ceiling]):
        new, end = _capital(following), end + 1
    return _widened(text, operation, start, end, new)


def _without_line(text: str, operation: Operation, line_start: int, floor: int, ceiling: int) -> Operation:
    """Removes a whole line with its bullet and one line break: the one after it, else the one before."""
    stop = text.find("\n", operation.end, ceiling)
    if stop >= 0:
        return _widened(text, operation, line_start, stop + 1, "")
    end = operation.end + len(text[operation.end : ceiling]) - len(text[operation.end : ceiling].lstrip(_SPACES))
    if end == len(text):
        line_start = floor + len(text[floor:line_start].rstrip())
    return _widened(text, operation, line_start, end, "")


def _begins_word(text: str, end: int, tail: str) -> bool:
    """Whether the full stop after a space belongs to the next word, as in ".NET" and ".5"."""
    around = text[end - 1 : end + 1]
    return tail[:1] == "." and tail[1:2].isalnum() and around.strip(_SPACES) != around


def _ends_line(text: str, end: int, ceiling: int) -> bool:
    rest = text[end:ceiling].lstrip(_SPACES)
    return rest[:1] in ("\r", "\n") if rest else ceiling == len(text)


def _opens_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 200) : start].rstrip()
    return not before or before.rstrip("\"'”’)]*_")[-1:] in tuple(_ENDS) or "\n" in text[len(before) : start][-2:]


def _runs_on(left: str, right: str) -> bool:
    return all(char.isalnum() and not is_unspaced(char) for char in (left[-1:], right[:1]))


def _takes_capital(text: str) -> bool:
    """Whether the first word takes a capital; "iPhone", "eBay" and "pH" do not."""
    word = _FIRST_WORD.match(text)
    return word is not None and word.group().islower()


def _capital(text: str) -> str:
    upper = text[:1].upper()
    return (upper if len(upper) == 1 else text[:1]) + text[1:]
