"""Checkpoints in an SQLite file: a run that waits for a person's review is kept until that person comes back."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from eirene.core.errors import InputError
from eirene.core.extras import importing
from eirene.data.json_rows import reason
from eirene.data.line_checksum import DamagedError
from eirene.models.cache_file import owner_of, tables_in

_OURS = 0x4569724B  # SQLite's `application_id`: "EirK"
_TABLE = "checkpoints"
_CHECKED = "+crc32"
_UNCHECKED = ("msgpack", "null", "bytes", "bytearray", "json")  # what earlier versions wrote
_WAIT_S = 1.0
"""How long another run is waited for that holds the file."""


@contextlib.asynccontextmanager
async def checkpoint_file(path: str | Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """A checkpointer on the file, which is made where there is none; one run at a time holds it.

    Only plain values are read back from it, whatever it holds, and only as they were written: each has a checksum, but
    for those of earlier versions. Raises `InputError` for a file that cannot be used: held by another run, no database,
    another program's, damaged. Raises `MissingExtraError` without the extra `sqlite`.
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
            await connection.execute(f"PRAGMA application_id = {_OURS}")
            await connection.commit()
            saver = AsyncSqliteSaver(connection, serde=_Checked(JsonPlusSerializer(allowed_msgpack_modules=None)))
            await saver.setup()
            is_open = True
            yield saver
    except DamagedError as error:
        raise InputError(f"holds a run that {error}; name another file to begin anew", where=str(path)) from None
    except sqlite3.Error as error:
        if is_open:  # a full disk, a file that was damaged
            raise OSError(errno.EIO, str(error), str(path)) from None
        raise _unusable(error, path) from None


class _Checked:
    """A serializer whose values begin with their checksum, which the name of their type says."""

    def __init__(self, inner: SerializerProtocol) -> None:
        self._inner = inner

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        kind, data = self._inner.dumps_typed(obj)
        return f"{kind}{_CHECKED}", zlib.crc32(data).to_bytes(4, "big") + data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Raises `DamagedError` for a value that was changed."""
        kind, value = data
        if kind.endswith(_CHECKED):
            if int.from_bytes(value[:4], "big") != zlib.crc32(value[4:]):
                raise DamagedError("does not fit its checksum: it was changed since it was written")
            kind, value = kind.removesuffix(_CHECKED), value[4:]
        elif kind not in _UNCHECKED:
            raise DamagedError(f"is of an unknown kind, {kind!r}")
        return self._inner.loads_typed((kind, value))


def _checked(path: str | Path) -> Path:
    """The file's full path (":memory:" is a file's name as well), after a look at whether it can be used."""
    file = Path(path).absolute()
    try:
        owner = owner_of(file)
        tables = {_TABLE} if owner in (None, _OURS) else tables_in(file, wait_s=_WAIT_S)
        is_ours = owner in (None, 0, _OURS) and (not tables or _TABLE in tables)  # 0: an earlier version's
        if is_ours:
            # In this thread: what fails in that of `aiosqlite` is told by nobody.
            with contextlib.closing(sqlite3.connect(file, timeout=_WAIT_S)) as connection:
                connection.execute("SELECT name FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        raise _unusable(error, path) from None
    except OSError as error:
        raise InputError(f"cannot be used: {reason(error)}", where=str(path)) from None
    if not is_ours:
        raise InputError("is the database of another program; name another file", where=str(path))
    return file


def _unusable(error: sqlite3.Error, path: str | Path) -> InputError:
    held = "locked" in str(error)
    why = "is in use by another run; wait for its end, or name another file" if held else f"cannot be used: {error}"
    return InputError(why, where=str(path))
