"""Busy neighbours of a measured process: what else a small machine may be doing."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def neighbours(n: int) -> Iterator[None]:
    """Processes that keep a core busy each, as long as the context lasts."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
