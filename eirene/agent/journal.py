"""A journal whose lines are held by their keys: for runs of thousands of rows, not of millions."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from eirene.agent.line_journal import KeyOf, Line, LineJournal, key_field


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
