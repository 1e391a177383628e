"""The rows of a recipe's data: files of JSON Lines, read strictly, each row made into a value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from eirene.core.errors import InputError
from eirene.data import open_source

T = TypeVar("T")


def rows_of(file: Path, make: Callable[[Any], T], *, what: str) -> list[T]:
    """What `make` gives for each row. Raises `InputError` that names the line, also where a row is not `what`."""
    made = []
    for row in open_source(str(file), format="jsonl").rows():
        try:
            made.append(make(row.data))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"not {what}: {error!r}", where=row.where) from error
    return made
