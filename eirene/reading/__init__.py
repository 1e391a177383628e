"""Reading data sets: files, folders and hub datasets as checked items, streamed.

What belongs here: formats, which column is which field, readers of published sets, and which rows are taken. The
strict reading of JSON itself is in `eirene.io`, the checks of a row in `eirene.records`.
"""

from __future__ import annotations

from eirene.reading.base import RowSource
from eirene.reading.dataset import Dataset, Shape
from eirene.reading.mapping import ColumnMap
from eirene.reading.opening import open_dataset, opened, read_items
from eirene.reading.published import Reader, reader_named
from eirene.reading.selection import Selection
from eirene.reading.sources import check_outside, open_source
from eirene.reading.topic_rows import read_topics_of

__all__ = [
    "ColumnMap",
    "Dataset",
    "Reader",
    "RowSource",
    "Selection",
    "Shape",
    "check_outside",
    "open_dataset",
    "open_source",
    "opened",
    "read_items",
    "read_topics_of",
    "reader_named",
]
