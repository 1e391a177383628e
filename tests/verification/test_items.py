"""`verify_item`: what `verify` says of a text against that which a run of the item compares it with."""

from __future__ import annotations

import eirene
from eirene.core.records import FOUND_PASSAGES, Item
from eirene.verification import verify_item

ANSWER = "The tower is 90 metres high. Bees built it."
PASSAGES = ["The bridge is old.", "The tower is 90 metres high."]


def item(**more: object) -> Item:
    return Item.model_validate({"question": "What is it?", "answer": ANSWER, **more})


def test_it_is_verify_with_the_passages_and_their_ids() -> None:
    """Of the text that is passed, which need not be the item's answer."""
    assert verify_item(item(context=PASSAGES), ANSWER) == eirene.verify(ANSWER, PASSAGES)
    found = verify_item(item(context=PASSAGES, meta={FOUND_PASSAGES: ["a", "b"]}), "The bridge is old.")
    assert found == eirene.verify("The bridge is old.", PASSAGES, passage_ids=["a", "b"])


def test_arguments_go_before_passages_as_in_a_run() -> None:
    sides = {"pro": ["The tower is 90 metres high."], "con": ["It casts a shadow."]}
    found = verify_item(item(perspectives=sides, context=PASSAGES, meta={FOUND_PASSAGES: ["a", "b"]}), ANSWER)
    assert found == eirene.verify(ANSWER, ["The tower is 90 metres high.", "It casts a shadow."])


def test_without_given_text_there_is_nothing_to_say() -> None:
    assert verify_item(item(), ANSWER) is None
