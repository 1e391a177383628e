"""Row sources on CSV, TSV and JSON files, plain or gzipped, read strictly one record at a time.

JSON and JSON Lines, plain or gzipped, as a source of rows.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

from eirene.core.errors import InputError
from eirene.core.json import parse_json, utf8_text
from eirene.data.json_rows import Row, count_json_rows, json_rows, taken
from eirene.data.source import Bytes, read_errors

_SEPARATORS = ",\t;|"
_NAMED_SEPARATOR = re.compile(r'"?sep=([,\t;|])"?[,\t;|\s]*', re.IGNORECASE)  # a line of Excel's
_MAX_FIELD = (
    2**31 - 1
)  # the most that fits a C long everywhere; the module's own limit of 131,072 is no limit for texts


class CsvSource:
    """The records under a header line, every cell a text.

    The separator of CSV is the one of comma, tab, semicolon and bar that stands most often in the header, or that a
    line `sep=;` before it names; that of TSV is the tab. Quotes are those of RFC 4180. UTF-8 only (a byte order mark is
    skipped). A record with more or fewer cells than the header, a name that two columns share, and a quote left open
    are errors. A column without a name is `column_N` where it holds something, and else none. Blank ones are skipped.
    """

    is_table = True

    def __init__(self, contents: Bytes, *, separator: str | None = None) -> None:
        self.name = contents.name
        self._contents = contents
        self._separator = separator

    def columns(self) -> tuple[str, ...]:
        """The names in the header."""
        with read_errors(self.name), self._contents.open() as file:
            _, header, _ = next(self._records(file))
            return header

    def rows(self, *, take: Sequence[int] | None = None, only: frozenset[str] | None = None) -> Iterator[Row]:
        """The rows; `only` saves nothing here. `where` is the line on which the record begins."""
        with read_errors(self.name), self._contents.open() as file:
            records = self._records(file)
            next(records)
            for n, header, cells in taken(records, take):
                yield Row(f"{self.name}, line {n}", _by_name(header, cells, f"{self.name}, line {n}"))

    def count(self) -> int:
        """How many records there are."""
        with read_errors(self.name), self._contents.open() as file:
            return sum(1 for _ in self._records(file)) - 1

    def _records(self, file: BinaryIO) -> Iterator[tuple[int, tuple[str, ...], list[str]]]:
        """The header, then each record: the line on which it begins, the header's names, the cells."""
        lines = _decoded(file, self.name)
        number, text = next(lines, (1, ""))
        separator = self._separator
        if named := _NAMED_SEPARATOR.fullmatch(text):
            separator = named[1]
            number, text = next(lines, (1, ""))
        if csv.field_size_limit() < _MAX_FIELD:
            csv.field_size_limit(_MAX_FIELD)
        rest = chain([text], (line for _, line in lines))
        header: tuple[str, ...] = ()
        for n, cells in self._read(rest, separator or _separator_of(text), ahead=number - 1):
            header = header or _named(cells, f"{self.name}, line {n}")
            yield n, header, cells
        if not header:
            raise InputError("is empty; the first line of a table names its columns", where=self.name)

    def _read(self, lines: Iterator[str], separator: str, *, ahead: int) -> Iterator[tuple[int, list[str]]]:
        """Each record with the line on which it begins. A line of separators alone, as spreadsheets write it, is none.

        `ahead`: the lines before the first.
        """
        read: list[str] = [""]
        reader = csv.reader(map(partial(_noted, read), lines), delimiter=separator, strict=True)
        before = 0
        try:
            for cells in reader:
                if read[0].strip(f"{separator} \t\r\n"):
                    yield ahead + before + 1, cells
                before = reader.line_num
        except csv.Error as error:
            where = f"{self.name}, line {ahead + reader.line_num}"
            raise InputError(f"is not CSV: {_said(error)}", where=where) from None


def _noted(last: list[str], line: str) -> str:
    """The line, which is put in the list as well."""
    last[0] = line
    return line


def _by_name(header: tuple[str, ...], cells: list[str], where: str) -> dict[str, str]:
    """The cells under the names of their columns, but for blank ones of columns without a name."""
    named = max((n for n, name in enumerate(header, start=1) if name != _made_name(n)), default=0)
    if len(cells) < named or any(map(str.strip, cells[len(header) :])):
        raise InputError(
            f"has {len(cells)} cells, the header {len(header)}; is a quote or a separator missing?", where=where
        )
    both = enumerate(zip(header, cells, strict=False), start=1)
    return {name: cell for n, (name, cell) in both if cell.strip() or name != _made_name(n)}


def _decoded(file: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """The lines as text, from the first that is not blank on."""
    begun = False
    for n, line in enumerate(file, start=1):
        text = utf8_text(line.removeprefix(codecs.BOM_UTF8) if n == 1 else line, where=f"{name}, line {n}")
        begun = begun or bool(text.strip())
        if begun:
            yield n, text


def _separator_of(header: str) -> str:
    plain = re.sub(r'"[^"]*"', "", header)
    return max(_SEPARATORS, key=plain.count)  # of equals the first: a header of one column has a comma


def _named(cells: list[str], where: str) -> tuple[str, ...]:
    names = tuple(cell.strip() or _made_name(n) for n, cell in enumerate(cells, start=1))
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"the header names the column {twice[0]!r} twice; rename one of them", where=where)
    return names


def _made_name(n: int) -> str:
    return f"column_{n}"


def _said(error: csv.Error) -> str:
    text = str(error)
    if "new-line character" in text:
        return "a carriage return stands alone outside quotes; save the file with ordinary line ends"
    if "unexpected end of data" in text:
        return "a quote is left open"
    return text


class JsonSource:
    """The rows of JSON bytes, as `eirene.data.json_rows.json_rows` reads them.

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
        with read_errors(self.name), self._contents.open() as file:
            if self._key is None:
                yield from json_rows(file, self.name, take=take, by_line=self._by_line)
            else:
                yield from taken(self._under(file.read(), self._key), take)

    def count(self) -> int:
        """How many rows there are; lines are counted without being read as JSON."""
        if self._key is not None:
            return sum(1 for _ in self.rows())
        with read_errors(self.name), self._contents.open() as file:
            return count_json_rows(file, self.name, by_line=self._by_line)

    def _under(self, data: bytes, key: str) -> Iterator[Row]:
        whole: Any = parse_json(data.removeprefix(codecs.BOM_UTF8), where=self._contents.name)
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
