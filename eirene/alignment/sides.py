"""What tells on which side of a debate a sentence of an answer stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.core import Alignment
from eirene.openings import opening_length

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
