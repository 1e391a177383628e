"""An append-only file of JSON lines that survives `kill -9`: what a run has done and need not do, or pay, again.

A line is on disk (fsync) before `append` returns. A last line that was cut off is repaired when the journal is opened;
any other line that cannot be read is an error, not a guess. One process at a time holds a journal.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from eirene.agent.journal_file import JournalFile, check_torn
from eirene.errors import InputError
from eirene.io import parse_json

Line = dict[str, Any]
KeyOf = Callable[[Line], str]


def key_field(line: Line) -> str:
    """The key that stands in a line's own field `key`."""
    key = line.get("key")
    if not isinstance(key, str) or not key:
        raise ValueError("has no 'key'")
    return key


class Journal:
    """The journal in a file, which is made where there is none; use it as a context manager.

    `key_of` finds a line's key, and raises `ValueError` for a line that is none of its kind. `lines` maps each key to
    its line, in the order of the file. Raises `InputError` for a file that cannot be used: another process holds it, a
    line is broken, a key occurs twice. `append` may be called from several threads.
    """

    def __init__(self, path: str | Path, *, key_of: KeyOf = key_field) -> None:
        self.path = Path(path)
        self.lines: dict[str, Line] = {}
        self.repaired_bytes = 0
        self._key_of = key_of
        self._mutex = threading.Lock()
        self._file = JournalFile(self.path)
        try:
            self._load()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __contains__(self, key: object) -> bool:
        return key in self.lines

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines.values())

    def append(self, line: Mapping[str, Any]) -> None:
        """Adds a line; when this returns it is on disk. A key that is there already is refused with `ValueError`."""
        self.extend([line])

    def extend(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Adds lines, all of them or none, with one wait for the disk; for what costs little to do again."""
        values = [dict(line) for line in lines]
        data = "".join(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n" for value in values)
        with self._mutex:
            fresh = {self._key_of(value): value for value in values}
            known = next((key for key in fresh if key in self.lines), None)
            if known is not None:
                raise ValueError(f"the journal {self.path} has the key {known!r} already")
            if len(fresh) < len(values):
                raise ValueError(f"two lines for the journal {self.path} have one key")
            self._file.append(data.encode("utf-8"))
            self.lines |= fresh

    def drop(self, keys: Collection[str]) -> None:
        """Takes lines out, so that their work is done again. The new file appears at once, or the old one stays."""
        if not set(keys) & set(self.lines):
            return
        with self._mutex:
            kept = {key: line for key, line in self.lines.items() if key not in keys}
            texts = (json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in kept.values())
            self._file.replace(text.encode("utf-8") for text in texts)
            self.lines = kept

    def close(self) -> None:
        """Lets go of the file. Waits for an `append` that is under way."""
        with self._mutex:
            self._file.close()

    def _load(self) -> None:
        data = self._file.read()
        at = data.rfind(b"\n") + 1
        if at < len(data):
            if is_whole(data[at:], self._key_of):
                self._file.append(b"\n")
                data += b"\n"
            else:
                check_torn(data[at:], self.path)
                self._file.cut(at)
                self.repaired_bytes, data = len(data) - at, data[:at]
        for n, text in enumerate(data.split(b"\n")[:-1], start=1):
            where = f"{self.path}, line {n}"
            line = parse_json(text, where=where)
            try:
                key = self._key_of(_object(line))
            except ValueError as error:
                raise InputError(f"is no line of this kind of journal: {error}", where=where) from None
            if key in self.lines:
                raise InputError(f"the key {key!r} stands in the journal twice; take one of the lines out", where=where)
            self.lines[key] = line


def is_whole(data: bytes, key_of: KeyOf) -> bool:
    """Whether a last line lacks nothing but its end: it has been paid for, and is not one that was cut off."""
    try:
        key_of(_object(parse_json(data, where="")))
    except (InputError, ValueError):
        return False
    return True


def _object(value: object) -> Line:
    if not isinstance(value, dict):
        raise ValueError("is no JSON object")
    return value
