"""The flags of data: format, columns, reader, which rows, and the corpus that gives them passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.core.records import Item
    from eirene.data import Dataset, RowSource, Selection, Shape
    from eirene.retrieval import Retriever

# Written out here because what reads needs NumPy and pydantic, which `--help` should not wait for; a test compares.
FormatName = Literal["auto", "json", "jsonl", "csv", "tsv", "parquet", "arrow"]
IN_HELP = "A file (.jsonl, .json, .csv, .tsv, .parquet, .arrow), a folder, hf-dataset:OWNER/NAME, or - (docs/data.md)."

_DATA = "The data"
_NAMED, _LONGEST_ID = 10, 80  # how many ids are named where one was not found, and characters of each

RowId = Annotated[str | None, typer.Option("--id", help="Take only the row with this id.")]
Format = Annotated[
    FormatName, typer.Option("--format", help="The form of the data, whatever its name.", rich_help_panel=_DATA)
]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN",
        help="Which column is which field, such as answer=response; once a field.",
        rich_help_panel=_DATA,
    ),
]
ReaderName = Annotated[
    str | None,
    typer.Option("--reader", help="A published form: asqa, eli5 or haluquestqa.", rich_help_panel=_DATA),
]
DropUnmapped = Annotated[
    bool, typer.Option("--drop-unmapped", help="Leave out columns that no field takes.", rich_help_panel=_DATA)
]
Limit = Annotated[int, typer.Option(help="Take the first rows only (0: all).", rich_help_panel=_DATA)]
Sample = Annotated[
    int, typer.Option(help="Draw so many rows, and leave them in their order (0: all).", rich_help_panel=_DATA)
]
SampleSeed = Annotated[
    int, typer.Option(help="The same seed draws the same rows; a larger sample adds to them.", rich_help_panel=_DATA)
]


@dataclass(frozen=True, kw_only=True)
class FormFlags:
    """How rows are read that need not be items: labelled answers, training pairs."""

    format: Format = "auto"
    columns: Map = None
    drop_unmapped: DropUnmapped = False

    @property
    def shape(self) -> Shape:
        """Which column is which."""
        from eirene.data import ColumnMap, Shape

        return Shape(ColumnMap.of(self.columns or ()), None, self.drop_unmapped)

    def source(self, name: str) -> RowSource:
        """The rows that a name stands for. None is read yet."""
        from eirene.data import open_source

        return open_source(name, format=self.format)


@dataclass(frozen=True, kw_only=True)
class SelectionFlags:
    """Which rows are taken."""

    limit: Limit = 0
    sample: Sample = 0
    sample_seed: SampleSeed = 0

    def selection(self) -> Selection:
        """The rows that the flags take; raises `InputError` for numbers that make no sense."""
        from eirene.data import Selection

        if self.sample_seed and not self.sample:
            raise InputError("--sample-seed goes with --sample", field="sample-seed")
        return Selection(self.limit, self.sample, self.sample_seed)


@dataclass(frozen=True, kw_only=True)
class DataFlags(SelectionFlags, FormFlags):
    """How items are read, and which."""

    reader: ReaderName = None

    def open(self, name: str, *, each: Callable[[Item], Item] | None = None) -> Dataset:
        """What the flags name, as items, each passed through `each`. No row is read yet."""
        from eirene.data import open_dataset

        return open_dataset(
            name, format=self.format, columns=self.columns or (), reader=self.reader, each=each,
            drop_unmapped=self.drop_unmapped, selection=self.selection(),
        )  # fmt: skip


def with_id(items: Sequence[Item], row: str | None, *, where: str) -> Sequence[Item]:
    """The one item with this id, or all where none is named; an `InputError` names some ids where there is none."""
    if row is None:
        return items
    chosen = [item for item in items if item.id == row]
    if not chosen:
        known = ", ".join(item.id[:_LONGEST_ID] for item in items[:_NAMED]) + (", ..." if len(items) > _NAMED else "")
        raise InputError(f"no row has the id {row!r}; ids: {known}", field="id", where=where)
    return chosen


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

        from eirene.cli.progress import watch
        from eirene.core.memo import cache_folder
        from eirene.retrieval import Retriever, open_index
        from eirene.retrieval.search import CrossEncoder
        from eirene.retrieval.vectors import encoder_named

        encoder = encoder_named(self.corpus_encoder)
        reranker = None if self.rerank is None else CrossEncoder(self.rerank)
        folder = cache_folder() or Path(tempfile.mkdtemp(prefix="eirene-"))
        with watch(0) as progress:
            index = open_index(
                corpus, encoder, folder=folder, progress=lambda n: progress.count(n, "indexing passages")
            )
        return Retriever(index, encoder, top=self.passages, reranker=reranker)
