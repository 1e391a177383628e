"""Rows of our own beside those of the data: twins made by rule, sentences of premises, arguments in other wordings."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from recipes.encoder.data import TrainingClaim
from recipes.verifier.arguments import argument_rows
from recipes.verifier.data import VerifierRow
from recipes.verifier.edits import own_edits, paired, sentence_rows

MOST: Mapping[str, int] = MappingProxyType(
    {"addition": 900, "denied": 500, "negation_in": 900, "negation_out": 600, "opposite": 1200}
)
"""Twins of a kind of edit, where not `MOST_OF_OTHERS`."""
MOST_OF_OTHERS = 700
_SEED = 0


class OwnRows(NamedTuple):
    """The rows that were given, with the pairs in which they meet their twins, and the rows made beside them."""

    given: list[VerifierRow]
    made: list[VerifierRow]


def own_rows(rows: Sequence[VerifierRow], claims: Sequence[TrainingClaim], *, edits: float, arguments: int) -> OwnRows:
    """Twins for a share `edits` in [0, 1] of the rows and at most `arguments` rows made of the claims, always the same.

    Where nothing is wanted, the rows are as they were.
    """
    order = random.Random(_SEED)
    given, made = list(rows), list[VerifierRow]()
    if edits:
        bases = paired([*rows, *sentence_rows(rows, seed=_SEED)])
        twins = own_edits(bases, seed=_SEED, share=edits)
        order.shuffle(twins)
        twins = _capped(twins)
        meet = {twin.pair for twin in twins}
        given = bases[: len(rows)]
        made = [*twins, *(row for row in bases[len(rows) :] if row.pair in meet)]
    if arguments and claims:
        worded = argument_rows(claims, seed=_SEED)
        order.shuffle(worded)
        made += worded[:arguments]
    return OwnRows(given, made)


def _capped(twins: Sequence[VerifierRow]) -> list[VerifierRow]:
    counts: Counter[str | None] = Counter()
    kept = []
    for twin in twins:
        counts[twin.edit] += 1
        if counts[twin.edit] <= MOST.get(twin.edit or "", MOST_OF_OTHERS):
            kept.append(twin)
    return kept
