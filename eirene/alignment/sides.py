"""What tells on which side of a debate a sentence of an answer stands.

Which side an answer names in words as speaking: "Opponents argue that", and what goes on from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.align import Alignment
from eirene.text.clauses import opening_length

SURE = 0.5
"""Probability from which a unit counts as saying an argument, where a side is looked for."""

KEEPS = 0.8
"""Weight of staying on a side from one sentence to the next, against 1 minus it."""

_FAVOUR = re.compile(
    r"\b(?:support|advoca|proponent|defend|favou?r|in\s+favou?r|case\s+for|reasons?\s+for|pros?\b|benefit|advantage|upside|one\s+(?:hand|side))",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:oppos|opponent|object|critic|against|con\b|cons\b|disadvantage|downside|drawback|sceptic|skeptic|other\s+(?:hand|side))",
    re.IGNORECASE,
)
_HEADING = re.compile(r"(?:[^\s:.,;!?]+ ){1,6}[^\s:.,;!?]+:\s+(?=\S)")
"""A few words and a colon: "Two things are said against it: ..."."""
_CUE = 0.9
"""Chance that an opening which names a side stands on it."""


def side_evidence(
    alignment: Alignment, sentence: int, groups: Sequence[str], names: Sequence[str]
) -> NDArray[np.float64]:
    """Log weight of each group for one sentence (from 0), [G]: by what it says, and by the side its opening names."""
    odds = np.full(len(names), 0.1)
    place = {name: k for k, name in enumerate(names)}
    rows = [place[group] for group in groups]
    for unit in alignment.atoms[sentence]:
        best = np.full(len(names), -np.inf)
        np.maximum.at(best, rows, alignment.p_says[:, unit])
        odds += best
    weight = np.log(odds / odds.sum()) * 0.5
    cue = cue_of(opening_of(alignment, sentence), names)
    if cue is not None:
        told = np.full(len(names), (1.0 - _CUE) / (len(names) - 1))
        told[cue] = _CUE
        weight = weight + np.log(told)
    return np.asarray(weight, np.float64)


def opening_of(alignment: Alignment, sentence: int) -> str:
    """What a sentence (from 0) says before it claims anything: "Opponents argue that", "On the one hand,"; or ""."""
    text = alignment.sentences[sentence].text
    headed = _HEADING.match(text)
    return text[: opening_length(text)] or (headed.group() if headed else "")


def cue_of(opening: str, names: Sequence[str]) -> int | None:
    """Which group an opening names: by its own name, or by words for a side where the names are such words too."""
    named = [k for k, name in enumerate(names) if re.search(rf"\b{re.escape(name)}\b", opening, re.IGNORECASE)]
    if len(named) == 1:
        return named[0]
    side = (bool(_FAVOUR.search(opening)), bool(_AGAINST.search(opening)))
    if side[0] == side[1]:
        return None
    pattern, other = (_FAVOUR, _AGAINST) if side[0] else (_AGAINST, _FAVOUR)
    fitting = [k for k, name in enumerate(names) if pattern.search(name) and not other.search(name)]
    return fitting[0] if len(fitting) == 1 else None


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
