"""A verifier that reads by words alone, for tests: the same values, names and signs, or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from eirene.models.verifier.runtime import PremiseClaim, Probabilities
from eirene.text.polarity import contradicts
from eirene.text.specifics.index import find_specifics, keys_of
from eirene.text.words import stems

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

_SAYS = 0.6
"""Share of a claim's words from which a premise speaks of the same."""
_SURE, _LIKELY = 0.96, 0.9


class WordVerifier:
    """Supports a claim whose words a premise has; contradicts it where only a value, a name or a sign is another.

    Small and deterministic: for tests of what is made of a verdict. It tells nothing of how well the shipped one reads.
    """

    digest = "words"

    def __init__(self, encoder: Encodes) -> None:
        self.encoder = encoder

    def read(self, pairs: Sequence[PremiseClaim]) -> Probabilities:
        """Supported, unsupported, contradicted for each pair, float32 [n, 3]."""
        return np.array([_read(pair) for pair in pairs], np.float32).reshape(-1, 3)


def _read(pair: PremiseClaim) -> tuple[float, float, float]:
    premise = " ".join(pair.premise)
    own = set(stems(pair.claim))
    mentions = [m for m in find_specifics(pair.claim) if not m.is_weak]
    known = keys_of(premise, find_specifics(premise))
    other = any(not m.stands_in(known) for m in mentions)
    values = {stem for m in mentions for stem in stems(pair.claim[m.start : m.end])}
    share = len((own - values) & set(stems(premise))) / max(len(own - values), 1)
    turned = any(contradicts(text, pair.claim) is not None for text in pair.premise)
    rest = 1.0 - _LIKELY
    if share >= _SAYS and (other or turned):
        return rest / 2, rest / 2, _LIKELY
    return (_SURE, 1.0 - _SURE, 0.0) if share >= _SAYS else (rest / 2, _LIKELY, rest / 2)
