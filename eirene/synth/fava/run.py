"""From passages to rows: errors put in one kind at a time, checked, with references mixed in; what fails is counted."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eirene.critique import Finding
from eirene.errors import InputError
from eirene.fava.edits import apply_findings
from eirene.fava.kinds import HallucinationKind, finding_of
from eirene.fava.tags import write_tagged
from eirene.records import Item
from eirene.retrieval.passages import Passage
from eirene.seeds import check_seed, rng_for
from eirene.synth.fava.rules import OFFLINE, Change, entities, propose

Neighbours = Callable[[int], Sequence[int]]
"""For the number of a passage those of others that are like it, the nearest first."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is made. `most`: errors in a row at most; `references`: passages given with a row, its own among them;
    `clean`: the share of rows without an error, in [0, 1].
    """

    kinds: tuple[HallucinationKind, ...] = OFFLINE
    most: int = 3
    references: int = 5
    clean: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self.seed)
        unknown = [kind for kind in self.kinds if kind not in OFFLINE]
        if unknown or not self.kinds:
            raise InputError(
                f"without a backend kinds must be of {', '.join(OFFLINE)}, got {', '.join(unknown) or 'none'}",
                field="kinds",
            )
        if self.most < 1 or self.references < 1:
            raise InputError("most and references must be at least 1", field="most")
        if not 0 <= self.clean <= 1:
            raise InputError(f"clean must lie in [0, 1], got {self.clean:g}", field="clean")


@dataclass(slots=True)
class Made:
    """What came of a run: rows, errors by kind, and passages dropped by cause."""

    rows: int = 0
    clean: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def card(self) -> dict[str, Any]:
        """The counts in plain JSON."""
        return {
            "rows": self.rows, "clean": self.clean, "errors": dict(self.errors), "dropped": dict(self.dropped),
        }  # fmt: skip


def synthesise(passages: Sequence[Passage], recipe: Recipe, made: Made, *, neighbours: Neighbours) -> Iterator[Item]:
    """A row for each passage in which errors could be put, in order; the same seed makes the same rows.

    The answer is the passage with its errors, `gold` the passage, `context` the references in an order drawn by the
    seed; `meta.findings` are the errors, each with the edit that takes it back, and `meta.tagged` says them as tags.
    Of the kinds the one made least often so far is tried first, so that they stay balanced.
    """
    pool = entities([p.text for p in passages])
    seen: set[str] = set()
    for n, passage in enumerate(passages):
        key = hashlib.sha256(" ".join(passage.text.split()).encode("utf-8", "surrogatepass")).hexdigest()
        if key in seen:
            made.dropped["the passage occurs twice"] += 1
            continue
        seen.add(key)
        rng = rng_for(recipe.seed, "synth-fava", key)
        is_clean = bool(rng.random() < recipe.clean)
        changes = [] if is_clean else _changes(passage.text, recipe, pool, made, rng)
        if not changes and not is_clean:
            made.dropped["no place for an error of these kinds"] += 1
            continue
        text, findings = _made(passage.text, changes)
        why = _fault(passage.text, text, findings)
        if why is not None:
            made.dropped[why] += 1
            continue
        made.rows += 1
        made.clean += is_clean
        made.errors.update(finding.kind for finding in findings)
        yield _item(
            passage, text, findings, [passages[i].shown for i in neighbours(n)], count=recipe.references, rng=rng
        )


def _changes(
    text: str, recipe: Recipe, pool: dict[str, list[str]], made: Made, rng: np.random.Generator
) -> list[Change]:
    """Changes that stand apart from each other, of the kinds made least often so far."""
    found: list[Change] = []
    own: Counter[str] = Counter()
    for _ in range(int(rng.integers(1, recipe.most + 1))):
        order = sorted(rng.permutation(list(recipe.kinds)).tolist(), key=lambda k: made.errors[k] + own[k])
        for kind in order:
            change = propose(kind, text, pool, rng)
            if change is not None and all(change.end < c.start or change.start > c.end for c in found):
                found.append(change)
                own[kind] += 1
                break
    return sorted(found, key=lambda change: change.start)


def _made(text: str, changes: Sequence[Change]) -> tuple[str, list[Finding]]:
    """The text with the changes, and the findings that take them back, with offsets into it."""
    pieces, findings, at, length = [], [], 0, 0
    for change in changes:
        kept = text[at : change.start]
        lead = len(change.new) - len(change.new.lstrip()) if change.start == change.end else 0
        length += len(kept)
        findings.append((change.kind, length + lead, length + len(change.new), text[change.start : change.end]))
        pieces += [kept, change.new]
        length += len(change.new)
        at = change.end
    whole = "".join([*pieces, text[at:]])
    return whole, [finding_of(kind, start, end, text=whole, edit=edit) for kind, start, end, edit in findings]


def _fault(right: str, wrong: str, findings: Sequence[Finding]) -> str | None:
    """Why a row is not worth having; None if its findings are all that keeps it from the right text."""
    if any(wrong[f.start : f.end] == f.edit for f in findings):
        return "an error that changes nothing"
    if apply_findings(wrong, findings).text.split() != right.split():
        return "its edits do not give the passage back"
    return None


def _item(
    passage: Passage, text: str, findings: Sequence[Finding], others: Sequence[str], *, count: int,
    rng: np.random.Generator,
) -> Item:  # fmt: skip
    references = [passage.shown, *(o for o in others if o != passage.shown)][:count]
    mixed = [references[i] for i in rng.permutation(len(references))]
    said = [f.model_dump(mode="json") for f in findings]
    meta: dict[str, Any] = {"findings": said, "tagged": write_tagged(text, findings), "source": passage.id}
    question = f"What is known about {passage.title}?" if passage.title else "What do the references say?"
    return Item(
        id=f"{passage.id}-errors", question=question, answer=text, context=mixed, gold=passage.text,
        meta={**meta, "cluster": passage.id},
    )  # fmt: skip
