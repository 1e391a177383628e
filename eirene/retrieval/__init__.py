"""Finding passages for a question in a corpus: reading it, an index on disk, search, and LangChain's retriever.

What belongs here: corpus to passages, passages to vectors, a query to the few passages that bear on it. What does not:
what is done with them (a critique, a score, a rewrite).
"""

from __future__ import annotations

from eirene.retrieval.index import open_index
from eirene.retrieval.passages import Passage, read_corpus
from eirene.retrieval.retriever import Finds, Hit, Retriever, with_context

__all__ = ["Finds", "Hit", "Passage", "Retriever", "open_index", "read_corpus", "with_context"]
