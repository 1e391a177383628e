"""Composing: drafts as changes, and of those that several bring the ones that better the answer, by the gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eirene.agent.attempt import Attempt
from eirene.agent.state import State, best_text, load_critique
from eirene.core.loop_settings import Mode
from eirene.core.records import Change, Drawn
from eirene.gate.compared_edits import Comparer
from eirene.refiners.base import DrawnText, RefineTask
from eirene.refiners.patch import drafted, patched
from eirene.text.cancellation import check_cancelled
from eirene.text.edits.pieces import piece_spans
from eirene.text.edits.sentences import SentencePair, edits_of_pairs, sentence_edits
from eirene.text.edits.words import SentenceEdit
from eirene.text.sentences import split_sentences

_MOST_LOST = 1 / 3
"""Share of sentences without a fault of which a better answer does not leave out more."""
_MOST = 200
"""Changes that are looked at; of more, the drafts stand as they were drawn."""


def with_what_stays(draft: DrawnText, task: RefineTask) -> DrawnText:
    """A whole answer that leaves out more than a third of the sentences, though nobody found fault with any, as its
    other changes, which can be judged by the passages one by one; any other draft as it is.
    """
    if draft.form != "whole" or draft.unusable or task.critique is not None or not task.item.context:
        return draft
    changes = _changes_between(task.answer, draft.text)
    lost = sum(change.action == "delete" for change in changes)
    is_short = lost > _MOST_LOST * len(split_sentences(task.answer))
    return drafted(task, changes, seed=draft.seed, form="whole") if is_short else draft


def _changes_between(before: str, after: str) -> list[Change]:
    """The changes that make one text of the other, but for sentences that were joined or moved, which stay."""
    ends = {s.text_end: s.n for s in split_sentences(before)}
    found, last = list[Change](), 0
    for edit in sentence_edits(before, after):
        text = after[slice(*edit.after)] if edit.after else ""
        if edit.before is None:
            found.append(Change(sentence=max(last, 1), action="insert_after", text=text))
            continue
        n, is_one = ends[edit.before[1]], not any(edit.before[0] < end < edit.before[1] for end in ends)
        if edit.kind == "removed" or (edit.kind == "reworded" and is_one):
            found.append(Change(sentence=n, action="replace" if text else "delete", text=text))
        last = max(last, n)
    return found


def composed(drawn: Sequence[Attempt], state: State, comparer: Comparer, mode: Mode) -> list[Attempt]:
    """The attempt that the best of the drafts' changes make, and the drafts that are not of changes.

    For each sentence it takes the change that makes the answer likelier to be the better one, beside those that were
    taken before, or none. What earlier drafts brought for the same text may be taken again. A sentence that a critic
    found fault with and a model wrote again may also be dropped, which the model is never asked about; but not the
    first, which mostly answers the question: of the sentences of QA-Feedback's training part people dropped 12 % of
    the first (n = 262) and 33 % of the others. A person who wants one dropped says so.
    """
    parts = [a for a in drawn if a.drawn is not None and (a.drawn.changes or a.drawn.form != "whole")]
    first = parts[0].drawn if parts else None
    if first is None or (first.form == "patch" and first.of == 1):
        return list(drawn)
    pool = dict.fromkeys([c for a in parts if a.drawn is not None for c in a.drawn.changes] + list(_before(state)))
    critique = load_critique(state) if first.form == "sentences" and mode != "human" else None
    faulty = {s.n for s in critique.incomplete if s.n > 1} if critique else set()
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
        best, reached, better = None, 0.0, text
        for change in (c for c in pool if (c.sentence, c.action == "insert_after") == place):
            check_cancelled()
            changed = patched(before, [*taken, change])
            odds = comparer.log_odds(text, changed) if changed.strip() else None
            if odds is not None and odds > reached and not comparer.drops(before, changed):
                best, reached, better = change, odds, changed
        if best is not None:
            taken.append(best)
            text = better
    return taken


def patch_edits(before: str, after: str, made: Sequence[Change]) -> tuple[SentenceEdit, ...] | None:
    """How `before` became `after` by the changes, sentence by sentence, so that nobody need find out by comparing.

    None where the sentences of a new text run together with those around it, and so are others than were asked for.
    """
    old, new = ([text[slice(*span)] for span in piece_spans(text)] for text in (before, after))
    stands = {c.sentence: c for c in made if c.action != "insert_after"}
    pairs: list[SentencePair] = []
    at = 0
    if len(old) != len(split_sentences(before)):
        return None
    for i, text in enumerate(old):
        change = stands.get(i + 1)
        count = 1 if change is None else len(piece_spans(change.text))
        if change is None and new[at : at + 1] != [text]:
            return None
        if count:
            pairs.append(SentencePair(i, i, at, at + count - 1))
        added = (c for c in made if c.sentence == i + 1 and c.action == "insert_after")
        at += count + sum(len(piece_spans(c.text)) for c in added)
    return edits_of_pairs(before, after, pairs) if at == len(new) else None
