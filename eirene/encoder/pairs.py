"""A quick figure for a trained encoder: does it know rewordings of one argument from other arguments?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eirene.encoder.runtime import Encodes
from eirene.errors import InputError


@dataclass(frozen=True)
class Pair:
    """Two texts on the same claim and side, and whether people judged them the same argument."""

    argument: str
    other: str
    equivalent: bool


def read_pairs(file: Path) -> list[Pair]:
    """The rows of an `equivalence_*.jsonl` file. Raises `InputError` naming the line."""
    pairs = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            pairs.append(Pair(str(row["argument"]), str(row["other"]), bool(row["equivalent"])))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"not a pair: {error!r}", where=f"{file}:{number}") from error
    return pairs


def pair_auc(encoder: Encodes, pairs: Sequence[Pair]) -> float:
    """The chance that an equivalent pair has a higher cosine than another pair; ties count one half.

    Raises `InputError` where one of the two kinds is missing.
    """
    cosines = (encoder.encode([p.argument for p in pairs]) * encoder.encode([p.other for p in pairs])).sum(1)
    same = np.array([p.equivalent for p in pairs], bool)
    if same.all() or not same.any():
        raise InputError("pairs must be of both kinds, equivalent and not")
    wins = cosines[same][:, None] - cosines[~same][None, :]
    return float((wins > 0).mean() + (wins == 0).mean() / 2)
