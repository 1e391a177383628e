"""A PostgreSQL server of the tests' own, on a Unix socket in a folder of its own, for as long as they run."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


def postgres_binaries() -> Path | None:
    """The folder with `initdb` and `pg_ctl`; Debian keeps them out of the path."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


@contextlib.contextmanager
def postgres_server(binaries: Path) -> Iterator[str]:
    """A running server; gives the connection string of its database.

    PostgreSQL refuses to be run by root, who runs it as another user; that user cannot enter pytest's own folders.
    """
    user = _unprivileged() if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="eirene-pg-") as folder:
        if user is not None:
            os.chown(folder, user, -1)

        def call(*command: str) -> None:
            done = subprocess.run(
                [str(binaries / command[0]), "-D", f"{folder}/data", *command[1:]],
                user=user, cwd=folder, capture_output=True, text=True, timeout=120, check=False,
                stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr

        call("initdb", "-A", "trust", "-U", "eirene", "-E", "UTF8", "--no-sync")
        # The log goes to a file: a server that inherits the pipes would keep `run` waiting for their end.
        flags = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c shared_buffers=16MB"
        call("pg_ctl", "start", "-w", "-l", f"{folder}/log", "-o", flags)
        try:
            yield f"host={folder} user=eirene dbname=postgres"
        finally:
            call("pg_ctl", "stop", "-w", "-m", "immediate")


def _unprivileged() -> int:
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    return 65534  # what `nobody` is everywhere
