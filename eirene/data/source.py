"""Row sources: their interface, and the bytes behind one, from a file or a pipe."""

from __future__ import annotations

import codecs
import gzip
import os
import shutil
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, BinaryIO, Protocol, cast

from eirene.core.errors import InputError
from eirene.core.json import utf8_text
from eirene.data.json_rows import STDIN, JsonBytes, Row, cannot_read, reason

HELD_BYTES = 64 * 2**20
"""What comes through a pipe is held in memory up to this size, and in a temporary file above it."""


class RowSource(Protocol):
    """Rows that can be read more than once, in the same order.

    `is_table`: the rows are cells of named columns (CSV, Parquet, datasets) and not JSON as somebody wrote it.
    """

    @property
    def name(self) -> str: ...

    @property
    def is_table(self) -> bool: ...

    def columns(self) -> tuple[str, ...] | None:
        """The names of a table's columns; None for what is no table."""

    def rows(self, *, take: Sequence[int] | None = None, only: frozenset[str] | None = None) -> Iterator[Row]:
        """The rows, or those at the places that `take` names (from 0, rising); `only` these columns, where that saves
        work. Raises `InputError` that names the place."""

    def count(self) -> int:
        """How many rows there are."""


class Bytes(Protocol):
    """Bytes that can be read more than once, one reading after the other."""

    @property
    def name(self) -> str: ...

    def open(self) -> BinaryIO:
        """The bytes from their start, for a `with` statement."""


class FileBytes:
    """A file. Raises `InputError` if it cannot be opened, and if it has changed since it was first looked at."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._stamp = self._look()

    def open(self) -> BinaryIO:
        try:
            file = open(self.name, "rb")  # noqa: SIM115  # for the caller's `with`
        except (OSError, ValueError) as error:
            raise cannot_read(self.name, error) from None
        if self._look() != self._stamp:
            file.close()
            raise InputError("has changed since its rows were checked; run the command again", where=self.name)
        return file

    def _look(self) -> tuple[int, int]:
        try:
            found = Path(self.name).stat()
        except (OSError, ValueError) as error:
            raise cannot_read(self.name, error) from None
        return found.st_size, found.st_mtime_ns


class PipedBytes:
    """What came through standard input or a pipe, kept so that it can be read again."""

    def __init__(self, name: str, stream: IO[bytes], *, held_bytes: int = HELD_BYTES) -> None:
        self.name = name
        self._kept = tempfile.SpooledTemporaryFile(max_size=held_bytes)  # noqa: SIM115  # lives as long as this does
        weakref.finalize(self, self._kept.close)
        with read_errors(name):
            shutil.copyfileobj(stream, self._kept)

    def open(self) -> BinaryIO:
        self._kept.seek(0)
        return cast("BinaryIO", nullcontext(self._kept))  # which the owner closes


class Unzipped:
    """The contents of gzipped bytes."""

    def __init__(self, packed: Bytes) -> None:
        self.name = packed.name
        self._packed = packed

    def open(self) -> BinaryIO:
        return cast("BinaryIO", _unzipped(self._packed))


@contextmanager
def _unzipped(packed: Bytes) -> Iterator[BinaryIO]:
    with packed.open() as file, gzip.GzipFile(fileobj=file, mode="rb") as contents:
        yield cast("BinaryIO", contents)


def bytes_of(name: str) -> Bytes:
    """The bytes of a file, of a named pipe, or of standard input where the name is `-`.

    Raises `InputError` for a device, which may have no end; a terminal's lines have one.
    """
    if name == STDIN:
        return PipedBytes("standard input", sys.stdin.buffer)
    try:
        mode = os.stat(name).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)):
            return FileBytes(name)
        with open(name, "rb") as pipe:
            if not (stat.S_ISFIFO(mode) or pipe.isatty() or os.path.sameopenfile(pipe.fileno(), 0)):
                raise InputError("is a device; name a file or a pipe, or - for standard input", where=name)
            return PipedBytes(name, pipe)
    except (OSError, ValueError) as error:
        raise cannot_read(name, error) from None


def read_source(path: str) -> JsonBytes:
    """All bytes of a file, a pipe or standard input; raises `InputError` if they cannot be read."""
    contents = bytes_of(path)
    with read_errors(contents.name), contents.open() as opened:
        return JsonBytes(contents.name, opened.read())


def read_text(name: str) -> str:
    """A UTF-8 text file, gzipped or not, or standard input where the name is `-`, with plain line breaks."""
    data_of = bytes_of(name)
    with read_errors(name), (Unzipped(data_of) if name.lower().endswith(".gz") else data_of).open() as opened:
        data = opened.read()
    return utf8_text(data.removeprefix(codecs.BOM_UTF8), where=name).replace("\r\n", "\n")


@contextmanager
def read_errors(name: str) -> Iterator[None]:
    """Around all reading: what the system or the unpacking says becomes an `InputError` that names the file."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"cannot be unpacked: {error}", where=name) from None
    except OSError as error:
        raise InputError(f"cannot be read: {reason(error)}", where=name) from None
