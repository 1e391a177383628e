"""An append-only journal of JSON objects, each with a key, in a file that survives `kill -9`.

A line has a checksum (`eirene.data.line_checksum`), and is on disk before `append` returns. A last line that was cut
off behind whole ones is taken away by what is written next; any other line that cannot be read, or does not fit its
checksum, is an error, not a guess. One process at a time holds a journal (`eirene.data.journal_file`). It is read once,
when it is opened, and not held: of each line a caller keeps what it needs.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.data.journal_file import JournalFile
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


class Journal:
    """JSON objects in a file, which is made where there is none; use it as a context manager.

    `key_of` finds a line's key, and raises `ValueError` for a line of another kind. `on_line` is told of each line that
    is there, in order, and raises `ValueError` or `InputError` for one that a run cannot go on from. With `anew` all
    lines are taken out, whatever they are. The checksum stands in the object that ends a line, `seal_depth` levels
    down. Opening writes nothing else. Raises `InputError` for a file that another process holds, or that has such a
    line, or nothing but half of one. Several threads may write.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        on_line: OnLine = lambda _: None,
        key_of: KeyOf = key_field,
        anew: bool = False,
        seal_depth: int = 1,
    ) -> None:
        self.path = Path(path)
        self._key_of = key_of
        self._seal_depth = seal_depth
        self._mutex = threading.Lock()
        self._file = JournalFile(self.path)
        try:
            if anew:
                self._file.cut(0)
            self._load(on_line)
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
        texts = (json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8") for line in lines)
        data = b"".join(sealed(text, depth=self._seal_depth) + b"\n" for text in texts)
        with self._mutex:
            self._file.append(data)

    def drop(self, keys: Collection[str]) -> None:
        """Takes the lines of these keys out, so that their work is done again; the others stay, byte for byte.

        The new file appears at once, or the old one stays.
        """
        with self._mutex:
            if keys:
                self._file.mend()
                lines = (text for text, _ in self._file.lines(self._is_whole))
                self._file.replace(text + b"\n" for text in lines if self._key_of(_value(text, "")) not in keys)

    def close(self) -> None:
        """Lets go of the file. Waits for an `append` that is under way."""
        with self._mutex:
            self._file.close()

    def _load(self, on_line: OnLine) -> None:
        n = 0
        for n, (text, _) in enumerate(self._file.lines(self._is_whole), start=1):
            where = f"{self.path}, line {n}"
            try:
                line = _value(text, where)
                self._key_of(line)
            except DamagedError as error:
                raise InputError(f"{error}; without the line what it says is made again", where=where) from None
            except ValueError as error:
                raise InputError(f"is no line of this kind of journal: {error}", where=where) from None
            try:
                on_line(line)
            except InputError as error:
                raise InputError(str(error), field=error.field, where=where) from None
            except ValueError as error:
                raise InputError(f"cannot be gone on from: {error}", where=where) from None
        if self._file.size and not n:
            raise InputError("is no journal, and is left as it is; name another file", where=str(self.path))

    def _is_whole(self, last: bytes) -> bool:
        """Whether a last line lacks nothing but its end: it has been paid for, and is not one that was cut off."""
        try:
            self._key_of(_value(last, ""))
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
