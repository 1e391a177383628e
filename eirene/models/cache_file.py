"""The file of the call cache: keys and values in SQLite (WAL), bounded in size, shared by threads and processes."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.data.json_rows import reason

logger = get_logger(__name__)

_OURS = 0x45697243  # SQLite's `application_id`: "EirC"
_LAYOUT = 1  # SQLite's `user_version`
_WAIT_S = 10.0
"""How long another process's write is waited for; one takes milliseconds."""
_ENTRY = 88  # bytes an entry takes beside its value and checksum: the key twice, row and index entries
_KEEP = 0.9  # what an eviction leaves of the limit, so that not every write evicts
_TOUCHES = 500  # uses that are noted before they are written down
_BATCH = 500

_INSERT = "INSERT OR IGNORE INTO replies (key, value, used) VALUES (?, ?, ?)"

_TABLES = (
    # `value` comes in the order of writing, which is nearly that of use: what is evicted frees whole pages.
    "CREATE TABLE replies"
    " (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL, used INTEGER NOT NULL)",
    "CREATE INDEX by_use ON replies (used)",
    "CREATE TABLE totals (one INTEGER PRIMARY KEY CHECK (one = 1), bytes INTEGER NOT NULL, tick INTEGER NOT NULL)",
    "INSERT INTO totals VALUES (1, 0, 0)",
    f"PRAGMA user_version = {_LAYOUT}",
    f"PRAGMA application_id = {_OURS}",  # last: a file without it is nobody's yet
)
_HEADER = 100
_OWNER = slice(68, 72)  # SQLite's `application_id`


