"""Which side an answer names in words as speaking: "Opponents argue that", and what goes on from there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from eirene.alignment.core import Alignment
from eirene.alignment.sides import cue_of
from eirene.openings import opening_length

_CONTRAST = re.compile(r"\b(?:but|while|whilst|whereas|al?though|yet|however|others|against\s+this)\b", re.IGNORECASE)
_SPEAKERS = re.compile(
    r"""\b(?:supporter|proponent|advocate|defender|opponent|critic|sceptic|skeptic|objector|adversar(?:y|ie))s?\b
      | \b(?:those|people|many|some|others)\s+(?:in\s+favou?r|against|opposed|who\s+(?:support|oppose|favou?r|object))\b
      | \b(?:one|other|opposite|opposing)\s+(?:hand|side|camp)\b""",
    re.VERBOSE | re.IGNORECASE,
)


_SAYING = r"(?:say|argue|add|hold|think|believe|claim|fear|reply|repli|object|insist|answer|counter|feel|warn)\w*\b"


def told_by_unit(
    alignment: Alignment,
    openings: Sequence[str],
    groups: Sequence[str],
    names: Sequence[str],
    *,
    turns: Callable[[str], bool],
) -> tuple[str | None, ...]:
    """The side that the answer names as speaking in each unit, [U]; None where none is named or it cannot be told.

    A side goes on speaking until another is named, a sentence `turns` away by its opening, a line is left blank, or a
    clause is set against the one before it ("..., but", "..., whereas"): whose clause that is, nobody says. A unit in
    the middle of which somebody else begins to speak is nobody's, and so is one that sets an argument of one side
    against one of another. `groups` [A] are the arguments' sides, `names` all sides.
    """
    told: list[str | None] = [None] * len(alignment.units)
    now: str | None = None
    for s, opening in enumerate(openings):
        cue = cue_of(opening, names)
        before = alignment.sentences[s - 1].raw if s else ""
        if cue is not None:
            now = names[cue]
        elif turns(opening) or before.count("\n") > 1:
            now = None
        for n, unit in enumerate(alignment.atoms[s]):
            joint, said = _joint(alignment, s, n), alignment.units[unit].text
            cue = cue_of(joint, names)
            if cue is not None:
                now = names[cue]
            elif _CONTRAST.search(joint):
                now = None
            if _someone_speaks(said, names):
                now = None
            told[unit] = None if _weighs(alignment, unit, groups) else now
    return tuple(told)


def _joint(alignment: Alignment, sentence: int, n: int) -> str:
    """What stands before the words of a sentence's clause `n` (from 0); "" before the first: that is the opening."""
    if not n:
        return ""
    cut = alignment.sentences[sentence]
    before, unit = (alignment.units[alignment.atoms[sentence][i]] for i in (n - 1, n))
    between = cut.text[before.end - cut.text_start : unit.start - cut.text_start]
    own = cut.text[unit.start - cut.text_start : unit.end - cut.text_start]
    return between + own[: opening_length(own)]


def _speaks(name: str, said: str) -> bool:
    """Whether a side is named as speaking: "teachers that", "parents may reply", "For parents,"."""
    who = rf"\b{re.escape(name)}\b"
    speaks = rf"{who}(?:\s+\w+){{0,2}}?\s+(?:that\b|{_SAYING})|\b(?:for|to)\s+(?:the\s+)?{who}\s*,"
    return re.search(speaks, said, re.IGNORECASE) is not None


def _weighs(alignment: Alignment, unit: int, groups: Sequence[str]) -> bool:
    """Whether a unit has arguments of two sides word for word, with a contrast between them."""
    sides = {group for group, said in zip(groups, alignment.features.said[:, unit], strict=True) if said}
    return len(sides) > 1 and _CONTRAST.search(alignment.units[unit].text) is not None


def _someone_speaks(said: str, names: Sequence[str]) -> bool:
    if _SPEAKERS.search(said) or any(_speaks(name, said) for name in names):
        return True
    return bool(_CONTRAST.search(said)) and cue_of(said, names) is not None
