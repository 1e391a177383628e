"""Training data of the verifier: rows of premise, claim and label, source weights, rows that belong together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from eirene.core.errors import InputError

Label = Literal["supported", "unsupported", "contradicted", "not_supported"]
"""`not_supported`: unsupported or contradicted, the source does not tell which."""

MIXTURE: Mapping[str, float] = MappingProxyType(
    {
        "infotabs": 0.5,
        "mnli_dev": 0.5,
        "snli_dev": 0.4,
        "cad_nli": 0.5,
        "negation_nli": 0.5,
        "conjnli": 1.0,
        "med": 0.5,
        "scone": 0.3,
        "breaking_nli": 0.1,
        "faithdial_audit": 0.1,
    }
)
"""The share of each source's rows that an epoch draws; sources with documents, which are not named, in full. The claim
alone gives the label away in `breaking_nli` and `faithdial_audit`."""


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
    rows = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            rows.append(_row(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"not a row of premise, claim and label: {error!r}", where=f"{file}:{number}") from error
    if not rows:
        raise InputError("the file holds no rows", where=str(file))
    return rows


def _row(found: dict[str, object]) -> VerifierRow:
    premise, claim, label = found["premise"], found["claim"], found["label"]
    passages = (premise,) if isinstance(premise, str) else tuple(premise)  # type: ignore[arg-type]
    if not isinstance(claim, str) or not claim.strip() or not passages or any(not isinstance(p, str) for p in passages):
        raise ValueError("premise must be a text or a list of texts, claim a text that is not blank")
    if label not in get_args(Label):
        raise ValueError(f"label must be one of {', '.join(get_args(Label))}, got {label!r}")
    meta = found.get("meta") or {}
    assert isinstance(meta, dict)
    pair, edit = meta.get("pair"), meta.get("edit")
    return VerifierRow(
        source=str(found.get("source", "own")),
        premise=passages,
        claim=claim,
        label=label,  # type: ignore[arg-type]  # checked
        pair=None if pair is None else str(pair),
        edit=None if edit is None else str(edit),
        by=str(found.get("by", "human")),
    )


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
