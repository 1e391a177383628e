"""Reading rows from JSON and JSON Lines, each with the words that say where it stood.

JSON is read strictly: NaN and Infinity, a key given twice and nesting without end are errors, as is anything that is
not UTF-8 (a byte order mark at the start is skipped). Every message names the file and the row.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from eirene.errors import InputError
from eirene.records import Item, parse_item

STDIN = "-"
MAX_DEPTH = 100
_LINES = (".jsonl", ".ndjson")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Row:
    """One value of a file and the words that say where it stood, such as `topics.jsonl, line 3`."""

    where: str
    data: object


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a file or of standard input, and the name that messages give it."""

    name: str
    data: bytes

    def rows(self) -> Iterator[Row]:
        """The rows in order: one JSON object, a JSON array of objects, or JSON Lines (blank lines are skipped).

        A name that ends in .jsonl or .ndjson is always read by line; any other content decides for itself.
        """
        data = self.data.removeprefix(_BOM)
        if not data.strip():
            raise InputError("is empty; a row is a JSON object with 'question' and 'answer'", where=self.name)
        if self.name.endswith(_LINES) or _is_lines(data):
            for n, line in enumerate(data.split(b"\n"), start=1):
                if line.strip():
                    where = f"{self.name}, line {n}"
                    yield Row(where, parse_json(line, where=where))
            return
        value = parse_json(data, where=self.name)
        if not isinstance(value, list):
            yield Row(self.name, value)
            return
        if not value:
            raise InputError("is an empty list; give at least one row", where=self.name)
        for n, entry in enumerate(value, start=1):
            yield Row(f"{self.name}, row {n}", entry)

    def items(self) -> Iterator[Item]:
        """The rows as checked items; raises `InputError` at the first bad row and at an id that is used twice."""
        seen: dict[str, str] = {}
        for row in self.rows():
            item = parse_item(row.data, where=row.where)
            if item.id in seen:
                named = isinstance(row.data, dict) and "id" in row.data
                what = f"the id {item.id!r} is taken by" if named else "has no 'id' and the same content as"
                raise InputError(f"{what} {seen[item.id]}; give every row its own id", field="id", where=row.where)
            seen[item.id] = row.where
            yield item


def read_source(path: str) -> Source:
    """All bytes of a file, or of standard input where `path` is `-`; raises `InputError` if they cannot be read."""
    if path == STDIN:
        return Source("standard input", sys.stdin.buffer.read())
    try:
        return Source(path, Path(path).read_bytes())
    except FileNotFoundError:
        raise InputError("no such file", where=path) from None
    except IsADirectoryError:
        raise InputError("is a directory; name a JSON or JSON Lines file in it", where=path) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the name
        raise InputError(f"cannot be read: {reason(error)}", where=path) from None


def read_items(path: str) -> list[Item]:
    """All items of a file, or of standard input where `path` is `-`; raises `InputError` at the first fault."""
    return list(read_source(path).items())


def parse_json(data: bytes, *, where: str) -> Any:
    """One JSON value, read strictly; raises `InputError` that names the place."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError("is UTF-16; save it as UTF-8", where=where) from None
        found = f"byte 0x{data[error.start]:02x} at position {error.start + 1}"
        raise InputError(f"is not UTF-8 ({found}); save it as UTF-8", where=where) from None
    try:
        value = json.loads(
            text, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_once
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in text.strip() else f"column {error.colno}"
        raise InputError(f"is not JSON: {error.msg} ({place})", where=where) from None
    except _BadValueError as error:
        raise InputError(str(error), where=where) from None
    except RecursionError:
        raise InputError(_too_deep(), where=where) from None
    if _is_deep(value):
        raise InputError(_too_deep(), where=where)
    if "\\ud" in text or "\\uD" in text:  # an escape may stand for half a character
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise InputError("holds half a surrogate pair (\\ud800 to \\udfff alone); repair it", where=where) from None
    return value


class _BadValueError(Exception):
    """Legal for Python's JSON reader, not for us."""


def _no_constant(name: str) -> NoReturn:
    raise _BadValueError(f"holds {name}, which is no JSON number; use null, or leave the key out")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _BadValueError(f"holds the number {_short(digits)}, which is too large")
    return value


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python refuses to read numbers of thousands of digits
        raise _BadValueError(f"holds the number {_short(digits)}, which is too large") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _BadValueError(f"has the key {_short(key)!r} twice in one object; keep one of them")
        result[key] = value
    return result


def _short(text: str, limit: int = 24) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def _too_deep() -> str:
    return f"is nested more than {MAX_DEPTH} levels deep; a row needs four"


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for v in level
            if isinstance(v, (dict, list))
            for child in (v.values() if isinstance(v, dict) else v)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def _is_lines(data: bytes) -> bool:
    """Whether the first line that is not blank is a JSON value by itself and something follows it."""
    first, _, rest = data.lstrip().partition(b"\n")
    if not rest.strip():
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        # A broken first line is still a line where the next one starts a row of its own.
        return first.lstrip()[:1] == b"{" and rest.lstrip()[:1] == b"{"
    return True


def reason(error: OSError | ValueError) -> str:
    """Why the system refused, in its own words and without the path that the message already names."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
