"""The call cache: stores replies of chat models by what was asked, so that no run pays for a reply twice.

A key stands for one reply: the model and its server, the messages, every sampling field, and the seed of that one
sample. Twenty samples of one prompt have twenty keys, in one request or in twenty; a sample without a seed is never
stored. Only whole replies are.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import json
import re
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

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
_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""The second where SQLite's message quotes bytes of a damaged file that are no text."""
_OWNER = slice(68, 72)  # SQLite's `application_id` in the file's header


class CallCache:
    """Replies in a file, for all models of a run and for other runs beside it; `max_bytes` bounds it.

    Opening raises `InputError` for a file that cannot be used. Later on nothing fails: a cache that cannot be written
    any more (a full disk) goes on without storing, one that cannot be read answers nothing, and a warning says so once.
    SQLite works beside the event loop, so that a slow disk holds up none. It can be pickled: the copy opens the same
    file. A key has one reply for good, the first; past `max_bytes` the oldest go. Of a file that is no such cache no
    byte changes.

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
        self._reads = self.stores = True
        """`stores`: whether new replies are kept."""
        try:
            check_owner(self.path, _OURS)
            self._connection = self._open()
        except (*_ERRORS, OSError) as error:
            why = reason(error) if isinstance(error, OSError) else error
            raise InputError(f"cannot be used as a call cache: {why}; name another file", where=str(path)) from None
        self._close = weakref.finalize(self, self._connection.close)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(CallCache, max_bytes=self.max_bytes), (str(self.path),)

    def __len__(self) -> int:
        with self._mutex:
            return self._number("SELECT count(*) FROM replies")

    async def recall(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """The replies known under these keys."""
        return await asyncio.to_thread(self.recall_now, keys) if keys and self._reads else {}

    async def keep(self, replies: Mapping[bytes, Reply]) -> dict[bytes, Reply]:
        """Stores whole replies; returns those known under a key before, which stand: a rerun will get them, too."""
        return await asyncio.to_thread(self.keep_now, replies) if replies and self.stores else {}

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
                self._drop(found.keys() - replies.keys())
        except _ERRORS as error:
            self._reads = self.stores = False
            logger.warning("the call cache %s cannot be read and is off from now on: %s", self.path, error)
            return {}
        return replies

    def keep_now(self, replies: Mapping[bytes, Reply]) -> dict[bytes, Reply]:
        """`keep`, for callers without an event loop."""
        whole = {key: _encode(reply) for key, reply in replies.items() if is_whole(reply)}
        try:
            before = self._put(whole) if whole and self.stores else {}
        except _ERRORS as error:
            self.stores = False
            logger.warning("the call cache %s cannot be written: nothing is added from now on: %s", self.path, error)
            return {}
        return _decoded(before)

    def close(self) -> None:
        """Lets go of the file; it need not be called, and nothing is stored after it."""
        self._reads = self.stores = False
        with self._mutex:
            self._close()

    def _get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        with self._mutex:
            for at in range(0, len(keys), _BATCH):
                some = keys[at : at + _BATCH]
                marks = ",".join("?" * len(some))
                found |= self._connection.execute(f"SELECT key, value FROM replies WHERE key IN ({marks})", some)
        return found

    def _put(self, entries: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Stores the entries, all or none; returns the values of keys that had one before, which stay as they are."""
        before: dict[bytes, bytes] = {}
        with self._mutex, _transaction(self._connection):
            for row in entries.items():
                done = self._connection.execute("INSERT OR IGNORE INTO replies (key, value) VALUES (?, ?)", row)
                if not done.rowcount:
                    before |= self._connection.execute("SELECT key, value FROM replies WHERE key = ?", row[:1])
            self._evict()
        return before

    def _drop(self, keys: Iterable[bytes]) -> None:
        with self._mutex, _transaction(self._connection):
            self._connection.executemany("DELETE FROM replies WHERE key = ?", [(key,) for key in keys])

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
        try:
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


def check_owner(path: Path, ours: int) -> None:
    """Raises `InputError` unless the file is a database with this `application_id`, or empty, or not there yet.

    Its header is read and nothing else, so that no byte of another program's file changes.
    """
    if path.exists() and not path.is_file():
        raise InputError("is a folder, a device or a pipe; name a file", where=str(path))
    with path.open("rb") if path.exists() else io.BytesIO() as file:
        head = file.read(100)
    if head and (not head.startswith(b"SQLite format 3\0") or int.from_bytes(head[_OWNER], "big") != ours):
        raise InputError("is another program's, or is damaged; name another file", where=str(path))
