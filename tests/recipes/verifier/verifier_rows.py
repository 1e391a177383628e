"""Rows of premise, claim and label, made on the spot, and a recipe of a few thousand weights."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

WORLD = (
    ("The bridge was built in 1901 by a firm from Leeds.", "A firm from Leeds built the bridge.", "bridge"),
    ("Otters sleep on their backs and hold hands.", "Otters hold hands while they sleep.", "otter"),
    ("The library closes at six on Fridays.", "On Fridays the library closes at six.", "library"),
    ("Maria Lopez sold 400 paintings in Madrid.", "Maria Lopez sold paintings in Madrid.", "painter"),
)


def rows_of(*, dev: bool = False) -> list[dict[str, Any]]:
    """Supported claims, each with an edit of it (a pair), and single rows; those of `dev` have other premises."""
    made: list[dict[str, Any]] = []
    for n, (premise, claim, topic) in enumerate(WORLD):
        given = [premise, f"Few people know of the {topic}."] if n % 2 else premise
        if dev:
            given = f"It is told that in Norway: {premise}"
        pair = {"premise": given, "source": "bump", "by": "human"}
        meta = {"pair": f"bump:{n}"}
        edited = f"It is not true that {claim[0].lower()}{claim[1:]}"
        made += [
            {**pair, "claim": claim, "label": "supported", "meta": {**meta, "edit": "none"}},
            {**pair, "claim": edited, "label": "contradicted", "meta": {**meta, "edit": "negation"}},
            {"premise": given, "claim": "Whales eat shrimp.", "label": "unsupported", "source": "own"},
            {"premise": given, "claim": f"The {topic} was sold.", "label": "not_supported"},
        ]
    return made


def write_rows(file: Path, rows: Iterable[object]) -> Path:
    """A JSON Lines file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def write_data(folder: Path, *, dev: bool = True) -> Path:
    """A folder with `train.jsonl` and `dev.jsonl`, 16 rows each."""
    write_rows(folder / "train.jsonl", rows_of())
    if dev:
        write_rows(folder / "dev.jsonl", rows_of(dev=True))
    return folder
