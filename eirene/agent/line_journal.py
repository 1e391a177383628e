"""A journal of any length, read once when it is opened and not held: of each line a caller keeps what it needs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from eirene.agent.batch.index import scan
from eirene.agent.journal import KeyOf, Line, is_whole, key_field
from eirene.agent.journal_file import JournalFile, check_torn
from eirene.errors import InputError
from eirene.io import parse_json

OnLine = Callable[[Line], None]


class LineJournal:
    """The journal in a file, which is made where there is none; use it as a context manager.

    `on_line` is told of each line that is there, in order, and raises `ValueError` for one that does not belong to this
    run. A last line that was cut off is taken away; with `anew` all lines are. `append` waits for the disk; several
    threads may call it. Raises `InputError` for a file that another process holds, or that has a line of another kind.
    """

    def __init__(self, path: str | Path, *, on_line: OnLine, key_of: KeyOf = key_field, anew: bool = False) -> None:
        self.path = Path(path)
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
        with self._mutex:
            self._file.close()

    def append(self, line: Mapping[str, Any]) -> None:
        """Adds a line; when this returns it is on disk."""
        data = json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
        with self._mutex:
            self._file.append(data.encode("utf-8"))

    def _load(self, on_line: OnLine, key_of: KeyOf) -> None:
        end = 0
        for n, (text, at) in enumerate(scan(self._file.read, begin=0, size=self._file.size), start=1):
            self._tell(text, f"{self.path}, line {n}", on_line, key_of)
            end = at
        rest = self._file.read(end)
        if rest and is_whole(rest, key_of):
            self._file.append(b"\n")
            self._tell(rest, f"{self.path}, the last line", on_line, key_of)
        elif rest:
            check_torn(rest, self.path)
            self._file.cut(end)

    @staticmethod
    def _tell(text: bytes, where: str, on_line: OnLine, key_of: KeyOf) -> None:
        line = parse_json(text, where=where)
        try:
            if not isinstance(line, dict):
                raise ValueError("is no JSON object")
            key_of(line)
            on_line(line)
        except ValueError as error:
            raise InputError(f"does not belong to this run: {error}", where=where) from None
