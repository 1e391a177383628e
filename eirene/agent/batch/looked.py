"""Which rows a data set has, kept beside the journal: a run that goes on need not read a file that has not changed."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from eirene.agent.batch.standing import OnLook, Wanted, look
from eirene.agent.row_hash import RowHash
from eirene.agent.settings import Settings
from eirene.reading import Dataset
from eirene.records import digest

_MAGIC = b"eirene-rows-1\n"


def rows_path(journal: Path) -> Path:
    """Where the rows are kept beside a journal."""
    return journal.with_name(journal.name + ".rows")


def looked_at(
    dataset: Dataset, hashes: RowHash, settings: Settings, *, journal: Path, on_look: OnLook | None = None
) -> Wanted:
    """What `look` finds, from the last time where file, flags, settings and models are still the same.

    Raises `InputError` as `look` does.
    """
    key = _key(dataset, hashes)
    path = rows_path(journal)
    known = None if key is None else _read(path, key)
    if known is not None:
        return known
    wanted = look(dataset, hashes, settings, on_look)
    if key is not None and key == _key(dataset, hashes):
        _write(path, key, wanted)
    return wanted


def _key(dataset: Dataset, hashes: RowHash) -> bytes | None:
    """What the rows hang on, None where that cannot be told without reading them: a pipe, a folder, a hub."""
    place = Path(dataset.name)
    if dataset.each is not None:
        return None
    with suppress(OSError, ValueError):
        if place.is_file():
            stamp, shape, selection = place.stat(), dataset.shape, dataset.selection
            reader = None if shape.reader is None else shape.reader.name
            how = [dict(shape.columns.columns), reader, shape.drop_unmapped, type(dataset.source).__name__]
            which = [selection.limit, selection.sample, selection.seed]
            file = [str(place.resolve()), stamp.st_size, stamp.st_mtime_ns, stamp.st_ino]
            return bytes.fromhex(digest([file, how, which, hashes.common]))
    return None


def _read(path: Path, key: bytes) -> Wanted | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head = _MAGIC + key
    if not data.startswith(head) or (len(data) - len(head)) % 16 or len(data) == len(head):
        return None
    numbers = np.frombuffer(data[len(head) :], np.uint64)
    half = len(numbers) // 2
    return Wanted(numbers[:half], numbers[half:])


def _write(path: Path, key: bytes, wanted: Wanted) -> None:
    """At once or not at all; a disk that is full is told of where it matters."""
    with suppress(OSError):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines([_MAGIC, key, wanted.ids.tobytes(), wanted.hashes.tobytes()])
            os.replace(name, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)
