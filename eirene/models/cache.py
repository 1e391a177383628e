"""The call cache: stores replies of chat models by what was asked, so that no run pays for a reply twice.

A key stands for one reply: the model and its server, the messages, every sampling field, and the seed of that one
sample. Twenty samples of one prompt have twenty keys, in one request or in twenty; a sample without a seed is never
stored. Only whole replies are.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import sqlite3
import stat
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.data.json_rows import reason
from eirene.models.replies import Reply, ReplyToken
from eirene.prompts import Message

logger = get_logger(__name__)

DEFAULT_SIZE = 2 * 10**9
"""Bytes that a cache may hold: some four million replies of 400 letters."""
_SIZE = re.compile(r"\s*+(\d+(?:\.\d+)?)\s*+([kmgt]?)i?b?\s*+", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_T = TypeVar("_T")

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


class CallCache:
    """Replies in a file, for all models of a run and for other runs beside it; `max_bytes` bounds it.

    Opening raises `InputError` for a file that cannot be used. Later on nothing fails: a cache that cannot be written
    any more (a full disk) goes on without storing, one that cannot be read answers nothing, and a warning says so once.
    SQLite works on a thread of the cache's own, so that a slow disk holds up no event loop. It can be pickled: the copy
    opens the same file. A key has one reply for good, the first; past `max_bytes` the oldest go. A file that cannot be
    written is read all the same; of one that is no such cache no byte changes.

    Examples:
        >>> import os, tempfile
        >>> cache = CallCache(os.path.join(tempfile.mkdtemp(), "calls.sqlite"))
        >>> (key,) = reply_keys("openai:gpt-4o-mini", [Message("user", "Hello")], {"temperature": 1.0}, seeds=[7])
        >>> cache.keep_now({key: Reply("Hi.", "stop")})
        {}
        >>> cache.recall_now([key])[key].text
        'Hi.'
    """

    def __init__(self, path: str | Path, *, max_bytes: int = DEFAULT_SIZE) -> None:
        if max_bytes < 1:
            raise InputError(f"max_bytes must be at least 1, got {max_bytes}", field="cache")
        self.path = Path(path).absolute()  # ":memory:" is a file's name as well
        self.max_bytes = max_bytes
        self.evicted = 0
        """How many replies had to go to make room, since this object was made."""
        self._mutex = threading.Lock()
        try:
            self._reads, self._stores = True, not self.path.exists() or os.access(self.path, os.W_OK)
            with undecodable_as_damage():
                self._connection = self._open()
        except sqlite3.Error as error:
            raise InputError(f"cannot be used as a call cache: {error}; name another file", where=str(path)) from None
        except OSError as error:
            raise InputError(f"cannot be used as a call cache: {reason(error)}", where=str(path)) from None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="eirene-cache")
        self._close = weakref.finalize(self, _close, self._thread, self._connection)
        if not self._stores:
            logger.warning("the call cache %s cannot be written: it is read, and nothing is added", self.path)

    @property
    def stores(self) -> bool:
        """Whether new replies are kept."""
        return self._stores

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (str(self.path), self.max_bytes)

    def __len__(self) -> int:
        with self._mutex:
            return self._number("SELECT count(*) FROM replies")

    async def recall(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """The replies known under these keys."""
        return await self._beside(lambda: self.recall_now(keys)) if keys and self._reads else {}

    async def keep(self, replies: Mapping[bytes, Reply]) -> dict[bytes, Reply]:
        """Stores whole replies; returns those known under a key before, which stand: a rerun will get them, too."""
        return await self._beside(lambda: self.keep_now(replies)) if replies and self._stores else {}

    def recall_now(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """`recall`, for callers without an event loop."""
        try:
            found = self._get(keys) if self._reads else {}
            replies = _decoded(found)
            if len(replies) < len(found):
                logger.warning(
                    "%d replies of the call cache %s are damaged, and are asked for anew",
                    len(found) - len(replies), self.path,
                )  # fmt: skip
                self._drop(found.keys() - replies.keys() if self._stores else ())
        except sqlite3.Error as error:
            self._reads = self._stores = False
            logger.warning("the call cache %s cannot be read and is off from now on: %s", self.path, error)
            return {}
        return replies

    def keep_now(self, replies: Mapping[bytes, Reply]) -> dict[bytes, Reply]:
        """`keep`, for callers without an event loop."""
        whole = {key: _encode(reply) for key, reply in replies.items() if is_whole(reply)}
        try:
            before = self._put(whole) if whole and self._stores else {}
        except sqlite3.Error as error:
            self._stores = False
            logger.warning("the call cache %s cannot be written: nothing is added from now on: %s", self.path, error)
            return {}
        return _decoded(before)

    def close(self) -> None:
        """Lets go of the file; it need not be called, and nothing is stored after it."""
        self._reads = self._stores = False
        self._thread.shutdown()
        with self._mutex:
            self._close()

    async def _beside(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that have one."""
        found: dict[bytes, bytes] = {}
        with self._mutex, undecodable_as_damage():
            for at in range(0, len(keys), _BATCH):
                some = keys[at : at + _BATCH]
                marks = ",".join("?" * len(some))
                found |= self._connection.execute(f"SELECT key, value FROM replies WHERE key IN ({marks})", some)
        return found

    def _put(self, entries: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Stores the entries, all or none; returns the values of keys that had one before, which stay as they are."""
        before: dict[bytes, bytes] = {}
        with self._mutex, undecodable_as_damage(), _transaction(self._connection):
            for row in entries.items():
                done = self._connection.execute("INSERT OR IGNORE INTO replies (key, value) VALUES (?, ?)", row)
                if not done.rowcount:
                    before |= self._connection.execute("SELECT key, value FROM replies WHERE key = ?", row[:1])
            self._evict()
        return before

    def _drop(self, keys: Iterable[bytes]) -> None:
        """Takes entries out."""
        with self._mutex, _transaction(self._connection):
            self._connection.executemany("DELETE FROM replies WHERE key = ?", [(key,) for key in keys])

    def _open(self) -> sqlite3.Connection:
        owner = owner_of(self.path)
        if owner not in (None, _OURS) and (owner or tables_in(self.path, wait_s=_WAIT_S)):
            said = "is the database of another program; name another file for the call cache"
            raise InputError(said, where=str(self.path))
        if owner is None and not self._stores:
            raise InputError("cannot be written, and is empty; name another file", where=str(self.path))
        mode = "rwc" if self._stores else "ro"
        # Where not even the file of its lock can be written, SQLite reads a database if told that nobody changes it.
        if not self._stores and not os.access(self.path.parent, os.W_OK) and not Path(f"{self.path}-wal").exists():
            mode += "&immutable=1"
        uri = f"{self.path.as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
        try:
            if self._stores:
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


def reply_keys(
    model: str, messages: Sequence[Message], fields: Mapping[str, object], *, seeds: Sequence[int]
) -> list[bytes]:
    """The key of each seed's reply: 32 bytes. Anything that differs in any argument gives other keys.

    `fields` are the sampling fields without the seed, as they were asked for: what a provider then refuses does not
    count, so that a rerun, which has yet to find that out, finds the replies.
    """
    said = [[message.role, message.content] for message in messages]
    asked = json.dumps([model, said, dict(fields)], ensure_ascii=True, sort_keys=True, allow_nan=False)
    base = hashlib.sha256(asked.encode("ascii")).digest()
    return [hashlib.sha256(b"%b %d" % (base, seed)).digest() for seed in seeds]


def is_whole(reply: Reply) -> bool:
    """Whether a reply is worth keeping: it has a text, and was neither cut off nor filtered nor a call of a tool."""
    return bool(reply.text.strip()) and reply.finish_reason in (None, "stop")


def parse_size(text: str) -> int:
    """Bytes of a text such as `500MB` or `2GB` (powers of ten); raises `InputError` for another form."""
    found = _SIZE.fullmatch(text)
    size = int(float(found[1]) * _UNITS[found[2].lower()]) if found else 0
    if size < 1:
        raise InputError(f"a cache has a size such as 500MB or 2GB, got {text!r}", field="cache")
    return size


def _encode(reply: Reply) -> bytes:
    tokens = [[t.text, t.logprob, t.top] for t in reply.tokens]
    value = [reply.text, reply.finish_reason, *([tokens] if tokens else [])]
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    return b"%08x%b" % (zlib.crc32(text), text)


def _decoded(found: Mapping[bytes, bytes]) -> dict[bytes, Reply]:
    """The replies that can be read; a value that was changed on disk, and fits its checksum no more, is as good as
    none."""
    replies = {}
    for key, value in found.items():
        try:
            if int(value[:8], 16) != zlib.crc32(value[8:]):
                continue
            text, ending, *rest = json.loads(value[8:])
            tokens = tuple(ReplyToken(t, p, tuple((o, q) for o, q in top)) for t, p, top in (rest[0] if rest else ()))
            replies[key] = Reply(text, ending, tokens)
        except (ValueError, TypeError, AttributeError):
            continue
    return replies


def _reopened(path: str, max_bytes: int) -> CallCache:
    return CallCache(path, max_bytes=max_bytes)


def _close(thread: ThreadPoolExecutor, connection: sqlite3.Connection) -> None:
    thread.shutdown(wait=False)  # this may be that thread: it drops the last reference as well as any other
    with contextlib.suppress(sqlite3.Error):
        connection.close()


_HEADER = 100
_OWNER = slice(68, 72)  # SQLite's `application_id`


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
