"""A file of lines that survives `kill -9`: locked, appended to and fsynced, mended where its last line was cut off.

What the lines say is the affair of who writes them: `eirene.data.journal`, `eirene.agent.batch.journal`.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.data.json_rows import reason

Read = Callable[[int, int], bytes]
"""A file's bytes from one place to another."""
OnScan = Callable[[int, int], None]
"""Told how many bytes of how many have been read."""

logger = get_logger(__name__)

_BLOCK = 2**22
_LONGEST = 2**30  # bytes of a line; one of a long vote has some 100 kB
_TRIES, _PAUSE_S = 5, 0.02  # somebody who only asks whether it is held holds it for a moment


class JournalFile:
    """A file of lines, made where there is none, open for appending and locked; use it as a context manager.

    `size` is its length in bytes, `is_new` whether it was made here. Raises `InputError` where it cannot be used or
    another process holds it. Not for several threads at once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle, self.is_new = _open_locked(path)
        self.size = os.fstat(self._handle).st_size
        self._is_torn = False
        self._whole, self._lacks = self.size, b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """False after `close`."""
        return self._handle >= 0

    def lines(self, is_whole: Callable[[bytes], bool], *, on_scan: OnScan | None = None) -> Iterator[tuple[bytes, int]]:
        """The lines, each with where it ends; a last one that lacks its end if it `is_whole` but for that.

        Read to its end, it is known what `mend` has to do. Raises `InputError` for a line that no journal has.
        """
        end = 0
        for text, end in read_lines(self.read, size=self.size, is_whole=is_whole, on_scan=on_scan):
            yield text, end
        lacks = end > self.size
        self._whole, self._lacks = (self.size, b"\n") if lacks else (end, b"")

    def mend(self) -> None:
        """Sees to the last line: gives it what it lacks, or takes away what was cut off.

        Every `append` begins with it: a file that nothing comes to stays as it is.
        """
        lacks, self._lacks = self._lacks, b""
        if self.size > self._whole:
            logger.warning("the last line of %s was cut off, and is made again", self.path)
            self.cut(self._whole)
        elif lacks:
            self.append(lacks)

    def append(self, data: bytes) -> None:
        """Adds lines; when this returns they are on disk. Raises `OSError` (a full disk, a folder that is gone) with
        the file as it was before."""
        if not self.is_open:
            raise ValueError(f"the journal {self.path} is closed")
        try:
            self.mend()
            if self._is_torn:  # a drive that was gone is back
                self.cut(self.size)
            _write_all(self._handle, data)
            os.fsync(self._handle)
        except OSError as error:  # half a line must not stay in the middle
            self._is_torn = True
            with suppress(OSError):
                self.cut(self.size)
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        if not _is_at(self._handle, self.path):  # what was written has no name any more, and will be gone
            raise OSError(errno.ENOENT, "the file or its folder has been removed", str(self.path))
        self.size += len(data)
        self._whole = self.size

    def read(self, begin: int = 0, end: int | None = None) -> bytes:
        """The bytes from `begin` to `end` (None: the last)."""
        left = (self.size if end is None else end) - begin
        parts = []
        while left > 0 and (part := os.pread(self._handle, left, begin)):
            parts.append(part)
            begin, left = begin + len(part), left - len(part)
        return b"".join(parts)

    def cut(self, size: int) -> None:
        """Takes everything behind `size` bytes away."""
        os.ftruncate(self._handle, size)
        os.lseek(self._handle, 0, os.SEEK_END)
        os.fsync(self._handle)
        self.size, self._is_torn = size, False
        self._whole, self._lacks = size, b""

    def replace(self, data: Iterable[bytes]) -> None:
        """Puts other contents in the file's place. They appear at once, or the old ones stay."""
        target = self.path.resolve()  # a link is written through, not replaced
        try:
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        try:
            size = 0
            for part in data:
                _write_all(handle, part)
                size += len(part)
            os.fsync(handle)
            _lock(handle, self.path)  # before it has the name: nobody can come in between
            os.chmod(name, os.fstat(self._handle).st_mode)
            os.replace(name, target)
        except BaseException as error:
            os.close(handle)
            with suppress(FileNotFoundError):
                os.unlink(name)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            raise
        _sync_folder(target.parent)
        os.close(self._handle)
        self._handle, self.size, self._is_torn = handle, size, False
        self._whole, self._lacks = size, b""

    def remove(self) -> None:
        """Takes the file away, which nothing has been written to."""
        with suppress(FileNotFoundError):
            os.unlink(self.path.resolve())
        self.close()

    def close(self) -> None:
        """Lets go of the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def read_lines(
    read: Read, *, size: int, is_whole: Callable[[bytes], bool], on_scan: OnScan | None = None
) -> Iterator[tuple[bytes, int]]:
    """The lines of a file, each with where it ends; a last one that lacks its end only if it `is_whole` but for that.

    Of the file, some MiB are held. It ends where nothing more can be read: whoever only looks on may meet a run that
    takes a torn line away. Raises `InputError` for a line that no journal has.
    """
    parts: list[bytes] = []  # of a line whose end is not read yet
    at = 0
    while at < size and (block := read(at, min(at + _BLOCK, size))):
        at += len(block)
        first, *lines = block.split(b"\n")
        parts.append(first)
        if sum(map(len, parts)) > _LONGEST:
            raise InputError("is no journal: it has a line of more than 1 GiB; name another file")
        if lines:
            lines = [b"".join(parts), *lines]
            parts = [lines.pop()]
            end = at - len(parts[0]) - sum(len(line) + 1 for line in lines)
            for line in lines:
                end += len(line) + 1
                yield line, end
        if on_scan is not None:
            on_scan(at, size)
    rest = b"".join(parts)
    if rest and is_whole(rest):
        yield rest, at + 1


def is_held(path: Path) -> bool:
    """Whether a process holds the journal of that name at the moment."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        _lock(handle, path)
    except InputError:
        return True
    finally:
        os.close(handle)
    return False


def _open_locked(path: Path) -> tuple[int, bool]:
    """The file, open for appending and locked, and whether it was made."""
    try:
        _refuse_no_file(path)
        while True:
            is_new = not path.exists()
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                _lock(handle, path)
                if _is_at(handle, path):
                    if is_new:
                        _sync_folder(path.parent)
                    return handle, is_new
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)  # another process has put a new file in its place: that one is meant
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        raise InputError(f"cannot be written: {reason(error)}", where=str(path)) from None


def _refuse_no_file(path: Path) -> None:
    """Raises `InputError` for what holds no lines for good: before it is opened, which a pipe would notice."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise InputError("is a directory; name a file", where=str(path))
    if not stat.S_ISREG(mode):
        raise InputError("is a device or a pipe, which keeps nothing; name a file", where=str(path))


def _lock(handle: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # pragma: no cover  # Windows: a journal works there, and nothing stops a second process
        return
    for _ in range(_TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                return  # a file system without locks
        time.sleep(_PAUSE_S)
    raise InputError("is in use by another run; wait for its end, or name another place", where=str(path))


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _sync_folder(folder: Path) -> None:
    """Puts a new name on disk, where the system can do that for folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
