"""Data sets: files, folders and hub datasets as validated items, streamed.

What belongs here: formats, which column is which field, readers of published sets, and which rows are taken. The
strict reading of JSON itself is in `eirene.data.json_rows`, the checks of a row in `eirene.core.records`.
"""

from eirene.data.columns import ColumnMap
from eirene.data.dataset import Dataset, Selection, Shape
from eirene.data.open import check_outside, open_dataset, open_source, opened, read_items
from eirene.data.source import RowSource
from eirene.data.topics import read_topics

__all__ = [
    "ColumnMap",
    "Dataset",
    "RowSource",
    "Selection",
    "Shape",
    "check_outside",
    "open_dataset",
    "open_source",
    "opened",
    "read_items",
    "read_topics",
]
