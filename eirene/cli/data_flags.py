"""The flags that say what is read: format, columns, reader, and which rows. They mean the same in every command.

The flags of a corpus: where passages for answers without given text are found. The same in every command.

The flags of model calls: what they cost, and which replies are known already. The same in every command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.core.records import Item
    from eirene.data import Dataset, RowSource, Selection, Shape
    from eirene.models.cache import CallCache
    from eirene.models.chat import Price
    from eirene.retrieval import Retriever

# Written out here because what reads needs NumPy and pydantic, which `--help` should not wait for; a test compares.
FormatName = Literal["auto", "json", "jsonl", "csv", "tsv", "parquet", "arrow"]
IN_HELP = "A file (.jsonl, .json, .csv, .tsv, .parquet, .arrow), a folder, hf-dataset:OWNER/NAME, or - (docs/data.md)."

_DATA = "The data"
_NAMED, _LONGEST_ID = 10, 80  # how many ids are named where one was not found, and characters of each

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
class DataFlags:
    """How rows are read that need not be items: labelled answers, training pairs."""

    format: Format = "auto"
    columns: Map = None
    drop_unmapped: DropUnmapped = False

    @property
    def shape(self) -> Shape:
        """Which column is which."""
        from eirene.data import ColumnMap, Shape

        return Shape(ColumnMap.of(self.columns or ()), None, self.drop_unmapped)

    def open(self, name: str) -> RowSource:
        """The rows that a name stands for. None is read yet."""
        from eirene.data import open_source

        return open_source(name, format=self.format)


def selection_of(limit: int, sample: int, sample_seed: int) -> Selection:
    """The rows that the flags take; raises `InputError` for numbers that make no sense."""
    from eirene.data import Selection

    if sample_seed and not sample:
        raise InputError("--sample-seed goes with --sample", field="sample-seed")
    return Selection(limit, sample, sample_seed)


def with_id(items: Sequence[Item], row: str, *, where: str) -> list[Item]:
    """The one item with this id, as a list; an `InputError` names some of the ids where there is none."""
    chosen = [item for item in items if item.id == row]
    if not chosen:
        known = ", ".join(item.id[:_LONGEST_ID] for item in items[:_NAMED]) + (", ..." if len(items) > _NAMED else "")
        raise InputError(f"no row has the id {row!r}; ids: {known}", field="id", where=where)
    return chosen


def open_data(
    name: str,
    *,
    format: FormatName,
    columns: Sequence[str] | None,
    reader: str | None,
    drop_unmapped: bool,
    selection: Selection,
    each: Callable[[Item], Item] | None = None,
) -> Dataset:
    """What the flags name, as items. No row is read yet."""
    from eirene.data import open_dataset

    return open_dataset(
        name,
        format=format,
        columns=columns or (),
        reader=reader,
        drop_unmapped=drop_unmapped,
        selection=selection,
        each=each,
    )


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


_CALLS = "Model calls"

Cache = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Keep replies here; what is known is not asked for again (docs/costs.md).",
        rich_help_panel=_CALLS,
    ),
]
CacheSize = Annotated[
    str, typer.Option(metavar="SIZE", help="How large the cache may grow, such as 500MB.", rich_help_panel=_CALLS)
]
Prices = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="What models cost, as TOML (docs/costs.md).", rich_help_panel=_CALLS),
]
PriceOf = Annotated[
    str | None,
    typer.Option(
        "--price", metavar="IN,OUT", help="US dollars for a million tokens in and out.", rich_help_panel=_CALLS
    ),
]
CACHE_SIZE = "2GB"


@dataclass(frozen=True, kw_only=True)
class CallFlags:
    """What is said of model calls. `price` is the backend's, or the judge's of a command that has no backend."""

    price: PriceOf = None
    prices: Prices = None
    cache: Cache = None
    cache_size: CacheSize = CACHE_SIZE

    def open_cache(self) -> CallCache | None:
        """The cache that the flags name; raises `InputError` for a file or size that cannot be used."""
        if self.cache is None:
            if self.cache_size != CACHE_SIZE:
                raise InputError("--cache-size goes with --cache", field="cache-size")
            return None
        from eirene.models.cache import CallCache, parse_size

        return CallCache(self.cache, max_bytes=parse_size(self.cache_size))

    def price_of(self, model: str | None, *, base_url: str | None) -> Price | None:
        """What a model costs: as `--price` says, else as `listed_price` does."""
        if self.price is not None and self.prices is not None:
            raise InputError("give --price or --prices, not both", field="prices")
        return self.listed_price(model, base_url=base_url) if self.price is None else _parsed(self.price)

    def listed_price(self, model: str | None, *, base_url: str | None) -> Price | None:
        """What a model costs by the file of `--prices`, else by the list that ships; None where nobody knows.

        The list that ships is for the providers' own servers and says nothing of a model at `base_url`, or at an
        address that the environment names.
        """
        from eirene.models.costs import read_prices, shipped_prices

        listed = None if self.prices is None else read_prices(self.prices)  # what is named is looked at in any case
        if model is None or not is_named(model):
            return None
        if listed is not None:
            return listed.of(model)
        return shipped_prices().of(model) if base_url is None and not _is_elsewhere(model) else None


def is_named(model: str) -> bool:
    """Whether a backend is a chat model by name, which is what prices are known of."""
    return ":" in model and not model.startswith("hf:")


def _is_elsewhere(model: str) -> bool:
    """Whether the environment sends the provider's client to another address, as the clients read it."""
    provider = model.partition(":")[0].upper().replace("-", "_")
    return any(os.environ.get(f"{provider}_{name}", "").strip() for name in ("BASE_URL", "API_BASE", "API_URL"))


def _parsed(text: str) -> Price:
    """The price that a text such as `0.15,0.60` names; raises `InputError` for another form."""
    from eirene.models.chat import Price

    try:
        read, written = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"price must be two numbers, such as 0.15,0.60, got {text!r}", field="price") from None
    if not (0 <= read < float("inf") and 0 <= written < float("inf")):
        raise InputError(f"price must not be negative, got {text!r}", field="price")
    return Price(read, written)
