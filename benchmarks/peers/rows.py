"""Rows of the peers benchmark and the scripted texts about them: critiques and rewrites, each a function of the row."""

from __future__ import annotations

import hashlib
from typing import Any

import loopback
from loopback import sentences, subject

WARM_FROM = 100_000
"""Rows from this number on are for warming up, and count for nothing."""
BAD_ONE_IN = 5
"""Of so many rows one has a rewrite that is worse than the answer."""
_CRITIQUES = (
    ((2, 0), (4, 0)), ((2, 0), (4, 1)), ((2, 1), (4, 0)), ((2, 2), (4, 2)), ((2, 1),), ((4, 1),),
    ((2, 0), (3, 2), (4, 0)), ((2, 2), (4, 1), (5, 0)), ((3, 1),), (),
)  # fmt: skip
"""Which statements a critique finds incomplete, and in which wording."""
_FREQUENT = (0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 8, 9)
_REASONS = {
    2: ("How long the {s} last is missing.", "Supporters also say that the {s} last for decades, and that is left out.",
        "It does not give the argument that the {s} last for decades."),
    3: ("It gives one reason alone.", "More of the costs should be said.", "Opponents have more to say on noise."),
    4: ("The noise while the {s} are built is missing.", "Opponents also name the noise, and that is left out.",
        "It does not say that the {s} are noisy while they are built."),
    5: ("Which figures were asked for is not said.",),
}  # fmt: skip


def row(n: int) -> dict[str, Any]:
    """Row number `n`, with the `statements` of its answer for those who cannot split it."""
    return {**loopback.row(n), "statements": sentences(n)}


def critique(n: int, index: int) -> dict[int, str]:
    """The critique of row `n` that is drawn as number `index`: reasons by the numbers of incomplete statements."""
    found = _CRITIQUES[_FREQUENT[_draw(0, "critique", n, index) % len(_FREQUENT)]]
    return {at: _REASONS[at][wording % len(_REASONS[at])].format(s=subject(n)) for at, wording in found}


def is_bad(n: int) -> bool:
    """Whether the rewrite of row `n` is one of the bad ones."""
    return n % BAD_ONE_IN == _draw("bad", n // BAD_ONE_IN) % BAD_ONE_IN


def rewrite(n: int) -> str:
    """The rewrite of row `n`: each missing argument in its place; a bad one has an argument less and a claim more."""
    opening, supporters, reply, room, closing = sentences(n)
    s = subject(n)
    if is_bad(n):
        claim = f"Everybody knows that the {s} paid for themselves in 7 years."
        return " ".join([opening, supporters, claim, room, closing])
    lasting = f"Supporters say as well that the {s} last for decades."
    noisy = f"Opponents add that the {s} are noisy while they are built."
    return " ".join([opening, supporters, lasting, reply, room, noisy, closing])


def _draw(*what: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(what).encode()).digest()[:8], "big")
