"""Sentences of an item's passages that bear on its question, so that a page shows them in their own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eirene.core.records import Item


def bearing(item: Item) -> tuple[str, ...]:
    """The sentences in the order in which the `alignment` detector numbers them."""
    from eirene.alignment import bearing_sentences
    from eirene.models.encoder import load_encoder

    return bearing_sentences(item.context or (), item.question, load_encoder())
