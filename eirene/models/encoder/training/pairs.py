"""A quick figure for a trained encoder: does it know rewordings of one argument from other arguments?

How an argument may look inside an answer: attributed, connected, or cut to a clause.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from eirene.core.errors import InputError
from eirene.models.encoder.runtime import Encodes


@dataclass(frozen=True)
class ArgumentPair:
    """Two texts on the same claim and side, and whether people judged them the same argument."""

    argument: str
    other: str
    equivalent: bool


def read_pairs(file: Path) -> list[ArgumentPair]:
    """The rows of an `equivalence_*.jsonl` file. Raises `InputError` naming the line."""
    pairs = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            pairs.append(ArgumentPair(str(row["argument"]), str(row["other"]), bool(row["equivalent"])))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"not a pair: {error!r}", where=f"{file}:{number}") from error
    return pairs


def pair_auc(encoder: Encodes, pairs: Sequence[ArgumentPair]) -> float:
    """The chance that an equivalent pair has a higher cosine than another pair; ties count one half.

    Raises `InputError` where one of the two kinds is missing.
    """
    cosines = (encoder.encode([p.argument for p in pairs]) * encoder.encode([p.other for p in pairs])).sum(1)
    same = np.array([p.equivalent for p in pairs], bool)
    if same.all() or not same.any():
        raise InputError("pairs must be of both kinds, equivalent and not")
    wins = cosines[same][:, None] - cosines[~same][None, :]
    return float((wins > 0).mean() + (wins == 0).mean() / 2)


OPENINGS = {
    "pro": (
        "Supporters argue that {}",
        "Supporters add that {}",
        "Proponents say that {}",
        "Advocates point out that {}",
        "Those in favour believe that {}",
        "One argument in favour is that {}",
        "A reason given for it is that {}",
        "On the one hand, {}",
        "The case for it rests on the view that {}",
    ),
    "con": (
        "Opponents argue that {}",
        "Critics reply that {}",
        "Critics add that {}",
        "Those against it say that {}",
        "Sceptics object that {}",
        "One argument against is that {}",
        "A further objection is that {}",
        "On the other hand, {}",
        "The case against it rests on the view that {}",
    ),
    "both": (
        "They also say that {}",
        "It is also argued that {}",
        "Some people hold that {}",
        "It is claimed that {}",
        "Moreover, {}",
        "Besides, {}",
        "In addition, {}",
        "Furthermore, {}",
        "and {}",
        "and that {}",
        "also, {}",
        "they add that {}",
        "as well as that {}",
        "Another point is that {}",
        "According to this view, {}",
        "They maintain that {}",
    ),
}

_BREAK = re.compile(
    r"[,;:]\s+(?:and |but |or |so |while |which )?|(?<!\s)\s++(?=(?:and|but|because|while|since|so|which|if|when)\s)",
    re.I,
)
_MIN_PIECE_WORDS = 4


def dress(text: str, side: Literal["pro", "con"], *, dressed: float, cut: float, rng: np.random.Generator) -> str:
    """The text as it may stand in an answer: with probability `cut` a clause of it, with `dressed` an opening."""
    body = text.strip().rstrip(".! ")
    if rng.random() < cut:
        pieces = [piece for piece in _BREAK.split(body) if len(piece.split()) >= _MIN_PIECE_WORDS]
        if pieces:
            body = pieces[int(rng.integers(len(pieces)))].strip()
    if rng.random() < dressed:
        choices = OPENINGS[side] + OPENINGS["both"]
        body = choices[int(rng.integers(len(choices)))].format(body)
    return body + "." if rng.random() < 0.5 else body
