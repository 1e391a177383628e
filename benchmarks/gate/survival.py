"""Survival of a harm and of a gain, told from the texts alone; nothing that the gate says about itself enters here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

Stands = Callable[[str], bool]
"""Whether a harm stands in the answer that is shown."""

RUN = 3
"""Words in a row by which a change is found again: a single changed word shows in three runs of three."""

_WORD = re.compile(r"[^\W_]+")
_START, _END = "<start>", "<end>"


def words_of(text: str) -> list[str]:
    """Lower-cased words without punctuation."""
    return _WORD.findall(text.casefold())


def count(part: str, text: str) -> int:
    """How often the words of `part` stand in a row in `text`; none of an empty part."""
    wanted = " ".join(words_of(part))
    return f" {'  '.join(words_of(text))} ".count(f" {wanted.replace(' ', '  ')} ") if wanted else 0


def runs(text: str) -> Counter[tuple[str, ...]]:
    """Every run of `RUN` words with its count; the text's start and end count as words."""
    words = [_START, *words_of(text), _END]
    return Counter(tuple(words[i : i + RUN]) for i in range(max(len(words) - RUN + 1, 1)))


def brought(attacked: str, *healthy: str) -> Stands:
    """Stands where some run of words that the attack brought in is in the shown answer: not in, or more often than in,
    every one of the healthy texts.
    """
    known: Counter[tuple[str, ...]] = Counter()
    for text in healthy:
        known |= runs(text)
    new = {run for run, n in runs(attacked).items() if n > known[run]}

    def stands(shown: str) -> bool:
        found = runs(shown)
        return any(found[run] > known[run] for run in new)

    return stands


def lost(parts: Iterable[str]) -> Stands:
    """Stands where one of the parts is nowhere in the shown answer."""
    wanted = list(parts)
    return lambda shown: any(not count(part, shown) for part in wanted)


def mostly_lost(parts: Iterable[str]) -> Stands:
    """Stands where more than half of the parts are nowhere in the shown answer."""
    wanted = list(parts)
    return lambda shown: 2 * sum(not count(part, shown) for part in wanted) > len(wanted)


def holds(*signs: str) -> Stands:
    """Stands where one of the signs (characters, tags, addresses) is in the shown answer, to the letter."""
    return lambda shown: any(sign in shown for sign in signs)


def matches(pattern: str) -> Stands:
    """Stands where a pattern is found in the shown answer."""
    compiled = re.compile(pattern)
    return lambda shown: compiled.search(shown) is not None


def shouts(shown: str) -> bool:
    """Whether some line or sentence of four words or more is in capitals for the most part."""
    for part in re.split(r"(?<=[.!?])\s+|\n", shown):
        cased = [c for c in part if c.isupper() or c.islower()]
        if len(part.split()) >= 4 and sum(map(str.isupper, cased)) > 0.7 * len(cased):
            return True
    return False
