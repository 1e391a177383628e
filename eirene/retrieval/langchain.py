"""LangChain retrievers: ours as one of LangChain's, and LangChain's as one of ours."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, ValidationError

from eirene.core.validation import form_error
from eirene.retrieval.passages import Passage
from eirene.retrieval.retriever import Finds, Hit
from eirene.text.unicode import mend_surrogates


class CorpusRetriever(BaseRetriever):
    """A LangChain retriever on ours: documents with the passage's id, its title and score in the metadata.

    In LangChain's order, the most relevant first: its chains cut from the end.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    finder: Any

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise form_error(error, type(self)) from None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits: list[Hit] = self.finder.find(query)
        return [
            Document(
                id=hit.passage.id,
                page_content=hit.passage.text,
                metadata={"title": hit.passage.title, "score": hit.score, "names": hit.names},
            )
            for hit in reversed(hits)
        ]


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


def of_langchain(retriever: BaseRetriever, *, top: int = 5) -> Finds:
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
