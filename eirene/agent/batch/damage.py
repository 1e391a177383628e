"""Damaged lines of a batch's journal: how many, which, and what to tell the user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from eirene.core.errors import InputError

_NAMED = 5  # numbers of lines in a message


class Damage:
    """The lines of a journal that are none, or no more: how many, the first numbers, what is wrong with the first."""

    def __init__(self, path: Path) -> None:
        self.n = 0
        self._path = path
        self._first: list[int] = []
        self._why = ""

    def add(self, number: int, why: str) -> None:
        """One more, whose number counts from 1."""
        self.n += 1
        self._why = self._why or why
        if len(self._first) < _NAMED:
            self._first.append(number)

    def told(self) -> str:
        """Which lines, and why: `line 3 (is no JSON object)`."""
        numbers = ", ".join(map(str, self._first))
        more = f" and {self.n - _NAMED:,} more" if self.n > _NAMED else ""
        return f"line{'s' * (self.n > 1)} {numbers}{more} ({'the first: ' * (self.n > 1)}{self._why})"

    def error(self) -> InputError:
        """For a journal that has other, whole lines."""
        return InputError(
            f"is damaged in {self.told()}; --replace-damaged has the rows made again and keeps such lines in a file of "
            "their own",
            where=str(self._path),
        )

    def no_journal(self, why: str) -> InputError:
        """For a file without one whole line of a batch."""
        return InputError(
            f"is no journal of a batch: {self.told() if self.n else why}; it is left as it is, name another file",
            where=str(self._path),
        )


def set_aside(journal: Path, lines: Iterator[bytes]) -> Path:
    """Puts lines into a new file beside the journal, and says where."""
    for n in count(1):
        place = journal.with_name(f"{journal.name}.damaged" + ("" if n == 1 else f"-{n}"))
        with suppress(FileExistsError), place.open("xb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
            return place
    raise AssertionError("unreachable: the numbers do not end")
