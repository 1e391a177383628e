"""Fields: what JSON and tables say, each value as a short sentence ("parcel P-17, expected: 27 November 2026").

A reader of sentences makes little of braces and of a row whose header stands elsewhere. Read so are JSON and Python's
dictionaries where they begin a line, tables of Markdown, and rows of CSV or TSV.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from eirene.text.form_lines import bracketed_data, delimited_rows
from eirene.text.matching import Span, between
from eirene.text.remembered import remembered
from eirene.text.sentences import split_sentences

_TOKEN = re.compile(r"""[{}\[\]:,]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s{}\[\]:,"']+""")
_ROWS = re.compile(r"(?:^[ \t]*\|.*(?:\n|\Z))+", re.MULTILINE)
_RULE = re.compile(r"[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|?)+[ \t]*")
_CELLS = {
    "|": re.compile(r"\|((?:[^|\\]|\\.)*)(?=\|)"),
    **{mark: re.compile(rf'(?:^|(?<={mark}))("(?:[^"]|"")*"|[^{mark}]*)') for mark in ",;\t"},
}
_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")
_SAID = {"true": "yes", "True": "yes", "false": "no", "False": "no", "null": "", "None": "", "NaN": ""}
_SAYS_NOTHING = {"answer", "attribute", "detail", "details", "fact", "feature", "field", "item", "property", "value"}
"""Headers that name no kind of value."""
_LONGEST_NAME = 60
"""Characters of a value that names its record, and of one that is no prose."""


class Field(NamedTuple):
    """A value with its `key`, and what it is `about`: the name of its `record`, the keys around it.

    `start` and `end`: offsets of what says so in the text, which is `written` there. `stretch`: offsets of all the data
    that it belongs to.
    """

    about: str
    key: str
    value: str
    start: int
    end: int
    written: str
    stretch: Span
    record: str = ""

    @property
    def text(self) -> str:
        """The field as a sentence."""
        if self.key and self.value == "no":
            return _listed(self.about, f"no {self.key}")
        return ": ".join(filter(None, (_listed(self.about, self.key), self.value)))


def _listed(*names: str) -> str:
    return ", ".join(filter(None, names))


@remembered(64, longest=8_000)
def fields_of(text: str) -> tuple[Field, ...]:
    """The fields of the JSON and the tables that a text holds, in order; empty fields and headers are none.

    Examples:
        >>> [field.text for field in fields_of('{"parcel": "P-17", "expected": "27 November 2026", "signed": false}')]
        ['parcel P-17', 'parcel P-17, expected: 27 November 2026', 'parcel P-17, no signed']
        >>> [field.text for field in fields_of("| Model | Weight |\\n|---|---|\\n| Aster | 2 kg |")]
        ['Model Aster, Weight: 2 kg']
    """
    opened = bracketed_data(text) if "{" in text or "[" in text else ()
    data = [(a, b) for a, b in opened if not text[text.rfind("\n", 0, a) + 1 : a].strip()]
    found = [one for span in data for one in _Bracketed(text, span).fields()]
    for start, end in between(data, len(text)):
        for (a, b), mark in _tables(text[start:end]):
            found += _of_rows(text, (start + a, start + b), mark)
    return tuple(sorted(found, key=lambda one: (one.start, one.end)))


class _PlainValue(NamedTuple):
    """A plain value with its key, where both begin, and its token."""

    key: str
    text: str
    start: int
    token: re.Match[str]


@dataclass(slots=True)
class _Open:
    """An object or list that is being read: what names it, the key that waits for its value, its values so far."""

    is_list: bool
    about: str
    is_record: bool
    record: str = ""
    key: str = ""
    key_start: int | None = None
    values: list[_PlainValue] = field(default_factory=list)
    label: str = ""  # the first text of a record, with its key


