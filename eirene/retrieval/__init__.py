"""Retrieval: finds passages for a question in a corpus, by an index on disk; also as LangChain's retriever.

Corpus to passages, passages to vectors, a query to the few passages that bear on it.
"""

from eirene.retrieval.index import open_index
from eirene.retrieval.passages import Passage, read_corpus
from eirene.retrieval.retriever import Finds, Hit, Retriever, with_context

__all__ = ["Finds", "Hit", "Passage", "Retriever", "open_index", "read_corpus", "with_context"]
