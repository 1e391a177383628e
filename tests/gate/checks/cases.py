"""Cases for the tests of the checks: two texts, and what was given."""

from __future__ import annotations

from collections.abc import Sequence

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.gate.checks.base import Asked, Check, EditCase
from eirene.text.edits.sentences import sentence_edits

QUESTION = "Should school uniforms be compulsory?"
BEFORE = "Supporters say that uniforms make pupils more equal. Opponents say that they limit freedom."


def edit_case(
    before: str,
    after: str,
    *,
    given: Sequence[str] = (),
    question: str = QUESTION,
    asked: Sequence[Asked] = (),
) -> EditCase:
    """The case of two texts; `given` are arguments of one side."""
    grounding = Grounding("perspectives", (ArgumentGroup("pro", tuple(given)),)) if given else Grounding("derived", ())
    return EditCase(question, before, after, sentence_edits(before, after), grounding, tuple(asked))


def reasons(check: Check, case: EditCase) -> list[str]:
    """Why a check objects; also asserts that its objections point at changed edits and their words."""
    found = list(check(case))
    for objection in found:
        edit = case.edits[objection.edit]
        assert edit.kind != "kept"
        assert objection.words is None or set(objection.words) <= set(range(len(edit.words)))
    assert len({o.edit for o in found}) == len(found)
    return [o.why for o in found]
