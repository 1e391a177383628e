"""The flags of a corpus: where passages for answers without given text are found. The same in every command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.errors import InputError

if TYPE_CHECKING:
    from eirene.records import Item
    from eirene.retrieval import Retriever

_CORPUS = "Passages"

Corpus = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|DIR",
        help="Find passages here for rows without context or perspectives (docs/retrieval.md).",
        rich_help_panel=_CORPUS,
    ),
]
CorpusEncoder = Annotated[
    str,
    typer.Option(metavar="NAME", help="embedded, or a sentence-transformers model by name.", rich_help_panel=_CORPUS),
]
Rerank = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="A cross-encoder (Hugging Face) that ranks them.", rich_help_panel=_CORPUS),
]
Passages = Annotated[int, typer.Option(help="How many are found for a row.", rich_help_panel=_CORPUS)]


@dataclass(frozen=True, kw_only=True)
class CorpusFlags:
    """A corpus and how passages are found in it; nothing where there is no corpus."""

    corpus: Corpus = None
    corpus_encoder: CorpusEncoder = "embedded"
    rerank: Rerank = None
    passages: Passages = 5

    def filler(self) -> Callable[[Item], Item] | None:
        """What gives items without given text their context, or None where no corpus is named."""
        if self.passages < 1:
            raise InputError(f"passages must be at least 1, got {self.passages}", field="passages")
        if self.corpus is None:
            if self.rerank is not None or self.corpus_encoder != "embedded":
                raise InputError("--rerank and --corpus-encoder go with --corpus", field="corpus")
            return None
        from eirene.retrieval import with_context

        retriever = self.retriever(self.corpus)
        return lambda item: with_context(item, retriever)

    def retriever(self, corpus: str) -> Retriever:
        """The retriever, its index built or brought up to date; progress goes to standard error."""
        import tempfile
        from pathlib import Path

        from eirene.caching import cache_folder
        from eirene.cli.progress import watch
        from eirene.retrieval import Retriever, open_index
        from eirene.retrieval.encoders import encoder_named
        from eirene.retrieval.rerank import CrossEncoder

        encoder = encoder_named(self.corpus_encoder)
        reranker = None if self.rerank is None else CrossEncoder(self.rerank)
        folder = cache_folder() or Path(tempfile.mkdtemp(prefix="eirene-"))
        with watch(0) as progress:
            index = open_index(
                corpus, encoder, folder=folder, progress=lambda n: progress.count(n, "indexing passages")
            )
        return Retriever(index, encoder, top=self.passages, reranker=reranker)
