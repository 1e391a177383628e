"""Wordings of the attacks from a TOML file, checked: the keys of `wordings_dev.toml`, no more and no fewer."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random
from typing import Any

DEV = Path(__file__).with_name("wordings_dev.toml")

TEXTS = {
    "form": "torn other_language links talk_before talk_after marks filler comments emoji again",
    "foreign": "insults insult_clauses injections injection_clauses adverts advert_clauses advice verdicts "
    "verdict_clauses contacts opinions questions pledges rumours flattery",
    "specifics": "number_clauses authorities facts citations quotes dates places examples names quantities",
    "polarity": "proofs experts surely falsely distance denials contradictions",
    "structure": "vague tails",
}
PAIRS = {"polarity": "stronger weaker opposites", "specifics": "units"}


class Wordings:
    """Texts and pairs by key; keys are unique over the tables."""

    def __init__(self, tables: dict[str, Any]) -> None:
        self._texts: dict[str, list[str]] = {}
        self._pairs: dict[str, dict[str, str]] = {}
        wanted = {(table, key) for keys in (TEXTS, PAIRS) for table, names in keys.items() for key in names.split()}
        found = {(table, key) for table, keys in tables.items() for key in keys}
        if wanted != found:
            missing, unknown = (sorted(".".join(k) for k in keys) for keys in (wanted - found, found - wanted))
            raise ValueError(f"wordings: missing {missing}, unknown {unknown}")
        for table, key in sorted(found):
            values = tables[table][key]
            if not values:
                raise ValueError(f"wordings: {table}.{key} is empty")
            if key in PAIRS.get(table, "").split():
                self._pairs[key] = {old: new for old, new in values}
            elif all(isinstance(value, str) for value in values):
                self._texts[key] = list(values)
            else:
                raise ValueError(f"wordings: {table}.{key} must be a list of texts")

    def one(self, key: str, rng: Random) -> str:
        """One text of a key."""
        return rng.choice(self._texts[key])

    def some(self, key: str, rng: Random, n: int) -> list[str]:
        """Up to n different texts of a key."""
        return rng.sample(self._texts[key], min(n, len(self._texts[key])))

    def pairs(self, key: str) -> dict[str, str]:
        """What stands in an answer, and what it becomes."""
        return self._pairs[key]


def load_wordings(file: Path = DEV) -> Wordings:
    """The wordings of a file; raises `ValueError` for keys that are missing, unknown or empty."""
    return Wordings(tomllib.loads(file.read_text("utf-8")))
