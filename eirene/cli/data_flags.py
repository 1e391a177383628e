"""The flags that say what is read: format, columns, reader, and which rows. They mean the same in every command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eirene.errors import InputError

if TYPE_CHECKING:
    from eirene.reading import Dataset, RowSource, Selection, Shape
    from eirene.records import Item

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
        from eirene.reading import ColumnMap, Shape

        return Shape(ColumnMap.of(self.columns or ()), None, self.drop_unmapped)

    def open(self, name: str) -> RowSource:
        """The rows that a name stands for. None is read yet."""
        from eirene.reading import open_source

        return open_source(name, format=self.format)


def selection_of(limit: int, sample: int, sample_seed: int) -> Selection:
    """The rows that the flags take; raises `InputError` for numbers that make no sense."""
    from eirene.reading import Selection

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
    from eirene.reading import open_dataset

    return open_dataset(
        name,
        format=format,
        columns=columns or (),
        reader=reader,
        drop_unmapped=drop_unmapped,
        selection=selection,
        each=each,
    )
