"""An append-only file of JSON lines that survives `kill -9`: what a run has done and need not do, or pay, again.

A line is on disk (fsync) before `append` returns, with a checksum (`eirene.data.line_checksum`). Behind whole lines a
last one that was cut off is taken away by what is written next; any other line that cannot be read, or does not fit its
checksum, is an error, not a guess. One process at a time holds a journal.

A journal of any length is read once, when it is opened, and not held: of each line a caller keeps what it needs.

A journal whose lines are held by their keys: for runs of thousands of rows, not of millions.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.data.journal_file import JournalFile, scan
from eirene.data.line_checksum import DamagedError, check_seal, check_unsealed, sealed, without_seal

Line = dict[str, Any]
KeyOf = Callable[[Line], str]
OnLine = Callable[[Line], None]


def key_field(line: Line) -> str:
    """The key that stands in a line's own field `key`."""
    key = line.get("key")
    if not isinstance(key, str) or not key:
        raise ValueError("has no 'key'")
    return key


class LineJournal:
    """The journal in a file, which is made where there is none; use it as a context manager.

    `key_of` finds a line's key, and raises `ValueError` for a line that is none of its kind. `on_line` is told of each
    line that is there, in order, and raises `ValueError` for one that a run cannot go on from. With `anew` all lines
    are taken out, whatever they are. The checksum stands in the object that ends a line, `seal_depth` levels down.
    Opening writes nothing else. Raises `InputError` for a file that another process holds, or that has such a line, or
    nothing but half of one. Several threads may write.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        on_line: OnLine,
        key_of: KeyOf = key_field,
        anew: bool = False,
        seal_depth: int = 1,
    ) -> None:
        self.path = Path(path)
        self._seal_depth = seal_depth
        self._mutex = threading.Lock()
        self._file = JournalFile(self.path)
        try:
            if anew:
                self._file.cut(0)
            self._load(on_line, key_of)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def append(self, line: Mapping[str, Any]) -> None:
        """Adds a line; when this returns it is on disk."""
        self.extend([line])

    def extend(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Adds lines, all of them or none, with one wait for the disk."""
        data = b"".join(map(self._data, lines))
        with self._mutex:
            self._file.append(data)

    def replace(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Puts other lines in the place of all. They appear at once, or the old ones stay."""
        with self._mutex:
            self._file.replace(map(self._data, lines))

    def close(self) -> None:
        """Lets go of the file. Waits for an `append` that is under way."""
        with self._mutex:
            self._file.close()

    def _load(self, on_line: OnLine, key_of: KeyOf) -> None:
        end = 0
        for n, (text, at) in enumerate(scan(self._file.read, size=self._file.size), start=1):
            self._tell(text, f"{self.path}, line {n}", on_line, key_of)
            end = at
        rest = self._file.read(end)
        is_whole = bool(rest) and _is_whole(rest, key_of)
        if is_whole:
            self._tell(rest, f"{self.path}, the last line", on_line, key_of)
        elif rest and not end:
            raise InputError("is no journal, and is left as it is; name another file", where=str(self.path))
        self._file.ends_at(end, lacks=b"\n" if is_whole else b"")

    @staticmethod
    def _tell(text: bytes, where: str, on_line: OnLine, key_of: KeyOf) -> None:
        try:
            line = _value(text, where)
            key_of(line)
        except DamagedError as error:
            raise InputError(f"{error}; without the line what it says is made again", where=where) from None
        except ValueError as error:
            raise InputError(f"is no line of this kind of journal: {error}", where=where) from None
        try:
            on_line(line)
        except ValueError as error:
            raise InputError(f"cannot be gone on from: {error}", where=where) from None

    def _data(self, line: Mapping[str, Any]) -> bytes:
        text = json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8")
        return sealed(text, depth=self._seal_depth) + b"\n"


def _is_whole(data: bytes, key_of: KeyOf) -> bool:
    """Whether a last line lacks nothing but its end: it has been paid for, and is not one that was cut off."""
    try:
        key_of(_value(data, ""))
    except (InputError, ValueError):
        return False
    return True


def _value(text: bytes, where: str) -> Line:
    """What a line says, its checksum left out; raises `InputError` and `ValueError`."""
    is_sealed = check_seal(text)
    value = parse_json(text, where=where)
    if not isinstance(value, dict):
        raise ValueError("is no JSON object")
    if not is_sealed:
        check_unsealed(value)
    return without_seal(value)


class Journal:
    """The journal in a file, which is made where there is none; use it as a context manager.

    `key_of` finds a line's key, and raises `ValueError` for a line that is none of its kind. `lines` maps each key to
    its line, in the order of the file. Raises `InputError` for a file that cannot be used: another process holds it, a
    line is broken, a key occurs twice (with `later_wins` its last line counts). Several threads may write.
    """

    def __init__(self, path: str | Path, *, key_of: KeyOf = key_field, later_wins: bool = False) -> None:
        self.path = Path(path)
        self.lines: dict[str, Line] = {}
        self._key_of = key_of
        self._later_wins = later_wins
        self._mutex = threading.Lock()
        self._file = LineJournal(self.path, on_line=self._take, key_of=key_of)

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
        with self._mutex:
            fresh = {self._key_of(value): value for value in values}
            known = next((key for key in fresh if key in self.lines), None)
            if known is not None:
                raise ValueError(f"the journal {self.path} has the key {known!r} already")
            if len(fresh) < len(values):
                raise ValueError(f"two lines for the journal {self.path} have one key")
            self._file.extend(values)
            self.lines |= fresh

    def drop(self, keys: Collection[str]) -> None:
        """Takes lines out, so that their work is done again. The new file appears at once, or the old one stays."""
        if not set(keys) & set(self.lines):
            return
        with self._mutex:
            kept = {key: line for key, line in self.lines.items() if key not in keys}
            self._file.replace(kept.values())
            self.lines = kept

    def close(self) -> None:
        """Lets go of the file. Waits for an `append` that is under way."""
        self._file.close()

    def _take(self, line: Line) -> None:
        key = self._key_of(line)
        if key in self.lines and not self._later_wins:
            raise ValueError(f"the key {key!r} stands in the journal twice; take one of the lines out")
        self.lines.pop(key, None)
        self.lines[key] = line
