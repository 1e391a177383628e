"""Whose an SQLite file is, found out without changing a byte of it: to open one for writing alone may change it."""

from __future__ import annotations

import contextlib
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from eirene.core.errors import InputError

_HEADER = 100
_OWNER = slice(68, 72)  # SQLite's `application_id`


def owner_of(path: Path) -> int | None:
    """The `application_id` of a database, 0 where none was given; None where there is no file, or an empty one.

    Raises `InputError` for what is no file, and `sqlite3.DatabaseError` for a file that is no database.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise sqlite3.OperationalError("is a folder")
    if not stat.S_ISREG(mode):
        raise InputError("is a device or a pipe, which keeps nothing; name a file", where=str(path))
    with path.open("rb") as file:
        head = file.read(_HEADER)
    if head and not head.startswith(b"SQLite format 3\0"):
        raise sqlite3.DatabaseError("file is not a database")
    return int.from_bytes(head[_OWNER], "big") if head else None


@contextlib.contextmanager
def damage_told() -> Iterator[None]:
    """Makes a `sqlite3.DatabaseError` of what Python raises where SQLite's message quotes bytes that are no text."""
    try:
        yield
    except UnicodeDecodeError:
        raise sqlite3.DatabaseError("the database is damaged") from None


def tables_in(path: Path, *, wait_s: float) -> set[str]:
    """The names of a database's tables; none where there is no file, or an empty one. Raises as `owner_of` does."""
    if owner_of(path) is None:
        return set()
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with damage_told(), contextlib.closing(sqlite3.connect(uri, uri=True, timeout=wait_s)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
