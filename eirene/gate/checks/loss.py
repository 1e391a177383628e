"""Loss check: nothing that was said and not faulted disappears; an answer is mended, not replaced."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from eirene.alignment.placement import SURE_TWICE
from eirene.gate.checks.base import Asked, Check, EditCase, Objection
from eirene.gate.checks.form import torn
from eirene.gate.checks.repetition import repetition
from eirene.gate.checks.security import security
from eirene.gate.checks.sides import claims_in, compared
from eirene.gate.checks.support import support, supported_parts
from eirene.gate.checks.talk import talk
from eirene.text.clauses import units_of
from eirene.text.edits.words import SentenceEdit
from eirene.text.matching import Span
from eirene.text.sentences import split_sentences
from eirene.text.words import stems

_FORM: tuple[Check, ...] = (security, torn, talk, repetition)
"""Checks that can tell by the text alone that a sentence had no place in the answer."""
_STILL_SAID = 0.85
"""Cosine from which a sentence that is gone counts as said by another one."""
_STILL_THERE = 0.8
"""Share of the content words of a sentence, or of words left out of one, that make it count as still said."""
_LEAST_LOST = 3
"""Content words left out of a sentence from which something it said is lost."""
_GOES = re.compile(
    r"\b(?:un(?:supported|related|true|necessary|verifi\w+)|false|wrong|made[\s-]up|invent\w*|fabricat\w*|hallucinat\w*|"
    r"off[\s-]?(?:the\s)?(?:topic|point)|irrelevan\w*|remov\w*|delet\w*|drop|cut|leave\s+out|repeat\w*|repetit\w*|redundan\w*|"
    r"duplicat\w*|twice|contradict\w*|incorrect|inaccura\w*|misleading|mistaken)\b",
    re.IGNORECASE,
)  # a reason with one of these finds fault with what the sentence says, others only with what it lacks


def loss(case: EditCase) -> Iterator[Objection]:
    """Objects to sentences that are gone, and to words left out, where nothing found fault with them.

    A sentence may go that a finding or a reason names as wrong, that is said elsewhere, that the given text does not
    carry, or whose form alone has no place in an answer. What it says beside the fault, and the given text supports,
    may not: the sentence is to be mended.
    """
    faulty = _faulty(case)
    for n, edit in case.changed():
        if edit.kind == "removed" and not _may_go(case, n, edit) and not _is_said(case, edit):
            if n not in faulty:
                yield Objection(n, "it would be gone, and no fault was found with it")
            elif _loses_more(case, n, edit):
                yield Objection(n, "beside its fault it says what was given, and no other sentence does")
        elif edit.kind == "reworded" and n not in faulty and not case.asked_at(edit):
            lost = tuple(_lost_words(case, edit))
            if lost:
                yield Objection(n, "leaves out what was said, and no fault was found with that", lost)


def _faulty(case: EditCase) -> set[int]:
    """The edits whose text before a check would object to, had it been added."""
    checks = (*_FORM, support) if case.has_given else _FORM
    return {objection.edit for check in checks for objection in case.swapped.objections(check)}


def _loses_more(case: EditCase, n: int, edit: SentenceEdit) -> bool:
    """Whether parts of a sentence that is gone were supported by the given text, and no sentence says them now.

    Not asked of a sentence in disguised characters: it resembles no sentence that says the same in plain ones.
    """
    if any(objection.edit == n for objection in case.swapped.objections(security)):
        return False
    parts = supported_parts(case.swapped, case.swapped.edits[n])
    if not parts or case.encoder is None:
        return False
    units = [u.text for u in units_of(case.after, split_sentences(case.after)) if u.text.strip()]
    if not units:
        return True
    cosines = (case.encoder.encode(parts) @ case.encoder.encode(units).T).max(axis=1)
    words = [set(stems(text)) for text in units]
    for part, cosine in zip(parts, cosines, strict=True):
        own = set(stems(part))
        shared = max(len(own & there) for there in words)
        if own and cosine < _STILL_SAID and shared < _STILL_THERE * len(own):
            return True
    return False


def _may_go(case: EditCase, n: int, edit: SentenceEdit) -> bool:
    """Whether the critique or a person finds fault with what the sentence says, or had it replaced."""
    asked = case.asked_at(edit)
    found = [a for a in asked if a.kind is not None]
    if any(_is_at(a, edit) for a in found):
        return True
    reasons = [a for a in asked if a.kind is None and a.reason]
    if any(_GOES.search(a.reason) for a in reasons):
        return not found or any(a.kind != "missing" for a in found)
    beside = (case.edits[k] for k in (n - 1, n + 1) if 0 <= k < len(case.edits))
    return bool(reasons) and not found and any(other.kind == "added" for other in beside)


def _is_at(asked: Asked, edit: SentenceEdit) -> bool:
    """Whether a finding is of at least half of the sentence, and not of something missing there."""
    assert edit.before is not None
    start, end = edit.before
    held = min(asked.end, end) - max(asked.start, start)
    return asked.kind != "missing" and asked.start < asked.end and 2 * held >= end - start


def _is_said(case: EditCase, edit: SentenceEdit) -> bool:
    """Whether the text after still says what the sentence said: its words, its meaning, or the arguments it made."""
    if edit.before is not None and _arguments_are_said(case, edit.before):
        return True
    own = set(stems(case.old(edit)))
    if not own:
        return True
    rest = [case.new(other) for other in case.edits if other.after is not None]
    if any(len(own & set(stems(text))) >= _STILL_THERE * len(own) for text in rest):
        return True
    if case.encoder is None or not rest:
        return False
    cosines = case.encoder.encode(rest) @ case.encoder.encode([case.old(edit)])[0]
    return float(np.max(cosines)) >= _STILL_SAID


def _arguments_are_said(case: EditCase, span: Span) -> bool:
    """Whether each claim of a sentence is an argument that the text after surely makes too."""
    before = compared(case, case.before)
    after = compared(case, case.after) if before is not None else None
    if before is None or after is None:
        return False
    old, new = before.alignment, after.alignment
    claims = claims_in(old, span)
    made = [int(old.best_argument[u]) for u in claims]
    return bool(claims) and all(
        a >= 0 and old.p_says[a, u] >= SURE_TWICE and new.p_missing[a] <= 1.0 - SURE_TWICE
        for a, u in zip(made, claims, strict=True)
    )


def _lost_words(case: EditCase, edit: SentenceEdit) -> Iterator[int]:
    """Indices of the changed words that say something which the text after no longer says."""
    there = set(stems(case.new(edit)))
    for index, word in enumerate(edit.words):
        gone = set(stems(case.before[slice(*word.before)]))
        put = set(stems(case.after[slice(*word.after)]))
        if len(gone) >= _LEAST_LOST and len(put) < len(gone) / 2 and len(gone & there) < _STILL_THERE * len(gone):
            yield index
