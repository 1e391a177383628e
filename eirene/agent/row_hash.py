"""The hash of a row: what a finished one hangs on, so that a rerun knows whether it is still the row that is wanted."""

from __future__ import annotations

import hashlib

from eirene.agent.run import run_signature
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.records import Item, canonical


def row_hash(item: Item, parts: Parts, settings: Settings) -> str:
    """16 hex digits for the item, every setting, the models and prompts: the same ones are the same piece of work."""
    return RowHash(parts, settings).of(item)


class RowHash:
    """`row_hash` for many items: what they have in common is looked at once."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self.signature = run_signature(parts, settings)
        names = [parts.feedback_model.name, parts.refiner.name]
        self.common = [settings.model_dump(mode="json"), self.signature, *names]
        self._rest = canonical(self.common).removeprefix("[")

    def of(self, item: Item) -> str:
        """The item's hash."""
        text = f"[{canonical(item.model_dump(mode='json'))},{self._rest}"  # the list of the item and what is common
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
