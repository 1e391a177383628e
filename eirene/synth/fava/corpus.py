"""Where the passages come from, and which of the others are like one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import islice

from eirene.retrieval import Retriever, read_corpus
from eirene.retrieval.passages import Passage
from eirene.synth.fava.recipe import Neighbours


def passages_of(corpus: str, limit: int) -> Iterator[Passage]:
    """The passages, one at a time, the first ones alone where there is a limit."""
    return islice(read_corpus(corpus), min(limit, sys.maxsize) or None)


def neighbours_by(retriever: Callable[[], Retriever], *, references: int) -> Neighbours:
    """The passages nearest to one, so many less one as are wanted; the retriever is opened where any are."""
    if references < 2:
        return lambda _: ()
    opened = retriever()

    def nearest(passage: Passage) -> list[str]:
        found = opened.find(passage.shown)[::-1]
        return [hit.passage.shown for hit in found if hit.passage.id != passage.id][: references - 1]

    return nearest
