"""Output files: never overwritten unless asked for, and written atomically."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from eirene.core.errors import InputError
from eirene.data.json_rows import reason

STDOUT = "-"


def check_output(path: str, *, force: bool) -> None:
    """Raises `InputError` if `path` could not be written as asked. Called before any work is done for the file."""
    if path == STDOUT:
        return
    if not path.strip():
        raise InputError("the name of a file is empty; name one")
    target = Path(path)
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        parent = target.parent
        if not parent.is_dir():
            raise InputError(f"cannot be written: there is no folder {str(parent)!r}", where=path) from None
        if not os.access(parent, os.W_OK):
            raise InputError(f"cannot be written: no permission in the folder {str(parent)!r}", where=path) from None
        return
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be written: {reason(error)}", where=path) from None
    if stat.S_ISDIR(mode):
        raise InputError("is a directory; name a file", where=path)
    if not os.access(target, os.W_OK):
        raise InputError("cannot be written: no permission", where=path)
    if stat.S_ISREG(mode) and not force:
        raise InputError("exists already; name another file, or give --force (in Python force=True)", where=path)


def write_text(path: str, text: str, *, force: bool = False) -> None:
    """Writes a whole file as UTF-8: all of it appears at once, or what was there stays as it was.

    Raises `InputError` where the file exists and `force` is not set, and where it cannot be written.
    """
    check_output(path, force=force)
    data = text.encode("utf-8")
    if path == STDOUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    target = Path(path).resolve()  # a link is written through, not replaced
    try:
        if target.exists() and not target.is_file():  # a device or a pipe
            target.write_bytes(data)
            return
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(name, target.stat().st_mode if target.exists() else 0o666 & ~_umask())
            _put(Path(name), target, force=force)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
    except OSError as error:
        raise InputError(f"cannot be written: {reason(error)}", where=path) from None


def _put(finished: Path, target: Path, *, force: bool) -> None:
    if not force:
        try:
            os.link(finished, target)  # unlike a rename, a link fails where another process was faster
            return
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            if target.exists():
                raise FileExistsError(17, "File exists") from None
    os.replace(finished, target)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def line_writer(path: str, *, force: bool = False) -> Iterator[Callable[[str], None]]:
    """Gives a function that adds one line and lets go of it at once, so that an interrupted run keeps what was done.

    Raises `InputError` where the file exists and `force` is not set, and where it cannot be written.
    """
    check_output(path, force=force)
    with contextlib.ExitStack() as stack:
        try:
            fresh = not force and not Path(path).exists()
            own = path != STDOUT
            file = stack.enter_context(open(path, "xb" if fresh else "wb")) if own else sys.stdout.buffer
        except OSError as error:
            raise InputError(f"cannot be written: {reason(error)}", where=path) from None

        def write(line: str) -> None:
            file.write(line.encode("utf-8") + b"\n")
            file.flush()

        yield write


def make_folder(out: str | Path) -> Path:
    """The folder of that name, made where there is none; raises `InputError` where it cannot be one."""
    if not str(out).strip():
        raise InputError("the name of a folder is empty; name one", field="out")
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError("is a file; name a folder", where=str(out)) from None
    except OSError as error:
        raise unusable_folder(out, error) from None
    return folder


def unusable_folder(out: str | Path, error: OSError) -> InputError:
    """What to raise for a folder that cannot be used."""
    return InputError(f"cannot be used as a folder: {reason(error)}", where=str(out))
