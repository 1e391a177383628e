"""Passage sentences that bear on the question, so that pages can show them in their own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eirene.core.records import Item


def passage_sentences(item: Item) -> tuple[str, ...]:
    """The sentences in the order in which the `alignment` detector numbers them."""
    from eirene.alignment import bearing_sentences
    from eirene.models.encoder.shipped import shipped_encoder

    return bearing_sentences(item.context or (), item.query, shipped_encoder())