class CacheFile:
    """The entries of a file, which is made where there is none. A key has one value for good: the first one wins.

    `max_bytes` bounds the entries; past it those go that were not used for longest. A file that cannot be written is
    read all the same. Values have checksums: one that was changed on disk is as good as none, and a warning says so;
    those of earlier versions, which begin as a JSON list of texts does, have none. May be used from several threads.
    Raises `InputError` for a file that is no such cache, of which no byte changes; whatever goes wrong later is a
    `sqlite3.Error`.
    """

    def __init__(self, path: str | Path, *, max_bytes: int) -> None:
        if max_bytes < 1:
            raise InputError(f"cache-size must be at least 1 byte, got {max_bytes}", field="cache-size")
        self.path = Path(path).absolute()  # ":memory:" is a file's name as well
        self.max_bytes = max_bytes
        self.evicted = 0
        self._touched: dict[bytes, None] = {}
        self._mutex = threading.Lock()
        try:
            self.read_only = self.path.exists() and not os.access(self.path, os.W_OK)
            with undecodable_as_damage():
                self._connection = self._opened()
        except sqlite3.Error as error:
            raise InputError(f"cannot be used as a call cache: {error}; name another file", where=str(path)) from None
        except OSError as error:
            raise InputError(f"cannot be used as a call cache: {reason(error)}", where=str(path)) from None

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that have one; they count as used."""
        found: dict[bytes, bytes] = {}
        with self._mutex, undecodable_as_damage():
            for at in range(0, len(keys), _BATCH):
                some = keys[at : at + _BATCH]
                marks = ",".join("?" * len(some))
                stored = self._connection.execute(f"SELECT key, value FROM replies WHERE key IN ({marks})", some)
                found |= self._whole(stored.fetchall())
            if not self.read_only:
                self._touched |= dict.fromkeys(found)
                if len(self._touched) >= _TOUCHES:
                    # Who has used what is no reason to fail: the next write tells of what ails the file.
                    with contextlib.suppress(sqlite3.Error), self._writing() as tick:
                        self._write_touches(tick)
        return found

    def put(self, entries: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Stores the entries, all or none; returns the values of keys that had one before, which stay as they are."""
        before: dict[bytes, bytes] = {}
        with self._mutex, undecodable_as_damage(), self._writing() as tick:
            self._write_touches(tick)
            added = 0
            for key, value in entries.items():
                row = (key, _sealed(key, value), tick)
                done = self._connection.execute(_INSERT, row)
                if not done.rowcount:
                    (stored,) = self._connection.execute("SELECT value FROM replies WHERE key = ?", (key,)).fetchone()
                    if whole := self._whole([(key, stored)]):
                        before |= whole
                        continue
                    self._connection.execute("DELETE FROM replies WHERE key = ?", (key,))
                    self._connection.execute(_INSERT, row)
                    added -= len(stored) + _ENTRY if isinstance(stored, bytes) else 0
                added += len(row[1]) + _ENTRY
            self._connection.execute("UPDATE totals SET bytes = bytes + ?", (added,))
            self._evict()
        return before

    def size(self) -> tuple[int, int]:
        """How many entries there are, and how many bytes count for them."""
        with self._mutex:
            (n,) = self._connection.execute("SELECT count(*) FROM replies").fetchone()
            return int(n), self._bytes()

    def close(self) -> None:
        """Notes what was used, and lets go of the file."""
        with self._mutex, contextlib.suppress(sqlite3.Error):
            try:
                if self._touched:
                    with self._writing() as tick:
                        self._write_touches(tick)
            finally:
                self._connection.close()

    def _opened(self) -> sqlite3.Connection:
        """A connection. SQLite gives up at once, whatever its timeout, where two change a new file to WAL together."""
        until = time.monotonic() + _WAIT_S
        while True:
            try:
                return self._open()
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.01)

    def _open(self) -> sqlite3.Connection:
        owner = owner_of(self.path)
        if owner is not None and owner != _OURS and (owner or tables_in(self.path, wait_s=_WAIT_S)):
            raise _of_others(self.path)
        connection = self._connect("ro" if self.read_only else "rwc")
        try:
            connection.execute("BEGIN")  # one look: another process may be making the tables
            is_ours = _is_ours(connection, self.path)
            connection.execute("COMMIT")
            if not is_ours:
                if self.read_only:
                    raise InputError("cannot be written, and is empty; name another file", where=str(self.path))
                _make(connection, self.path)
            if not self.read_only:
                # Readers do not wait for a writer, and a write costs no wait for the disk. A power cut may take the
                # latest entries; it leaves no broken ones.
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        # Where not even the file of its lock can be written, SQLite reads a database if told that nobody changes it.
        if self.read_only and not os.access(self.path.parent, os.W_OK) and not Path(f"{self.path}-wal").exists():
            mode += "&immutable=1"
        uri = f"{self.path.as_uri()}?mode={mode}"
        return sqlite3.connect(uri, uri=True, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[int]:
        """A transaction and its number, which rises from one to the next over all processes."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.execute("UPDATE totals SET tick = tick + 1")
            (tick,) = self._connection.execute("SELECT tick FROM totals").fetchone()
            yield int(tick)
            self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # a full disk may have ended the transaction itself
                self._connection.execute("ROLLBACK")
            raise

    def _whole(self, stored: Sequence[tuple[bytes, object]]) -> dict[bytes, bytes]:
        """The values that fit their keys and checksums, without these."""
        found = {key: _unsealed(key, value) for key, value in stored}
        damaged = [key for key, value in found.items() if value is None]
        if damaged:
            logger.warning(
                "%d replies of the call cache %s are damaged, and are asked for anew", len(damaged), self.path
            )
        return {key: value for key, value in found.items() if value is not None}

    def _write_touches(self, tick: int) -> None:
        rows = [(tick, key) for key in self._touched]
        self._touched.clear()
        self._connection.executemany("UPDATE replies SET used = ? WHERE key = ?", rows)

    def _evict(self) -> None:
        held = self._bytes()
        if held <= self.max_bytes:
            return
        gone: list[tuple[int]] = []
        oldest = self._connection.execute("SELECT id, length(value) FROM replies ORDER BY used, id")
        for number, length in oldest:
            if held <= _KEEP * self.max_bytes:
                break
            gone.append((number,))
            held -= length + _ENTRY
        oldest.close()
        self._connection.executemany("DELETE FROM replies WHERE id = ?", gone)
        self._connection.execute("UPDATE totals SET bytes = ?", (held,))
        self.evicted += len(gone)

    def _bytes(self) -> int:
        (held,) = self._connection.execute("SELECT bytes FROM totals").fetchone()
        return int(held)


def _sealed(key: bytes, value: bytes) -> bytes:
    """A value behind its checksum, which is that of its key as well: a value that came to another key does not fit."""
    return b"%08x" % zlib.crc32(value, zlib.crc32(key)) + value


def _unsealed(key: bytes, stored: object) -> bytes | None:
    """A value without its checksum; None for one that does not fit. One of an earlier version is a JSON list alone."""
    if not isinstance(stored, bytes):  # a changed byte may make a number of it
        return None
    if stored.startswith(b'["'):
        return stored
    value = stored[8:]
    return value if _sealed(key, value) == stored else None


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file holds a cache; False if it is empty. Raises `InputError` for anything else."""
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    (layout,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if owner == _OURS and layout == _LAYOUT:
        connection.execute("SELECT bytes FROM totals").fetchone()
        return True
    if owner == _OURS:
        raise InputError(
            f"is a call cache of another version ({layout}, not {_LAYOUT}); name another file", where=str(path)
        )
    if owner or tables:
        raise _of_others(path)
    return False


def _of_others(path: Path) -> InputError:
    return InputError("is the database of another program; name another file for the call cache", where=str(path))


def _make(connection: sqlite3.Connection, path: Path) -> None:
    """Makes the tables, unless another process has done so meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _is_ours(connection, path):
            for statement in _TABLES:
                connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
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
