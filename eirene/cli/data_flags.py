"""The flags of data: format, columns, reader, which rows, and the corpus that gives them passages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.core.records import Item
    from eirene.data import Dataset, RowSource, Selection, Shape
    from eirene.retrieval import Retriever
    from eirene.retrieval.passages import Passage

# Written out here because what reads needs NumPy and pydantic, which `--help` should not wait for; a test compares.
FormatName = Literal["auto", "json", "jsonl", "csv", "tsv", "parquet", "arrow"]
IN_HELP = (
    "A file (.jsonl, .json, .csv, .tsv, .parquet, .arrow), a folder, hf-dataset:OWNER/NAME, or -"
    " (docs/guides/datasets.md)."
)

_data_option = partial(typer.Option, rich_help_panel="The data")
_NAMED, _LONGEST_ID = 10, 80  # how many ids are named where one was not found, and characters of each

RowId = Annotated[str | None, typer.Option("--id", help="Take only the row with this id.")]
Format = Annotated[FormatName, _data_option("--format", help="The file format; by default the name tells it.")]


@dataclass(frozen=True, kw_only=True)
class FormFlags:
    """How rows are read that need not be items: labelled answers, training pairs."""

    format: Format = "auto"
    columns: Annotated[
        list[str] | None,
        _data_option(
            "--map",
            metavar="FIELD=COLUMN",
            help="Take a field from a column, such as answer=response; repeatable.",
        ),
    ] = None
    drop_unmapped: Annotated[bool, _data_option("--drop-unmapped", help="Leave out columns that are not mapped.")] = (
        False
    )

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

    limit: Annotated[int, _data_option(help="Take the first rows only (0: all).")] = 0
    sample: Annotated[int, _data_option(help="Sample so many rows, kept in their order (0: all).")] = 0
    sample_seed: Annotated[int, _data_option(help="Seed of the sample; a larger sample contains the smaller one.")] = 0

    def selection(self) -> Selection:
        """The rows that the flags take; raises `InputError` for numbers that make no sense."""
        from eirene.data import Selection

        if self.sample_seed and not self.sample:
            raise InputError("--sample-seed goes with --sample", field="sample-seed")
        return Selection(self.limit, self.sample, self.sample_seed)


@dataclass(frozen=True, kw_only=True)
class DataFlags(SelectionFlags, FormFlags):
    """How items are read, and which."""

    reader: Annotated[str | None, _data_option("--reader", help="A published form: asqa, eli5 or haluquestqa.")] = None

    def open(self, name: str, *, each: Callable[[Item], Item] | None = None) -> Dataset:
        """What the flags name, as items, each passed through `each`. No row is read yet."""
        from eirene.data import open_dataset

        return open_dataset(
            name, format=self.format, columns=self.columns or (), reader=self.reader, each=each,
            drop_unmapped=self.drop_unmapped, selection=self.selection(),
        )  # fmt: skip


def passages_of(places: Sequence[str]) -> Iterator[Passage]:
    """Passages from what `--context` names: texts as they are, files and folders as a corpus is read.

    Raises `InputError` for what looks like a file and is none.
    """
    from eirene.retrieval.passages import Passage, read_corpus

    for n, place in enumerate(places, start=1):
        if os.path.exists(place):
            yield from read_corpus(place)
        elif not any(c.isspace() for c in place) and ("/" in place or Path(place).suffix):
            raise InputError(f"there is no file {place!r}; a text has more than one word", field="context")
        else:
            yield Passage(str(n), place)


@dataclass(frozen=True, kw_only=True)
class TextFlags:
    """One's own question and answer in place of a file, and what the answer is to be checked against."""

    question: Annotated[str | None, typer.Option(help="The question, instead of a file.")] = None
    answer: Annotated[str | None, typer.Option(help="The answer to it.")] = None
    context: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT|FILE|DIR", help="A passage, or a file of passages; repeatable."),
    ] = None
    side: Annotated[
        list[str] | None,
        typer.Option(metavar="SIDE=TEXT", help="What a side argues, such as pro=TEXT; repeatable."),
    ] = None

    def item(self, file: str | None, *, unasked: str | None = None) -> Item | None:
        """The item of these texts; None where they come from `file`. Raises `InputError` for too many or too few.

        `unasked` stands for a question that is not given, where none is needed.
        """
        from eirene.core.records import FOUND_PASSAGES, parse_item

        given = {name: value for name, value in vars(self).items() if value is not None}
        if file is not None:
            if given:
                raise InputError(
                    "give a FILE, or an answer by --answer, --context, ..., not both", field=next(iter(given))
                )
            return None
        if self.question is None and self.answer is None:
            raise InputError("nothing to read: give a FILE, - for standard input, or --question and --answer")
        row: dict[str, Any] = {"question": unasked, **given}
        if missing := [name for name in ("question", "answer") if row.get(name) is None]:
            pair = "" if unasked else "; --question and --answer go together"
            raise InputError(f"--{missing[0]} is missing{pair}", field=missing[0])
        if self.context and self.side:
            raise InputError("give --context or --side, not both: with sides, an answer is held against these alone")
        if self.context:
            passages = list(passages_of(self.context))
            row["context"] = [passage.shown for passage in passages]
            row["meta"] = {FOUND_PASSAGES: [passage.id for passage in passages]}
        if self.side:
            row["perspectives"] = self._sides(row.pop("side"))
        return parse_item(row)

    def _sides(self, given: Sequence[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for one in given:
            name, equals, text = one.partition("=")
            if not equals or not name.strip() or not text.strip():
                raise InputError(
                    f'--side wants SIDE=TEXT, such as pro="Families save money.", got {one!r}', field="side"
                )
            if os.path.exists(text.strip()):
                raise InputError(f"--side takes the text itself, and {text.strip()!r} is a file", field="side")
            found.setdefault(name.strip(), []).append(text.strip())
        return found


def with_id(items: Sequence[Item], row: str | None, *, where: str) -> Sequence[Item]:
    """The one item with this id, or all where none is named; an `InputError` names some ids where there is none."""
    if row is None:
        return items
    chosen = [item for item in items if item.id == row]
    if not chosen:
        known = ", ".join(item.id[:_LONGEST_ID] for item in items[:_NAMED]) + (", ..." if len(items) > _NAMED else "")
        raise InputError(f"no row has the id {row!r}; ids: {known}", field="id", where=where)
    return chosen


_corpus_option = partial(typer.Option, rich_help_panel="Passages")

CorpusEncoder = Annotated[
    str, _corpus_option(metavar="NAME", help="embedded, or a sentence-transformers model by name.")
]
Passages = Annotated[int, _corpus_option(help="Passages found for each row.")]


@dataclass(frozen=True, kw_only=True)
class CorpusFlags:
    """A corpus and how passages are found in it; nothing where there is no corpus."""

    corpus: Annotated[
        str | None,
        _corpus_option(
            metavar="FILE|DIR",
            help="Find passages here for rows without context or perspectives (docs/guides/corpus.md).",
        ),
    ] = None
    corpus_encoder: CorpusEncoder = "embedded"
    rerank: Annotated[
        str | None, _corpus_option(metavar="NAME", help="A cross-encoder (Hugging Face) that ranks them.")
    ] = None
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

        from eirene.cli.progress import watch
        from eirene.core.memo import cache_folder
        from eirene.retrieval import Retriever, open_index
        from eirene.retrieval.encoders import CrossEncoder, encoder_named

        encoder = encoder_named(self.corpus_encoder)
        reranker = None if self.rerank is None else CrossEncoder(self.rerank)
        folder = cache_folder() or Path(tempfile.mkdtemp(prefix="eirene-"))
        with watch(0) as progress:
            index = open_index(
                corpus, encoder, folder=folder, progress=lambda n: progress.count(n, "indexing passages")
            )
        return Retriever(index, encoder, top=self.passages, reranker=reranker)
