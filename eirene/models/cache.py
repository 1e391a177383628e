"""The call cache: stores replies of chat models by what was asked, so that no run pays for a reply twice.

A key stands for one reply: the model and its server, the messages, every sampling field, and the seed of that one
sample. Twenty samples of one prompt have twenty keys, in one request or in twenty; a sample without a seed is never
stored. Only whole replies are.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sqlite3
import weakref
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.models.cache_file import CacheFile
from eirene.models.replies import Reply, ReplyToken
from eirene.prompts import Message

logger = get_logger(__name__)

DEFAULT_SIZE = 2 * 10**9
"""Bytes that a cache may hold: some four million replies of 400 letters."""
_SIZE = re.compile(r"\s*+(\d+(?:\.\d+)?)\s*+([kmgt]?)i?b?\s*+", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_T = TypeVar("_T")


class CallCache:
    """Replies in a file, for all models of a run and for other runs beside it; `max_bytes` bounds it.

    Opening raises `InputError` for a file that cannot be used. Later on nothing fails: a cache that cannot be written
    any more (a full disk) goes on without storing, one that cannot be read answers nothing, and a warning says so once.
    SQLite works on a thread of the cache's own, so that a slow disk holds up no event loop. It can be pickled: the copy
    opens the same file.

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
        self._file = CacheFile(path, max_bytes=max_bytes)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="eirene-cache")
        self._reads, self._stores = True, not self._file.read_only
        self._close = weakref.finalize(self, _close, self._thread, self._file)
        if self._file.read_only:
            logger.warning("the call cache %s cannot be written: it is read, and nothing is added", self.path)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def max_bytes(self) -> int:
        """What it may hold."""
        return self._file.max_bytes

    @property
    def evicted(self) -> int:
        """How many replies had to go to make room, since this object was made."""
        return self._file.evicted

    @property
    def stores(self) -> bool:
        """Whether new replies are kept."""
        return self._stores

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (str(self.path), self.max_bytes)

    def __len__(self) -> int:
        return len(self._file)

    async def recall(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """The replies known under these keys."""
        return await self._beside(lambda: self.recall_now(keys)) if keys and self._reads else {}

    async def keep(self, replies: Mapping[bytes, Reply]) -> dict[bytes, Reply]:
        """Stores whole replies; returns those known under a key before, which stand: a rerun will get them, too."""
        return await self._beside(lambda: self.keep_now(replies)) if replies and self._stores else {}

    def recall_now(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """`recall`, for callers without an event loop."""
        try:
            found = self._file.get(keys) if self._reads else {}
            replies = _decoded(found)
            if len(replies) < len(found):
                logger.warning(
                    "%d replies of the call cache %s are damaged, and are asked for anew",
                    len(found) - len(replies), self.path,
                )  # fmt: skip
                self._file.drop(found.keys() - replies.keys() if self._stores else ())
        except sqlite3.Error as error:
            self._reads = self._stores = False
            logger.warning("the call cache %s cannot be read and is off from now on: %s", self.path, error)
            return {}
        return replies

    def keep_now(self, replies: Mapping[bytes, Reply]) -> dict[bytes, Reply]:
        """`keep`, for callers without an event loop."""
        whole = {key: _encode(reply) for key, reply in replies.items() if is_whole(reply)}
        try:
            before = self._file.put(whole) if whole and self._stores else {}
        except sqlite3.Error as error:
            self._stores = False
            logger.warning("the call cache %s cannot be written: nothing is added from now on: %s", self.path, error)
            return {}
        return _decoded(before)

    def close(self) -> None:
        """Lets go of the file; it need not be called, and nothing is stored after it."""
        self._reads = self._stores = False
        self._thread.shutdown()
        self._close()

    async def _beside(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


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
        raise InputError(f"cache-size must be a size such as 500MB or 2GB, got {text!r}", field="cache-size")
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


def _close(thread: ThreadPoolExecutor, file: CacheFile) -> None:
    thread.shutdown(wait=False)  # this may be that thread: it drops the last reference as well as any other
    file.close()
