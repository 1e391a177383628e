"""Parts for worker processes: importable by name, as a spawned process needs them."""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import replace
from pathlib import Path

from eirene.agent.backends import resolve_backend
from eirene.agent.state import Parts
from eirene.core.errors import AuthError
from eirene.core.usage import Meter
from eirene.refiners.base import RefineTask
from tests.scripted_parts import scripted_parts

logger = logging.getLogger(__name__)


class Deadly:
    """A refiner that ends its process at certain questions: at "once" a first time, at "always" each time.

    It has no key for others, and warns of some.
    """

    name = "deadly"

    def __init__(self, seen: Path) -> None:
        self._seen = seen

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        question = task.item.question
        if "always" in question or ("once" in question and not self._seen.exists()):
            self._seen.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if "warn" in question:
            logger.warning("the question %r is odd", question)
        if "key" in question:
            raise AuthError("the key is refused")
        return task.answer + " More."


def deadly(seen: str) -> Parts:
    if seen.endswith("old"):
        logger.warning("the parts are old")
    return replace(scripted_parts(), refiner=Deadly(Path(seen)), detectors=())


def embedded() -> Parts:
    return resolve_backend("embedded")


def broken() -> Parts:
    os._exit(7)


def killed(seen: str, *, times: int) -> Parts:
    """Parts of a process that is killed while it builds them, the first `times` times."""
    file = Path(seen)
    before = len(file.read_bytes()) if file.exists() else 0
    if before < times:
        file.write_bytes(b"x" * (before + 1))
        os.kill(os.getpid(), signal.SIGKILL)
    return deadly(seen + ".deadly")
