"""Verification of an item's answer, or of a rewrite of it: against its perspectives' arguments, else its passages."""

from __future__ import annotations

from eirene.core.grounding import given_texts
from eirene.core.records import Item, found_ids
from eirene.core.verification import Verification
from eirene.verification.verify import verify, verify_arguments


def verify_item(item: Item, answer: str) -> Verification | None:
    """`verify` of a text against what a run of the item scores it against; None where the item gives nothing.

    Raises `InputError` for a blank answer.
    """
    given = given_texts(item)
    if not given:
        return None
    if item.perspectives:
        return verify_arguments(answer, given)
    return verify(answer, given, passage_ids=found_ids(item) or None)
