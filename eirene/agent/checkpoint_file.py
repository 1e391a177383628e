"""Checkpoints in an SQLite file: what a run that waits for a person has done, kept until the person comes back."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from eirene.errors import InputError
from eirene.extras import importing

_WAIT_S = 1.0
"""How long another run is waited for that holds the file."""


@contextlib.asynccontextmanager
async def checkpoint_file(path: str | Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """A checkpointer on the file, which is made where there is none; one run at a time holds it.

    Only plain values are read back from it, whatever it holds. Raises `InputError` for a file that cannot be used: held
    by another run, no database, another program's. Raises `MissingExtraError` without the extra `sqlite`.
    """
    with importing("langgraph.checkpoint.sqlite"):
        import aiosqlite
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    file = _checked(path)
    is_open = False
    try:
        async with aiosqlite.connect(file, timeout=_WAIT_S) as connection:
            # The file is this process's until the connection closes, or the process ends in whatever way.
            await connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            await connection.execute("BEGIN IMMEDIATE")
            await connection.commit()
            saver = AsyncSqliteSaver(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
            await saver.setup()
            is_open = True
            yield saver
    except sqlite3.Error as error:
        if is_open:  # a full disk, a file that was damaged
            raise OSError(errno.EIO, str(error), str(path)) from None
        raise _unusable(error, path) from None


def _checked(path: str | Path) -> Path:
    """The file's full path (":memory:" is a file's name as well), after a look at whether it can be used."""
    file = Path(path).absolute()
    try:
        with contextlib.closing(sqlite3.connect(file, timeout=_WAIT_S)) as connection:
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error as error:
        raise _unusable(error, path) from None
    if tables and "checkpoints" not in tables:
        raise InputError("is the database of another program; name another file", where=str(path))
    return file


def _unusable(error: sqlite3.Error, path: str | Path) -> InputError:
    held = "locked" in str(error)
    why = "is in use by another run; wait for its end, or name another file" if held else f"cannot be used: {error}"
    return InputError(why, where=str(path))
