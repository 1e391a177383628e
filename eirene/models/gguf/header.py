"""The header of a GGUF file: counts and lengths checked against the file's size, before a library believes them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import BinaryIO

MAGIC = b"GGUF"
MOST_ENTRIES = 4_000_000
"""Entries of all lists of a header together; the largest vocabularies with their merges have under a million."""

_VERSIONS = (2, 3)
_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of each type of number."""
_TEXT, _LIST = 8, 9
_MOST_DIMENSIONS = 8


class HeaderError(ValueError):
    """The header does not fit the file; the message says how, as the end of a sentence about it."""


@dataclass(slots=True)
class _Reader:
    """Reads a header front to back, and nothing that lies outside the file."""

    file: BinaryIO
    size: int
    at: int = 0
    entries: int = 0

    def take(self, form: str) -> int:
        """One number, as `struct` names its form."""
        width = struct.calcsize(form)
        self.skip(width)
        self.file.seek(self.at - width)
        (value,) = struct.unpack(form, self.file.read(width))
        return int(value)

    def skip(self, length: int) -> None:
        self.at += length
        if self.at > self.size:
            raise HeaderError("its header goes beyond its end")

    def skip_text(self) -> None:
        self.skip(self.take("<Q"))

    def skip_value(self, kind: int) -> None:
        if kind == _LIST:
            kind, count = self.take("<I"), self.take("<Q")
            self.entries += count
            if kind == _LIST or self.entries > MOST_ENTRIES:
                raise HeaderError(f"its header has lists of lists, or more than {MOST_ENTRIES:,} entries in lists")
            if kind in _WIDTHS:
                self.skip(count * _WIDTHS[kind])
                return
        else:
            count = 1
        for _ in range(count):
            if kind == _TEXT:
                self.skip_text()
            elif kind in _WIDTHS:
                self.skip(_WIDTHS[kind])
            else:
                raise HeaderError(f"its header has a value of the unknown type {kind}")


def check_header(file: BinaryIO, size: int) -> None:
    """Raises `HeaderError` where a count, a length or an offset of an open file's header lies outside its `size`."""
    reader = _Reader(file, size, at=len(MAGIC))
    version = reader.take("<I")
    if version not in _VERSIONS:
        raise HeaderError(f"it has the version {version}, and read are {_VERSIONS[0]} and {_VERSIONS[1]}")
    tensors, values = reader.take("<Q"), reader.take("<Q")
    if tensors + values > size // 13:  # each has a name's length, a type and a value at least
        raise HeaderError("its header counts more than it can hold")
    for _ in range(values):
        reader.skip_text()
        reader.skip_value(reader.take("<I"))
    for _ in range(tensors):
        reader.skip_text()
        dimensions = reader.take("<I")
        if dimensions > _MOST_DIMENSIONS:
            raise HeaderError(f"it has a tensor of {dimensions} dimensions")
        reader.skip(dimensions * 8 + 4)
        if reader.take("<Q") > size:
            raise HeaderError("a tensor lies beyond its end")
