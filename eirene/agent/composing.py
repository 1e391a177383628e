"""Composing: of the changes that several drafts bring, those by which the gate says that the answer is better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eirene.agent.attempt import Attempt
from eirene.agent.state import State, best_text, load_critique
from eirene.core.loop_settings import Mode
from eirene.core.records import Change, Drawn
from eirene.gate.compared_edits import Comparer
from eirene.refiners.patch import patched
from eirene.text.cancellation import check_cancelled

_MOST = 200
"""Changes that are looked at; of more, the drafts stand as they were drawn."""


def composed(drawn: Sequence[Attempt], state: State, comparer: Comparer, mode: Mode) -> list[Attempt]:
    """The attempt that the best of the drafts' changes make, and the drafts that are not of changes.

    For each sentence it takes the change that makes the answer likelier to be the better one, beside those that were
    taken before, or none. What earlier drafts brought for the same text may be taken again. A sentence that a critic
    found fault with and a model wrote again may also be dropped, which the model is never asked about. A person who
    wants one dropped says so.
    """
    parts = [a for a in drawn if a.drawn is not None and (a.drawn.changes or a.drawn.form != "whole")]
    first = parts[0].drawn if parts else None
    if first is None or (first.form == "patch" and first.of == 1):
        return list(drawn)
    pool = dict.fromkeys([c for a in parts if a.drawn is not None for c in a.drawn.changes] + list(_before(state)))
    critique = load_critique(state) if first.form == "sentences" and mode != "human" else None
    faulty = {s.n for s in critique.incomplete} if critique else set()
    pool |= dict.fromkeys(Change(sentence=n, action="delete") for n in faulty & {c.sentence for c in pool})
    if len(pool) > _MOST:
        return list(drawn)
    before = best_text(state)
    taken = _best(sorted(pool, key=lambda c: (c.sentence, c.action == "insert_after")), before, comparer)
    text = patched(before, taken)
    tried = {(r["candidate"] or "").strip() for r in state.get("rounds", [])}
    why = f"none of {len(pool)} changes makes the answer better" if not taken else None
    why = "the best of the changes were turned down already" if text.strip() in tried else why
    passed = tuple(str(c) for c in pool if c not in taken)
    how = first.model_copy(update={"changes": tuple(taken), "passed_over": (*first.passed_over, *passed)})
    return [Attempt(candidate=text, unusable=why, drawn=how), *(a for a in drawn if all(a is not p for p in parts))]


def _before(state: State) -> Iterator[Change]:
    """The changes that earlier rounds brought for the text as it stands."""
    for done in reversed(state.get("rounds", [])):
        if done["decision"] == "accept":
            break
        if done.get("drawn"):
            yield from Drawn.model_validate(done["drawn"]).changes


def _best(pool: Sequence[Change], before: str, comparer: Comparer) -> list[Change]:
    """Each place's best change, judged beside those before it as the gate judges one edit of a rewrite."""
    taken: list[Change] = []
    text = before
    for place in dict.fromkeys((c.sentence, c.action == "insert_after") for c in pool):
        best, reached = None, 0.0
        for change in (c for c in pool if (c.sentence, c.action == "insert_after") == place):
            check_cancelled()
            changed = patched(before, [*taken, change])
            odds = comparer.log_odds(text, changed) if changed.strip() else None
            if odds is not None and odds > reached and not comparer.drops(before, changed):
                best, reached = change, odds
        if best is not None:
            taken.append(best)
            text = patched(before, taken)
    return taken
