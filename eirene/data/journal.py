"""The journal: a file of JSON lines that survives `kill -9`. Locked, appended to and fsynced, a checksum a line.

A last line that was cut off behind whole ones is removed by what is written next, with a warning. Any other line that
is no JSON object, or does not fit its checksum (`eirene.data.line_checksum`), is an error, never a guess. One process
at a time holds a journal.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.core.logs import get_logger
from eirene.data.json_rows import reason
from eirene.data.line_checksum import KEY, DamagedError, sealed, unsealed

logger = get_logger(__name__)

Line = dict[str, Any]
OnLine = Callable[[Line], object]
OnScan = Callable[[int, int], None]
"""Told how many bytes of how many have been read."""

_LONGEST = 2**30  # bytes of a line; one of a long vote has some 100 kB
_COPIED = 2**24
_TOLD = 1000  # lines between two words of progress
_TRIES, _PAUSE_S = 5, 0.02  # somebody who only asks whether it is held holds it for a moment


@dataclass(frozen=True, slots=True)
class JournalLine:
    """A line: its number from 1, where its bytes begin and end, its JSON without the checksum, and the fault of one
    that cannot be believed."""

    number: int
    begin: int
    end: int
    text: bytes
    fault: str | None


def scan(file: BinaryIO, *, size: int, on_scan: OnScan | None = None) -> Iterator[JournalLine]:
    """The lines of a file that is open at its start; a last one that was cut off is left out.

    One line is held. Raises `InputError` for a line that no journal has.
    """
    number = end = 0
    while raw := file.readline(_LONGEST):
        if len(raw) == _LONGEST:
            raise InputError("is no journal: it has a line of more than 1 GiB; name another file")
        number, begin, end = number + 1, end, end + len(raw)
        text, fault = raw, None
        try:
            text = _checked(raw)
        except DamagedError as error:
            if not raw.endswith(b"\n"):
                return
            fault = str(error)
        if on_scan is not None and not number % _TOLD:
            on_scan(end, size)
        yield JournalLine(number, begin, end, text, fault)


def _checked(raw: bytes) -> bytes:
    """A line without its checksum; `DamagedError` if that does not fit, or was moved by another program."""
    text = unsealed(raw)
    if text is raw:
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            raise DamagedError("is not JSON") from None
        if not isinstance(value, dict):
            raise DamagedError("is no JSON object")
        if KEY in value:
            raise DamagedError(f"was written anew by another program, and its checksum fits no more; take {KEY!r} out")
    return text


class Journal:
    """Lines in a file, which is made where there is none; a context manager. Several threads may write.

    Read `lines` to the end before anything is written; opening and reading write nothing. `is_new`: whether the file
    was made here; where an error ends the context and nothing was written, it goes again. Raises `InputError` where
    the file cannot be used or another process holds it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._mutex = threading.Lock()
        self._handle, self.is_new = _open_locked(self.path)
        self._size = os.fstat(self._handle).st_size
        self._owed = b""  # the end that the last line lacks

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None and self.is_new and not self._size:
            with suppress(FileNotFoundError):
                os.unlink(self.path.resolve())
        self.close()

    def lines(self, *, on_scan: OnScan | None = None, damaged_ok: bool = False) -> Iterator[JournalLine]:
        """The lines. Raises `InputError` for a file without a whole one, which is nobody's journal, and without
        `damaged_ok` for a line that cannot be believed."""
        size, end, is_ours = os.fstat(self._handle).st_size, 0, False
        with open(os.dup(self._handle), "rb") as file:
            file.seek(0)
            for line in scan(file, size=size, on_scan=on_scan):
                if line.fault is not None and not damaged_ok:
                    said = f"is no line of a journal: it {line.fault}; without it, what it says is made again"
                    raise InputError(said, where=f"{self.path}, line {line.number}")
                end, is_ours = line.end, is_ours or line.fault is None
                yield line
        if size and not is_ours:
            raise InputError("is no journal, and is left as it is; name another file", where=str(self.path))
        self._size = end
        self._owed = b"\n" if end and read_at(self._handle, 1, end - 1) != b"\n" else b""

    def append(self, lines: Iterable[bytes | Mapping[str, Any]]) -> None:
        """Adds JSON objects, all of them or none; when this returns they are on disk.

        Raises `OSError` (a full disk, a folder that is gone) with the file as it was before.
        """
        texts = (line if isinstance(line, bytes) else _ENCODER.encode(line).encode() for line in lines)
        data = b"".join(sealed(text) + b"\n" for text in texts)
        with self._mutex:
            if self._handle < 0:
                raise ValueError(f"the journal {self.path} is closed")
            try:
                self._mend()
                _write_all(self._handle, data)
                os.fsync(self._handle)
            except OSError as error:  # half a line must not stay in the middle; if it does now, the next append sees it
                with suppress(OSError):
                    os.ftruncate(self._handle, self._size)
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            if not _is_at(self._handle, self.path):  # what was written has no name any more, and will be gone
                raise OSError(errno.ENOENT, "the file or its folder has been removed", str(self.path))
            self._size += len(data)

    def mend(self) -> None:
        """Removes a line that was cut off, as the next `append` would: a run may have nothing left to write."""
        with self._mutex:
            self._mend()

    def drop(self, places: Sequence[tuple[int, int]]) -> None:
        """Takes out what stands at these bytes, which rise. The new file appears at once, or the old one stays."""
        with self._mutex:
            last = self._size
            self._mend()
            ends = [0, *(self._size if end == last else end for _, end in places)]  # with the end that the last lacked
            begins = [*(begin for begin, _ in places), self._size]
            parts = (part for at in zip(ends, begins, strict=True) for part in self._parts(*at))
            self._replace(parts)

    def read(self, begin: int, end: int) -> bytes:
        """The bytes from `begin` to `end`."""
        return b"".join(self._parts(begin, end))

    def close(self) -> None:
        """Lets go of the file. Waits for an `append` that is under way."""
        with self._mutex:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1

    def _mend(self) -> None:
        """Ends the last line, and removes what stands behind it: a line cut off, or the rest of a failed append."""
        if os.fstat(self._handle).st_size > self._size:
            logger.warning("the last line of %s was cut off, and is made again", self.path)
            os.ftruncate(self._handle, self._size)
        if self._owed:
            _write_all(self._handle, self._owed)
            self._size, self._owed = self._size + len(self._owed), b""

    def _parts(self, begin: int, end: int) -> Iterator[bytes]:
        while begin < end and (part := read_at(self._handle, min(end - begin, _COPIED), begin)):
            begin += len(part)
            yield part

    def _replace(self, parts: Iterable[bytes]) -> None:
        target = self.path.resolve()  # a link is written through, not replaced
        name = None
        try:
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
            for part in parts:
                _write_all(handle, part)
            os.fsync(handle)
            lock(handle, self.path)  # before it has the name: nobody can come in between
            os.chmod(name, os.fstat(self._handle).st_mode)
            os.replace(name, target)
        except BaseException as error:
            if name is not None:
                os.close(handle)
                with suppress(FileNotFoundError):
                    os.unlink(name)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, str(self.path)) from None
            raise
        _sync_folder(target.parent)
        os.close(self._handle)
        self._handle, self._size = handle, os.fstat(handle).st_size


