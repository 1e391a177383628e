"""From passages to rows by rule: errors put in one kind at a time, checked, with references mixed in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from eirene.core.critique import Finding
from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.core.signature import rng_for
from eirene.retrieval.passages import Passage
from eirene.synth.fava.recipe import Made, Neighbours, Recipe, without_twins
from eirene.synth.fava.rules import OFFLINE, Change, changed, fault, propose, row


def synthesise(
    passages: Iterable[Passage], recipe: Recipe, made: Made, *, pool: dict[str, list[str]], neighbours: Neighbours
) -> Iterator[Item]:
    """A row for each passage in which errors could be put, in order; the same seed makes the same rows.

    The answer is the passage with its errors, `gold` the passage, `context` the references in an order drawn by the
    seed; `meta.findings` are the errors, each with the edit that takes it back, and `meta.tagged` says them as tags.
    Of the kinds the one made least often so far is tried first, so that they stay balanced. `pool` has the values that
    take another's place (`eirene.synth.fava.rules.entities`). Raises `InputError` for kinds that no rule makes.
    """
    unknown = [kind for kind in recipe.kinds if kind not in OFFLINE]
    if unknown:
        raise InputError(
            f"without a backend kinds must be of {', '.join(OFFLINE)}, got {', '.join(unknown)}", field="kinds"
        )
    return _rows(passages, recipe, made, pool, neighbours)


def _rows(
    passages: Iterable[Passage], recipe: Recipe, made: Made, pool: dict[str, list[str]], neighbours: Neighbours
) -> Iterator[Item]:
    for passage, key in without_twins(passages, made):
        rng = rng_for(recipe.seed, "synth-fava", key)
        is_clean = bool(rng.random() < recipe.clean)
        changes = [] if is_clean else _changes(passage.text, recipe, pool, made, rng)
        if not changes and not is_clean:
            made.dropped["no place for an error of these kinds"] += 1
            continue
        text, findings = passage.text, list[Finding]()
        for change in reversed(changes):  # from the end, so that the places of the others still hold
            text, findings = changed(text, findings, change)
        why = fault(passage.text, text, findings)
        if why is not None:
            made.dropped[why] += 1
            continue
        made.rows += 1
        made.clean += is_clean
        made.errors.update(finding.kind for finding in findings)
        others = neighbours(passage)
        yield row(passage, passage.text, text, findings, others, count=recipe.references, rng=rng)


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
            if change is not None and all(_is_apart(change, c) for c in found):
                found.append(change)
                own[kind] += 1
                break
    return sorted(found, key=lambda change: change.start)


def _is_apart(one: Change, other: Change) -> bool:
    """Whether they touch nowhere and do not add the same statement."""
    is_copy = one.start == one.end and one.new == other.new
    return not is_copy and (one.end < other.start or one.start > other.end)