class _Bracketed:
    """The fields of one stretch of JSON; of what is broken off, those that are complete."""

    def __init__(self, text: str, span: Span) -> None:
        self._text, self._span = text, span
        self._open: list[_Open] = []

    def fields(self) -> Iterator[Field]:
        """Those of an object come when it ends: all are named by its first text."""
        for token in _TOKEN.finditer(self._text, *self._span):
            word, inner = token[0], self._open[-1] if self._open else None
            if word in "{[":
                self._begin(word == "[")
            elif word in "}]" and self._open:
                yield from self._ended(self._open.pop())
            elif inner is not None and word not in ":,":
                self._take(inner, token)
        while self._open:
            yield from self._ended(self._open.pop())

    def _begin(self, is_list: bool) -> None:
        if not self._open:
            self._open.append(_Open(is_list, "", not is_list))
            return
        outer = self._open[-1]
        about, record = _listed(outer.about, outer.label, outer.key), outer.label or outer.record
        outer.key, outer.key_start = "", None
        self._open.append(_Open(is_list, about, outer.is_list and not is_list, record))

    def _take(self, inner: _Open, token: re.Match[str]) -> None:
        said = " ".join(_unquoted(token[0]).split())
        if not inner.is_list and inner.key_start is None:
            inner.key, inner.key_start = _words(said), token.start()
            return
        start = token.start() if inner.key_start is None else inner.key_start
        if said:
            inner.values.append(_PlainValue(inner.key, said, start, token))
        is_name = token[0][0] in "\"'" and len(said) <= _LONGEST_NAME and (said[:1].isalpha() or " " not in said)
        if inner.is_record and is_name and not inner.label:
            inner.label = f"{inner.key} {said}"
        inner.key, inner.key_start = "", None

    def _ended(self, record: _Open) -> Iterator[Field]:
        """The fields of an object or of a list of plain values; prose in it says itself what it speaks of."""
        name, plain = record.label or record.record, []
        for value in record.values:
            prose = _prose(value.token)
            yield from (self._field(("", "", said), (start, end), name) for said, start, end in prose)
            plain += [] if prose else [value]
        if record.is_list and plain:
            said = ", ".join(value.text for value in plain)
            yield self._field((record.about, "", said), (plain[0].start, plain[-1].token.end()), name)
        elif not record.is_list:
            label = record.label if len(record.values) > 1 else ""
            for key, said, start, token in plain:
                is_label = label == f"{key} {said}"
                named = (record.about, label, "") if is_label else (_listed(record.about, label), key, said)
                yield self._field(named, (start, token.end()), name)

    def _field(self, named: tuple[str, str, str], place: Span, record: str) -> Field:
        start, end = place
        return Field(*named, start, end, self._text[start:end], self._span, record)


def _prose(token: re.Match[str]) -> list[tuple[str, int, int]]:
    """The sentences of a text of several, with their offsets; those of the whole where signs in it are escaped."""
    if len(token[0]) <= _LONGEST_NAME or token[0][0] not in "\"'":
        return []
    is_plain = "\\" not in token[0]
    sentences = [s for s in split_sentences(_unquoted(token[0])) if s.text]
    at = token.start() + 1
    places = [(at + s.text_start, at + s.text_end) if is_plain else token.span() for s in sentences]
    found = [(s.text, *place) for s, place in zip(sentences, places, strict=True)]
    return found if len(found) > 1 else []


def _unquoted(token: str) -> str:
    if token[0] not in "\"'":
        return _SAID.get(token, token)
    if token[0] == '"':
        with suppress(ValueError):
            return str(json.loads(token, strict=False))
    return token[1:-1]


def _words(key: str) -> str:
    """A key as words: "weightKg" and "weight_kg" are "weight kg"."""
    return key if " " in key else _INNER_CAPITAL.sub(" ", key.replace("_", " ")).lower()


def _tables(text: str) -> Iterator[tuple[Span, str]]:
    """The tables of a text without JSON, each with what stands between its cells."""
    rows = [match.span() for match in _ROWS.finditer(text)] if "|" in text else []
    yield from ((span, "|") for span in rows)
    for start, end in between(rows, len(text)):
        for a, b in delimited_rows(text[start:end]):
            head = text[start + a : start + b].partition("\n")[0]
            yield (start + a, start + b), max("\t;,", key=head.count)


def _of_rows(text: str, span: Span, mark: str) -> Iterator[Field]:
    """A field for each cell of a table's rows, with the row's offsets: its first cell names the row."""
    header: Sequence[str] = ()
    at = span[0]
    lines = text[slice(*span)].splitlines(keepends=True)
    is_headed = mark != "|" or any(_RULE.fullmatch(line.strip()) for line in lines)
    for line in lines:
        said, start = line.strip(), at + len(line) - len(line.lstrip())
        at += len(line)
        cells = [_cell(cell) for cell in _CELLS[mark].findall(said)] if said else []
        if not cells or _RULE.fullmatch(said):
            continue
        if is_headed and not header:
            header = ["" if cell.lower() in _SAYS_NOTHING else cell for cell in cells]
            continue
        heads = [*header, *[""] * (len(cells) - len(header))]
        about = " ".join(filter(None, (heads[0], cells[0])))
        for head, cell in list(zip(heads, cells, strict=False))[1:] or [("", "")]:
            if cell or len(cells) == 1:
                yield Field(about, head, cell, start, start + len(said), said, span, about)


def _cell(text: str) -> str:
    said = text.strip().replace("**", "")
    return " ".join((said[1:-1].replace('""', '"') if said[:1] == said[-1:] == '"' else said).split())
