"""Readers of published sets: rows as they were released, as fields of Eirene's rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eirene.core.errors import InputError
from eirene.data import asqa, eli5, haluquestqa
from eirene.data.columns import Fields
from eirene.data.json_rows import Row


@dataclass(frozen=True, slots=True)
class Reader:
    """One published form. `read` gives a row's fields; `spread`, where there is one, makes several rows of one.

    A reader of a set whose answers are people's gives them as `gold` and no `answer`.
    """

    name: str
    read: Callable[[Mapping[str, Any], str], Fields]
    spread: Callable[[Row], Iterable[Row]] | None = None


READERS = {
    reader.name: reader
    for reader in (
        Reader("asqa", asqa.read, asqa.spread),
        Reader("eli5", eli5.read),
        Reader("haluquestqa", haluquestqa.read, haluquestqa.spread),
    )
}


def reader_named(name: str) -> Reader:
    """The reader of this name; raises `InputError` that names the known ones."""
    if name not in READERS:
        raise InputError(f"there is no reader {name!r}; readers: {', '.join(READERS)}", field="reader")
    return READERS[name]
