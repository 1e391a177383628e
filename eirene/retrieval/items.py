"""Items with the passages that were found for them as their context."""

from __future__ import annotations

from typing import Protocol

from eirene.records import FOUND_PASSAGES, Item
from eirene.retrieval.retriever import Hit


class Finds(Protocol):
    """Anything that finds passages, the most relevant last: `Retriever`, or LangChain's by `of_langchain`."""

    def find(self, query: str) -> list[Hit]: ...


def query_of(item: Item) -> str:
    """What is searched for: the question and the answer, as the paper's retriever takes both."""
    return f"{item.question}\n{item.answer}"


def with_context(item: Item, retriever: Finds) -> Item:
    """The item with the passages found as `context`, and their ids in its meta: `FOUND_PASSAGES`, in the same order.

    An item that has a context or perspectives is returned as it is: what was given is not added to. So is one for
    which nothing was found.
    """
    if item.context or item.perspectives:
        return item
    found = [hit.passage for hit in retriever.find(query_of(item)) if hit.passage.shown.strip()]
    if not found:
        return item
    meta = {**item.meta, FOUND_PASSAGES: [p.id for p in found]}
    return item.model_copy(update={"context": [p.shown for p in found], "meta": meta})
