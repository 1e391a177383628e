"""The flags of data: format, columns, reader, which rows, and the corpus that gives them passages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eirene.cli.terminal import say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.core.records import Item
    from eirene.data import Dataset, RowSource, Selection, Shape
    from eirene.retrieval import Retriever
    from eirene.retrieval.passages import Passage

# Written out here because what reads needs NumPy and pydantic, which `--help` should not wait for; a test compares.
FormatName = Literal["auto", "json", "jsonl", "csv", "tsv", "parquet"]
IN_HELP = (
    "A file (.jsonl, .json, .csv, .tsv, .parquet), a folder, hf-dataset:OWNER/NAME, or - (docs/guides/datasets.md)."
)

_data_option = partial(typer.Option, rich_help_panel="The data")
STDIN, _TEXT_FILES = "-", (".txt", ".md", ".text", ".rst")
_NAMED, _LONGEST_ID = 10, 80  # how many ids are named where one was not found, and characters of each

SkipBad = Annotated[
    bool, _data_option("--skip-bad", help="Leave out rows that cannot be used (a blank answer, say) and list them.")
]
RowId = Annotated[str | None, typer.Option("--id", help="Take only the row with this id.")]
Format = Annotated[FormatName, _data_option("--format", help="The file format; by default the name tells it.")]

Reader = Annotated[
    str | None,
    _data_option("--reader", metavar="NAME", help="The published form of the rows; by default their keys tell it."),
]


@dataclass(frozen=True, kw_only=True)
class FormFlags:
    """How rows are read that need not be items: labelled answers, training pairs."""

    format: Format = "auto"
    columns: Annotated[
        list[str] | None,
        _data_option(
            "--map",
            metavar="FIELD=COLUMN",
            help="Take a field from a column, such as answer=response; meta= leaves out the rest; repeatable.",
        ),
    ] = None

    @property
    def shape(self) -> Shape:
        """Which column is which."""
        from eirene.data import ColumnMap, Shape

        return Shape(ColumnMap.of(self.columns or ()))

    def source(self, name: str) -> RowSource:
        """The rows that a name stands for. None is read yet."""
        from eirene.data import open_source

        return open_source(name, format=self.format)


@dataclass(frozen=True, kw_only=True)
class SelectionFlags:
    """Which rows are taken."""

    limit: Annotated[int, _data_option(help="Take the first rows only (0: all).")] = 0
    sample: Annotated[
        str | None, _data_option(metavar="N[,SEED]", help="Sample so many rows, by a seed; they keep their order.")
    ] = None

    def selection(self) -> Selection:
        """The rows that the flags take; raises `InputError` for numbers that make no sense."""
        from eirene.data import Selection

        size, _, seed = (self.sample or "0").partition(",")
        try:
            return Selection(self.limit, int(size), int(seed or 0))
        except ValueError:
            said = f"--sample wants a number of rows, such as 100, or 100,7 with a seed, got {self.sample!r}"
            raise InputError(said, field="sample") from None


@dataclass(frozen=True, kw_only=True)
class DataFlags(SelectionFlags, FormFlags):
    """How items are read, and which."""

    reader: Reader = None

    def open(self, name: str, *, each: Callable[[Item], Item] | None = None, skip_bad: bool | None = None) -> Dataset:
        """What the flags name, as items, each passed through `each`. No more than one row is read yet."""
        from eirene.data import open_dataset

        found = open_dataset(
            name, format=self.format, columns=self.columns or (), reader=self.reader, each=each, skip_bad=skip_bad,
            selection=self.selection(),
        )  # fmt: skip
        if self.reader is None and found.shape.reader is not None:
            say(f"{found.name} is read by --reader {found.shape.reader.name}, as its first row's keys tell")
        return found


def passages_of(places: Sequence[str]) -> Iterator[Passage]:
    """Passages from what `--context` names: texts as they are, files and folders as a corpus, - and pipes as text.

    Raises `InputError` for what looks like a file and is none; a single word is warned about.
    """
    from eirene.data.source import read_text
    from eirene.retrieval.passages import Passage, cut, read_corpus

    for n, place in enumerate(places, start=1):
        is_there = os.path.exists(place)
        if place == STDIN or (is_there and not os.path.isdir(place) and not os.path.isfile(place)):
            pieces = (text for block in read_text(place).split("\n\n") if block.strip() for text in cut(block))
            name = "stdin" if place == STDIN else Path(place).name
            yield from (Passage(f"{name}:{at}", text) for at, text in enumerate(pieces, start=1))
        elif is_there:
            yield from read_corpus(place)
        else:
            is_word = not any(c.isspace() for c in place)
            if is_word and ("/" in place or Path(place).suffix):
                raise InputError(f"there is no file {place!r}; a text has more than one word", field="context")
            if is_word:
                say(f"warning: --context {place} is taken as a text: there is no such file")
            yield Passage(str(n), place)


def text_of(given: str, flag: str) -> str:
    """What a flag of a text says: the text itself, that of a file, or with - that of standard input.

    A single word without a dot or slash is a text, whatever files there are ("./Oslo" is a file). Raises `InputError`
    for the name of a text file that is not there.
    """
    from eirene.data.source import read_text

    if given == STDIN or (os.path.exists(given) and not os.path.isdir(given) and not given.isalnum()):
        return read_text(given).strip()
    if given.lower().endswith(_TEXT_FILES) and not any(c.isspace() for c in given):
        raise InputError(f"there is no file {given!r}", field=flag)
    return given


@dataclass(frozen=True, kw_only=True)
class TextFlags:
    """One's own question and answer in place of a file, and what the answer is to be checked against."""

    question: Annotated[str | None, typer.Option(metavar="TEXT|FILE|-", help="The question, instead of a file.")] = None
    answer: Annotated[
        str | None, typer.Option(metavar="TEXT|FILE|-", help="The answer to check, instead of a file.")
    ] = None
    context: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT|FILE|DIR|-", help="A passage, or a file of passages; repeatable."),
    ] = None
    side: Annotated[
        list[str] | None,
        typer.Option(metavar="SIDE=TEXT|FILE|-", help="What a side argues, such as pro=TEXT; repeatable."),
    ] = None

    @property
    def from_stdin(self) -> int:
        """How many of the texts come from standard input."""
        sides = (one.partition("=")[2].strip() for one in self.side or ())
        return [self.question, self.answer, *(self.context or ()), *sides].count(STDIN)

    def rows(self, file: str | None, data: DataFlags, corpus: CorpusFlags, *, skip_bad: bool | None = None) -> Dataset:
        """The rows of `file`, or the one of these texts, with passages from the corpus where it has none."""
        from eirene.data import Dataset
        from eirene.data.dataset import HeldRows

        one = self.item(file)
        if one is None:
            return data.open(str(file), each=corpus.filler(), skip_bad=skip_bad)
        return Dataset(HeldRows([one]), each=corpus.filler())

    def item(self, file: str | None, *, unasked: str | None = None) -> Item | None:
        """The item of these texts; None where they come from `file`. Raises `InputError` for too many or too few.

        `unasked` stands for a question that is not given, where none is needed.
        """
        from eirene.core.records import FOUND_PASSAGES, parse_item

        given: dict[str, Any] = {name: value for name, value in vars(self).items() if value is not None}
        if file is not None:
            if given:
                raise InputError(
                    "give a FILE, or an answer by --answer, --context, ..., not both", field=next(iter(given))
                )
            return None
        if self.question is None and self.answer is None:
            raise InputError("nothing to read: give a FILE, - for standard input, or --question and --answer")
        if self.from_stdin > 1:
            raise InputError("standard input is one text: give - once")
        texts: dict[str, Any] = {name: text_of(given[name], name) for name in ("question", "answer") if name in given}
        row: dict[str, Any] = {"question": unasked, **given, **texts}
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
            found.setdefault(name.strip(), []).append(text_of(text.strip(), "side"))
        return found


def tell_skipped(rows: Dataset, out: Path | None) -> None:
    """Says which rows were left out, and writes them all to `out`, one a line, where there is such a place."""
    from eirene.data.output import write_text

    if out is not None and (rows.skipped or out.exists()):
        write_text(str(out), "".join(f"{line}\n" for line in rows.skipped), force=True)
    if rows.skipped:
        say(f"skipped {len(rows.skipped)} rows" + (f"; all are listed in {out}" if out else ""))
    for line in rows.skipped[: _NAMED if out else None]:
        say(f"  {line}")


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
    str,
    _corpus_option(
        metavar="NAME", help="embedded, or a sentence-transformers model by name (NAME?as=fava: by inner product)."
    ),
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
