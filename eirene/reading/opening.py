"""From what a command line says to a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from eirene.reading.base import RowSource
from eirene.reading.dataset import Dataset, Shape
from eirene.reading.mapping import ColumnMap
from eirene.reading.published import reader_named
from eirene.reading.selection import Selection
from eirene.reading.sources import open_source
from eirene.records import Item


def open_dataset(
    name: str,
    *,
    format: str = "auto",
    columns: Iterable[str] = (),
    reader: str | None = None,
    drop_unmapped: bool = False,
    selection: Selection | None = None,
    each: Callable[[Item], Item] | None = None,
) -> Dataset:
    """The items that `name` stands for (see `open_source`); `columns` are texts such as `question=prompt`.

    Raises `InputError` for what cannot be found, and for a map or a reader that is not in a form known.
    """
    shape = Shape(ColumnMap.of(columns), None if reader is None else reader_named(reader), drop_unmapped)
    return Dataset(open_source(name, format=format), shape, selection, each=each)


def opened(data: str | RowSource) -> RowSource:
    """The source that a name stands for (see `open_source`), or the source itself."""
    return open_source(data) if isinstance(data, str) else data


def read_items(name: str) -> list[Item]:
    """All items of a file, folder, hub dataset or standard input; raises `InputError` at the first fault."""
    return open_dataset(name).read()
