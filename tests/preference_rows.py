"""Eight preference pairs that a tiny Llama can learn, as a file and as tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from eirene.data.json_rows import Row
from eirene.models.local.checkpoint import load_tokenizer
from eirene.refiners.training.examples import EncodedPair, RefinerRecipe, encode_pair, pair_prompt
from eirene.refiners.training.pairs import parse_pair

ROWS: list[dict[str, Any]] = [
    {
        "question": f"is it {n}?",
        "preferred_response": f"it is {n}, with reasons",
        "rejected_response": f"not enough {n}",
    }
    for n in range(8)
]


def write(file: Path, rows: Iterable[dict[str, Any]] = ROWS) -> Path:
    """A JSON Lines file."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def encoded(base: Path, rows: Iterable[dict[str, Any]] = ROWS) -> list[EncodedPair]:
    """The rows as `train_refiner` encodes them for a base model."""
    tokenizer = load_tokenizer(str(base))
    pairs = [parse_pair(Row(str(n), row)) for n, row in enumerate(rows)]
    asking = pair_prompt(pairs, RefinerRecipe(), tokenizer)
    return [encode_pair(pair, asking, tokenizer) for pair in pairs]
