"""SHA-256 checksums of an index's files, and the error for files that are not what was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eirene.core.errors import InputError

_BLOCK = 1 << 22
_CHECK = "check"


def damaged(file: Path, why: str, *, home: Path) -> InputError:
    """The error for a file of the index in the folder `home`; it names both, and what to do."""
    return InputError(
        f"is damaged ({why}); delete the folder {home}, and the next run makes the index again", where=str(file)
    )


class Running:
    """The checksum of a file that grows: of its first `size` bytes so far."""

    def __init__(self) -> None:
        self.size = 0
        self._found = hashlib.sha256()

    def add(self, data: bytes) -> None:
        """What was appended."""
        self._found.update(data)
        self.size += len(data)

    def hexdigest(self) -> str:
        """64 hexadecimal digits."""
        return self._found.hexdigest()


def read_prefix(file: Path, size: int) -> Running:
    """The checksum of a file's first `size` bytes; shorter where the file is."""
    found = Running()
    with file.open("rb") as data:
        while found.size < size and (block := data.read(min(_BLOCK, size - found.size))):
            found.add(block)
    return found


def sha256_of(file: Path) -> str:
    """64 hexadecimal digits of a whole file."""
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def sealed(value: Mapping[str, Any]) -> bytes:
    """An object as JSON, with a checksum of its own in it: no byte can change unseen."""
    return json.dumps({**value, _CHECK: _check(value)}).encode("ascii")


def unsealed(data: bytes) -> dict[str, Any]:
    """The object that `sealed` wrote. Raises `ValueError` for anything else."""
    value = json.loads(data)
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    if value.pop(_CHECK, None) != _check(value):
        raise ValueError("its checksum does not fit")
    return value


def _check(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("ascii")).hexdigest()
