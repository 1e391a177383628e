"""JSON and JSON Lines rows, each with its place in the file for error messages.

JSON is read strictly (`eirene.core.json`); a byte order mark at the start is skipped. Every message names the
file and the row. Other formats, and items of rows, are in `eirene.data`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO, Protocol, TypeVar

from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.data.line_checksum import DamagedError, unsealed

STDIN = "-"
_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_BOM = b"\xef\xbb\xbf"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Row:
    """One value of a file and the words that say where it stood, such as `topics.jsonl, line 3`."""

    where: str
    data: object


class HasRows(Protocol):
    """Anything that gives rows in order."""

    def rows(self) -> Iterator[Row]: ...


@dataclass(frozen=True, slots=True)
class JsonBytes:
    """The bytes of a file or of standard input, and the name that messages give it."""

    name: str
    data: bytes

    def rows(self) -> Iterator[Row]:
        """The rows in order: one JSON object, a JSON array of objects, or JSON Lines (see `json_rows`)."""
        return json_rows(io.BytesIO(self.data), self.name)


def json_rows(file: BinaryIO, name: str, *, take: Sequence[int] | None = None, by_line: bool = False) -> Iterator[Row]:
    """The rows of a file that is open at its start: one JSON object, a JSON array, or JSON Lines, line by line.

    A name that ends in .jsonl or .ndjson, or `by_line`, is read by line (unless it holds an array after all: one line,
    or laid out from a bare `[` on); any other content decides for itself. Blank lines are skipped. `take` names rows by
    number, from 0 and rising: the others are not read as JSON. Of lines, one is held at a time; an array is held whole.
    """
    lines = _lines_of(file)
    first = next(lines, None)
    if first is None:
        raise InputError("is empty; give at least one row, a JSON object", where=name)
    second = next(lines, None)
    if _is_by_line(first[1], None if second is None else second[1], by_line or name.endswith(_LINES)):
        for n, line in taken(chain([first], [second] if second else [], lines), take):
            where = f"{name}, line {n}"
            yield Row(where, _checked(line, where))
        return
    file.seek(0)
    value = _checked(file.read().removeprefix(_BOM), name)
    if not isinstance(value, list):
        yield from taken([Row(name, value)], take)
        return
    if not value:
        raise InputError("is an empty list; give at least one row", where=name)
    yield from taken((Row(f"{name}, row {n}", entry) for n, entry in enumerate(value, start=1)), take)


def _checked(line: bytes, where: str) -> object:
    """The value of a line. One that Eirene wrote fits its checksum (`eirene.data.line_checksum`), which is left out."""
    try:
        text = unsealed(line)
    except DamagedError as error:
        raise InputError(str(error), where=where) from None
    return parse_json(text, where=where)


def count_json_rows(file: BinaryIO, name: str, *, by_line: bool = False) -> int:
    """How many rows `json_rows` gives; those of JSON Lines are counted without being read as JSON."""
    lines = (text for _, text in _lines_of(file))
    first, second = next(lines, None), next(lines, None)
    if first is not None and _is_by_line(first, second, by_line or name.endswith(_LINES)):
        return 1 + (second is not None) + sum(1 for _ in lines)
    file.seek(0)
    return sum(1 for _ in json_rows(file, name))


def taken(values: Iterable[_T], take: Sequence[int] | None) -> Iterator[_T]:
    """The values at the places that `take` names, which count from 0 and rise; all where it is None."""
    if take is None:
        yield from values
        return
    places = iter(take)
    place = next(places, None)
    if place is None:
        return
    for at, value in enumerate(values):
        if at == place:
            yield value
            place = next(places, None)
            if place is None:
                return


def cannot_read(path: str, error: OSError | ValueError) -> InputError:
    """What to say when a file cannot be opened or read."""
    if not path.strip():
        return InputError("the name of a file is empty; name one")
    if isinstance(error, FileNotFoundError):
        return InputError("no such file", where=path)
    if isinstance(error, IsADirectoryError):
        return InputError("is a directory; name a file in it", where=path)
    return InputError(f"cannot be read: {reason(error)}", where=path)  # ValueError: a NUL character in the name


def _lines_of(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers from 1; a byte order mark at the start is left out."""
    for n, line in enumerate(file, start=1):
        text = line.removeprefix(_BOM) if n == 1 else line
        if text.strip():
            yield n, text


def _is_by_line(first: bytes, second: bytes | None, named: bool) -> bool:
    """Whether rows stand on lines of their own: the name says so, or the first line is a value and others follow."""
    if named:
        return first.strip() != b"[" and not (second is None and first.lstrip()[:1] == b"[")
    if second is None:
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        # A broken first line is still a line where the next one starts a row of its own.
        return first.lstrip()[:1] == b"{" and second.lstrip()[:1] == b"{"
    return True


def reason(error: OSError | ValueError) -> str:
    """Why the system refused, in its own words and without the path that the message already names."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
