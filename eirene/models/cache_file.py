"""The file of the call cache: keys and values in SQLite (WAL), bounded in size, shared by threads and processes."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from eirene.core.errors import InputError
from eirene.data.json_rows import reason

_OURS = 0x45697243  # SQLite's `application_id`: "EirC"
_LAYOUT = 2  # SQLite's `user_version`
_WAIT_S = 10.0
"""How long another process's write is waited for; one takes milliseconds."""
_KEEP = 0.9  # what an eviction leaves of the limit, so that not every write evicts
_BATCH = 500
_TABLES = (
    "CREATE TABLE replies (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL)",
    f"PRAGMA user_version = {_LAYOUT}",
    f"PRAGMA application_id = {_OURS}",  # last: a file without it is nobody's yet
)
_HEADER = 100
_OWNER = slice(68, 72)  # SQLite's `application_id`


class CacheFile:
    """The entries of a file, which is made where there is none. A key has one value for good: the first one wins.

    `max_bytes` bounds the file; past it the oldest entries go. A file that cannot be written is read all the same. May
    be used from several threads. Raises `InputError` for a file that is no such cache, of which no byte changes;
    whatever goes wrong later is a `sqlite3.Error`.
    """

    def __init__(self, path: str | Path, *, max_bytes: int) -> None:
        if max_bytes < 1:
            raise InputError(f"cache-size must be at least 1 byte, got {max_bytes}", field="cache-size")
        self.path = Path(path).absolute()  # ":memory:" is a file's name as well
        self.max_bytes = max_bytes
        self.evicted = 0
        self._mutex = threading.Lock()
        try:
            self.read_only = self.path.exists() and not os.access(self.path, os.W_OK)
            with undecodable_as_damage():
                self._connection = self._open()
        except sqlite3.Error as error:
            raise InputError(f"cannot be used as a call cache: {error}; name another file", where=str(path)) from None
        except OSError as error:
            raise InputError(f"cannot be used as a call cache: {reason(error)}", where=str(path)) from None

    def __len__(self) -> int:
        with self._mutex:
            return self._number("SELECT count(*) FROM replies")

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that have one."""
        found: dict[bytes, bytes] = {}
        with self._mutex, undecodable_as_damage():
            for at in range(0, len(keys), _BATCH):
                some = keys[at : at + _BATCH]
                marks = ",".join("?" * len(some))
                found |= self._connection.execute(f"SELECT key, value FROM replies WHERE key IN ({marks})", some)
        return found

    def put(self, entries: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Stores the entries, all or none; returns the values of keys that had one before, which stay as they are."""
        before: dict[bytes, bytes] = {}
        with self._mutex, undecodable_as_damage(), _transaction(self._connection):
            for row in entries.items():
                done = self._connection.execute("INSERT OR IGNORE INTO replies (key, value) VALUES (?, ?)", row)
                if not done.rowcount:
                    before |= self._connection.execute("SELECT key, value FROM replies WHERE key = ?", row[:1])
            self._evict()
        return before

    def drop(self, keys: Iterable[bytes]) -> None:
        """Takes entries out."""
        with self._mutex, _transaction(self._connection):
            self._connection.executemany("DELETE FROM replies WHERE key = ?", [(key,) for key in keys])

    def close(self) -> None:
        """Lets go of the file."""
        with self._mutex, contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _open(self) -> sqlite3.Connection:
        owner = owner_of(self.path)
        if owner not in (None, _OURS) and (owner or tables_in(self.path, wait_s=_WAIT_S)):
            said = "is the database of another program; name another file for the call cache"
            raise InputError(said, where=str(self.path))
        if owner is None and self.read_only:
            raise InputError("cannot be written, and is empty; name another file", where=str(self.path))
        mode = "ro" if self.read_only else "rwc"
        # Where not even the file of its lock can be written, SQLite reads a database if told that nobody changes it.
        if self.read_only and not os.access(self.path.parent, os.W_OK) and not Path(f"{self.path}-wal").exists():
            mode += "&immutable=1"
        uri = f"{self.path.as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
        try:
            if not self.read_only:
                with _transaction(connection):  # another process may be making the table
                    if not connection.execute("SELECT name FROM sqlite_master").fetchall():
                        for statement in _TABLES:
                            connection.execute(statement)
                # Readers do not wait for a writer, and a write costs no wait for the disk. A power cut may take the
                # latest entries; it leaves no broken ones. Of two who change a new file to it at once, one is refused.
                with contextlib.suppress(sqlite3.OperationalError):
                    connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
            (layout,) = connection.execute("PRAGMA user_version").fetchone()
            if layout != _LAYOUT:
                said = f"is a call cache of another version ({layout}, not {_LAYOUT}); name another file"
                raise InputError(said, where=str(self.path))
            connection.execute("SELECT id, key, value FROM replies LIMIT 1")
        except BaseException:
            connection.close()
            raise
        return connection

    def _evict(self) -> None:
        """Deletes the oldest entries of a file that has grown too large; SQLite uses their room again."""
        while (held := self._held()) > self.max_bytes and (n := self._number("SELECT count(*) FROM replies")):
            most = max(1, round(n * (1 - _KEEP * self.max_bytes / held)))
            oldest = "SELECT id FROM replies ORDER BY id LIMIT ?"
            self.evicted += self._connection.execute(f"DELETE FROM replies WHERE id IN ({oldest})", (most,)).rowcount

    def _held(self) -> int:
        """Bytes of the pages in use."""
        pages = self._number("PRAGMA page_count") - self._number("PRAGMA freelist_count")
        return pages * self._number("PRAGMA page_size")

    def _number(self, statement: str) -> int:
        (found,) = self._connection.execute(statement).fetchone()
        return int(found)


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # a full disk may have ended the transaction itself
            connection.execute("ROLLBACK")
        raise


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
def undecodable_as_damage() -> Iterator[None]:
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
    with undecodable_as_damage(), contextlib.closing(sqlite3.connect(uri, uri=True, timeout=wait_s)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
