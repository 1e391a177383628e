"""Training data of the verifier: rows of premise, claim and label, source weights, rows that belong together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from eirene.core.errors import EncoderError
from recipes.rows import rows_of

Label = Literal["supported", "unsupported", "contradicted", "not_supported"]
"""`not_supported`: unsupported or contradicted, the source does not tell which."""

MIXTURE: Mapping[str, float] = MappingProxyType(
    {
        "infotabs": 0.5,
        "snli_dev": 0.5,
        "med": 0.3,
        "scone": 0.3,
        "breaking_nli": 0.1,
        "faithdial_audit": 0.1,
    }
)
"""The share of each source's rows that is trained on; sources with documents, which are not named, in full. The claim
alone gives the label away in `breaking_nli` and `faithdial_audit`."""

_MIXTURE_SEED = 0


@dataclass(frozen=True, slots=True)
class VerifierRow:
    """A premise (one or more passages), a claim, its label. `pair`: rows whose claims differ by one edit share it."""

    source: str
    premise: tuple[str, ...]
    claim: str
    label: Label
    pair: str | None = None
    edit: str | None = None
    by: str = "human"


def read_rows(file: Path) -> list[VerifierRow]:
    """The rows of a JSONL file. Raises `InputError` naming the line."""
    return rows_of(file, _row, what="a row of premise, claim and label")


def _row(found: object) -> VerifierRow:
    if not isinstance(found, dict):
        raise ValueError(f"it must be a JSON object, got {type(found).__name__}")
    premise, claim, label = found["premise"], found["claim"], found["label"]
    passages = (premise,) if isinstance(premise, str) else tuple(premise)
    if not all(isinstance(p, str) for p in passages) or not any(_has_word(p) for p in passages):
        raise ValueError("premise must be a text or a list of texts, one of them with a word")
    if not isinstance(claim, str) or not _has_word(claim):
        raise ValueError("claim must be a text with a word")
    if label not in get_args(Label):
        raise ValueError(f"label must be one of {', '.join(get_args(Label))}, got {label!r}")
    meta = found.get("meta") or {}
    if not isinstance(meta, dict):
        raise ValueError(f"meta must be a JSON object, got {type(meta).__name__}")
    pair, edit = meta.get("pair"), meta.get("edit")
    return VerifierRow(
        source=str(found.get("source", "own")),
        premise=passages,
        claim=claim,
        label=label,
        pair=None if pair is None else str(pair),
        edit=None if edit is None else str(edit),
        by=str(found.get("by", "human")),
    )


def _has_word(text: str) -> bool:
    return any(character.isalnum() for character in text)


def thinned(rows: Sequence[VerifierRow]) -> list[VerifierRow]:
    """The rows that `MIXTURE` leaves of each source, the same ones in every run; rows of one pair stay together."""
    return [row for row in rows if _draw(row) < MIXTURE.get(row.source, 1.0)]


def _draw(row: VerifierRow) -> float:
    """A number in [0, 1) that is the same for the rows of a pair."""
    key = row.pair or row.claim + row.premise[0][:200]
    digest = hashlib.sha256(f"{_MIXTURE_SEED}:{row.source}:{key}".encode("utf-8", "replace")).hexdigest()
    return int(digest[:12], 16) / 16.0**12


def refuse_leaks(train: Sequence[VerifierRow], dev: Sequence[VerifierRow], *, name: str) -> dict[str, int]:
    """The sizes of the check. Raises `EncoderError` where a premise with its claim stands in both."""
    known, kept = ({(row.premise, row.claim) for row in rows} for rows in (train, dev))
    shared = known & kept
    if shared:
        raise EncoderError(
            f"{len(shared)} training pairs stand in {name} too, such as {min(shared)[1][:100]!r}: remove them"
        )
    return {"training_pairs": len(known), "dev_pairs": len(kept), "shared": 0}


def units(rows: Sequence[VerifierRow]) -> list[tuple[int, ...]]:
    """Rows that go into a batch together, as indices: a supported claim with its edits, or one row."""
    together: dict[str, list[int]] = {}
    alone = []
    for n, row in enumerate(rows):
        if row.pair is None:
            alone.append((n,))
        else:
            together.setdefault(row.pair, []).append(n)
    return [*(tuple(group) for group in together.values()), *alone]


def twins(rows: Sequence[VerifierRow], chosen: Iterable[int]) -> list[tuple[int, int]]:
    """Positions in `chosen` of a supported claim and an edit of it that is not supported."""
    places: dict[str, tuple[list[int], list[int]]] = {}
    for place, n in enumerate(chosen):
        pair = rows[n].pair
        if pair is not None:
            places.setdefault(pair, ([], []))[rows[n].label != "supported"].append(place)
    return [(good, bad) for goods, bads in places.values() for good in goods for bad in bads]
