"""JSON and JSON Lines, plain or gzipped, as a source of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eirene.errors import InputError
from eirene.io import Row, count_json_rows, json_rows, taken
from eirene.reading.base import Bytes, readable
from eirene.strict_json import parse_json


class JsonSource:
    """The rows of JSON bytes, as `eirene.io.json_rows` reads them.

    `key`: the bytes hold one object, and the rows stand under this key of it: a list of rows, or one value.
    """

    is_table = False

    def __init__(self, contents: Bytes, *, key: str | None = None, by_line: bool = False) -> None:
        self.name = contents.name if key is None else f"{contents.name}@{key}"
        self._contents = contents
        self._key = key
        self._by_line = by_line

    def columns(self) -> None:
        """None: every row has keys of its own."""
        return None

    def rows(self, *, take: Sequence[int] | None = None, only: frozenset[str] | None = None) -> Iterator[Row]:
        """The rows; `only` saves nothing here."""
        with readable(self.name), self._contents.open() as file:
            if self._key is None:
                yield from json_rows(file, self.name, take=take, by_line=self._by_line)
            else:
                yield from taken(self._under(file.read(), self._key), take)

    def count(self) -> int:
        """How many rows there are; lines are counted without being read as JSON."""
        if self._key is not None:
            return sum(1 for _ in self.rows())
        with readable(self.name), self._contents.open() as file:
            return count_json_rows(file, self.name, by_line=self._by_line)

    def _under(self, data: bytes, key: str) -> Iterator[Row]:
        whole: Any = parse_json(data.removeprefix(b"\xef\xbb\xbf"), where=self._contents.name)
        if not isinstance(whole, dict) or key not in whole:
            there = f"keys: {', '.join(map(repr, list(whole)[:20]))}" if isinstance(whole, dict) else "it is no object"
            raise InputError(f"has nothing under {key!r}; {there}", where=self._contents.name)
        found = whole[key]
        if not isinstance(found, list):
            yield Row(self.name, found)
            return
        if not found:
            raise InputError("is an empty list; give at least one row", where=self.name)
        yield from (Row(f"{self.name}, row {n}", entry) for n, entry in enumerate(found, start=1))