def open_journal(path: str | Path, *, on_line: OnLine = lambda _: None, anew: bool = False) -> Journal:
    """A journal that has been read: `on_line` was told of each line, in order.

    It raises `ValueError` or `InputError` for one that a run cannot go on from, which becomes an `InputError` with the
    line's place. With `anew` all lines are taken out, whatever they are.
    """
    journal = Journal(path)
    try:
        if anew:
            os.truncate(path, 0)
        for line in journal.lines():
            where = f"{path}, line {line.number}"
            try:
                on_line(parse_json(line.text, where=where))
            except InputError as error:
                raise InputError(str(error).removeprefix(f"{where}: "), field=error.field, where=where) from None
            except ValueError as error:
                raise InputError(f"cannot be gone on from: {error}", where=where) from None
    except BaseException:
        journal.close()
        raise
    return journal


def is_held(path: Path) -> bool:
    """Whether a process holds the journal of that name at the moment."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        lock(handle, path)
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
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
            try:
                lock(handle, path)
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


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_BUSY = "is in use by another run; wait for its end, or name another place"


def lock(handle: int, path: Path, *, busy: str = _BUSY) -> None:
    """Locks an open file until it is closed; raises `InputError` with `busy` where another process has it locked."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover  # Windows: nothing stops a second process
        return
    for _ in range(_TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                return  # a file system without locks
        time.sleep(_PAUSE_S)
    raise InputError(busy, where=str(path))


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False


def read_at(handle: int, size: int, at: int) -> bytes:
    """Up to `size` bytes from the place `at` of an open file. Without `os.pread` (Windows) its place moves there."""
    if hasattr(os, "pread"):
        return os.pread(handle, size, at)
    os.lseek(handle, at, os.SEEK_SET)
    return os.read(handle, size)


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
