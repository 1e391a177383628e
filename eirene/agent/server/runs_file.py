"""The file of a server's runs: a line of JSON with a checksum for each finished one; the last are read back."""

from __future__ import annotations

import os

from eirene.agent.server.run import Run
from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.data.json_rows import reason
from eirene.data.line_checksum import sealed, unsealed

logger = get_logger(__name__)

_TAIL_BYTES = 16 * 2**20  # what is read back
_TORN = b'{"id":"run-'  # how a line of ours begins


def read_back(path: str, keep: int) -> list[Run]:
    """The runs of the last lines; makes the file where there is none, readable by its owner alone.

    Lines that are damaged, or of another version, are left out, and a warning says how many. Raises `InputError` for a
    file that cannot be written, and for one of something else, which stays as it is.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            begin = file.seek(max(0, size - _TAIL_BYTES))
            data = file.read(min(size, _TAIL_BYTES))  # a device has no size, and perhaps no end
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be written: {reason(error)}", where=path) from None
    *lines, torn = data.split(b"\n")
    lines = lines[1:] if begin else lines  # the first one may lack its beginning
    lines += [torn] if torn else []
    found = [_run(line) for line in lines[-keep:]]
    runs = [run for run in found if run is not None]
    if lines and not runs and not (len(lines) == 1 and torn.startswith(_TORN)):
        raise InputError("is no file of a server's runs, and is left as it is; name another file", where=path)
    n = len(found) - len(runs) - (bool(torn) and _run(torn) is None)
    if n:
        logger.warning("%d runs in %s are damaged or of another version, and are left out", n, path)
    return runs


def append(path: str, data: bytes) -> None:
    """One line more, never behind a torn one. A full disk costs the line, not the answer: the client waits for that."""
    try:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
            size = os.fstat(file.fileno()).st_size
            is_torn = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
            file.write(b"\n" * is_torn + sealed(data) + b"\n")
    except OSError as error:
        logger.warning("a run could not be written to %s: %s", path, reason(error))


def _run(line: bytes) -> Run | None:
    try:
        return Run.of_json(unsealed(line))
    except (ValueError, TypeError, KeyError):
        return None
