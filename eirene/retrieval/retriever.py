"""The retriever: the passages that bear on a question and an answer, the most relevant last; items with them.

After FAVA, sections 6.2 and C.5.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from eirene.core.errors import InputError
from eirene.core.records import FOUND_PASSAGES, Item
from eirene.retrieval.index import PassageIndex
from eirene.retrieval.passages import Passage
from eirene.retrieval.search import (
    CANDIDATES,
    MOST,
    cosines_of,
    distances_of,
    near_by_signs,
    products_of,
    shares_of_names,
    sharing_names,
    titled,
)
from eirene.text.unicode import mend_surrogates

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from eirene.models.encoder.runtime import Encodes

TOP = 5
Names = Literal["first", "one", "none"]
_POOL = 50
"""Passages that are ranked: so many by cosine, and so many that share the names."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. `score`: its cosine or inner product, or what the reranker gave; `names`: the share of
    the query's names (weighed by how rare they are) that it has, 0 where it shares less than half of them.
    """

    passage: Passage
    score: float
    names: float


class Reranker(Protocol):
    """Scores pairs of a query and a text, higher is more relevant: what a cross-encoder does."""

    @property
    def digest(self) -> str: ...

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]: ...


class Retriever:
    """Finds passages of an index. The same query finds the same passages; safe to share between threads.

    `names` "first": passages that share the query's names and numbers rank before all others, and within both groups
    the higher score ranks higher. "one": one passage is that whose title the query names, the first of its document,
    in the place of the last by score (FAVA, sections 6.2 and 7: "one document retrieved by string matching based on the
    entity name"); all rank by score. "none": by score alone. None: "one" for an encoder by inner product, else "first".
    The ranking is given from its end: what is most relevant stands last, nearest to the text that it is compared with.
    """

    def __init__(
        self,
        index: PassageIndex,
        encoder: Encodes,
        *,
        top: int = TOP,
        reranker: Reranker | None = None,
        names: Names | None = None,
    ) -> None:
        if top < 1:
            raise InputError(f"top must be at least 1, got {top}", field="top")
        if index.encoder != encoder.digest:
            raise InputError(f"the index is of the encoder {index.encoder}, not of {encoder.digest}", field="encoder")
        self.index = index
        self.top = top
        self._encoder = encoder
        self._reranker = reranker
        self._by_product: bool = getattr(encoder, "by_product", False)
        self._names: Names = ("one" if self._by_product else "first") if names is None else names
        self._turn = threading.Lock()

    @property
    def version(self) -> str:
        """What its findings hang on, for signatures: corpus, encoder, reranker, number."""
        more = "" if self._reranker is None else f"+{self._reranker.digest}"
        names = "" if self._names == "first" else f",names={self._names}"
        return f"{self.index.digest[:12]}@{self.index.encoder}{more},top={self.top}{names}"

    def find(self, query: str) -> list[Hit]:
        """At most `top` passages, the most relevant last; of texts the same but for white space the first.

        Raises `InputError` where files of the index were overwritten since it was opened, as far as that is seen.
        """
        self.index.check_mapped()
        vector = self._encoder.encode([query])[0]
        scores, shared = self._pool(query, vector)
        numbers = sorted(scores)
        passages = dict(zip(numbers, self.index.passages(numbers), strict=True))
        if self._reranker is not None:
            with self._turn:
                given = self._reranker.scores(query, [passages[n].shown for n in numbers])
            scores = dict(zip(numbers, given, strict=True))
        texts = {" ".join(passages[n].text.split()): n for n in sorted(numbers, key=lambda n: (n in shared, -n))}
        ranked = sorted(texts.values(), key=lambda n: (n not in shared, -scores[n], n))
        hits = [Hit(passages[n], float(scores[n]), shared.get(n, 0.0)) for n in ranked[: self.top]]
        return (sorted(hits, key=lambda hit: -hit.score) if self._names == "one" else hits)[::-1]

    def _pool(self, query: str, vector: NDArray[np.float32]) -> tuple[dict[int, float], dict[int, float]]:
        """The scores of the passages that are ranked, and the shares of names of those that share them."""
        index, count = self.index, max(_POOL, self.top)
        if self._by_product or self._names == "one":
            return self._pool_with_entity(query, vector, count)
        distances = distances_of(index.codes, vector)
        candidates = near_by_signs(distances, max(CANDIDATES, count))
        by_names = self._names == "first"
        shares = shares_of_names(index.keys, index.owners, len(index), query) if by_names else None
        if shares is not None:
            candidates = np.union1d(candidates, sharing_names(shares, distances, CANDIDATES))
        cosines = cosines_of(index.vectors, index.rows, candidates, vector)
        order = np.argsort(-cosines, kind="stable")  # of equals the earlier
        chosen, shared = order[:count], {}
        if shares is not None:
            named = order[shares[candidates[order]] > MOST][:count]
            chosen = np.union1d(chosen, named)
            shared = {n: s for n in candidates[chosen].tolist() if (s := float(shares[n])) > MOST}
        return dict(zip(candidates[chosen].tolist(), cosines[chosen].tolist(), strict=True)), shared

    def _pool_with_entity(
        self, query: str, vector: NDArray[np.float32], count: int
    ) -> tuple[dict[int, float], dict[int, float]]:
        """The highest inner products of all passages, and the passage of the entity that the query names."""
        products = products_of(self.index.vectors, self.index.rows, vector)
        chosen = np.argsort(-products, kind="stable")[:count].tolist()
        entity = self._entity(query) if self._names == "one" else None
        named = {} if entity is None else {entity: 1.0}
        return {n: float(products[n]) for n in {*chosen, *named}}, named

    def _entity(self, query: str) -> int | None:
        index = self.index
        shares = shares_of_names(index.keys, index.owners, len(index), query)
        if shares is None:
            return None
        order = np.argsort(-shares, kind="stable")[:CANDIDATES]
        numbers = np.sort(order[shares[order] > 0]).tolist()
        place = titled([passage.title for passage in index.passages(numbers)], query)
        return None if place is None else numbers[place]


class Finds(Protocol):
    """Anything that finds passages, the most relevant last: `Retriever`, or LangChain's by `of_langchain`."""

    def find(self, query: str) -> list[Hit]: ...


def with_context(item: Item, retriever: Finds) -> Item:
    """The item with the passages found as `context`, and their ids in its meta: `FOUND_PASSAGES`, in the same order.

    An item that has a context or perspectives is returned as it is: what was given is not added to. So is one for
    which nothing was found.
    """
    if item.context or item.perspectives:
        return item
    query = f"{item.query}\n{item.answer}"  # as the paper's retriever takes both; a follow-up in its place
    found = [hit.passage for hit in retriever.find(query) if hit.passage.shown.strip()]
    if not found:
        return item
    meta = {**item.meta, FOUND_PASSAGES: [p.id for p in found]}
    return item.model_copy(update={"context": [p.shown for p in found], "meta": meta})


class _OfLangChain:
    def __init__(self, retriever: BaseRetriever, top: int) -> None:
        self._retriever = retriever
        self._top = top

    def find(self, query: str) -> list[Hit]:
        documents = self._retriever.invoke(query)[: self._top]
        found = [
            Hit(Passage(_clean(_id(d, n)), _clean(d.page_content), _clean(d.metadata.get("title") or "")), 1.0 / n, 0.0)
            for n, d in enumerate(documents, start=1)
        ]
        return found[::-1]


def of_langchain(retriever: BaseRetriever, *, top: int = TOP) -> Finds:
    """Any LangChain retriever as one of ours. It gives no scores: a hit's is 1 / its rank.

    A document's id is its own, else `id` or `source` of its metadata, else its rank. What no item can hold (a NUL
    character, half a surrogate pair) is left out or becomes U+FFFD.
    """
    return _OfLangChain(retriever, top)


def _clean(text: object) -> str:
    return mend_surrogates(str(text)).replace("\0", "")


def _id(document: Document, rank: int) -> str:
    named = document.id or document.metadata.get("id") or document.metadata.get("source")
    return str(named or f"document-{rank}")
