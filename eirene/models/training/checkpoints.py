"""A training's checkpoints on disk: which is whole, by the digests of its files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from eirene.core.logs import get_logger
from eirene.models.training.recipe import write_json

logger = get_logger(__name__)

DIGESTS_FILE = "digests.json"
_STATE_FILE = "trainer_state.json"


def write_digests(checkpoint: Path) -> None:
    """Writes the SHA-256 of each file of a checkpoint that is complete into `digests.json` beside them."""
    write_json(checkpoint / DIGESTS_FILE, _digests(checkpoint))


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that is whole; one that was changed on disk is passed over, and a warning says so.

    The Trainer writes its state last: without it a checkpoint was cut off. One of an earlier version has no digests.
    """
    found = [p for p in folder.glob("checkpoint-*") if (p / _STATE_FILE).is_file()]
    for checkpoint in sorted(found, key=lambda p: int(p.name.rpartition("-")[2]), reverse=True):
        if _is_whole(checkpoint):
            return checkpoint
        logger.warning("%s is damaged, and is passed over", checkpoint)
    return None


def _is_whole(checkpoint: Path) -> bool:
    file = checkpoint / DIGESTS_FILE
    if not file.is_file():
        return True
    try:
        return bool(json.loads(file.read_bytes()) == _digests(checkpoint))
    except (OSError, ValueError):
        return False


def _digests(checkpoint: Path) -> dict[str, str]:
    found = {}
    for file in sorted(checkpoint.rglob("*")):
        if file.is_file() and file.stem != Path(DIGESTS_FILE).stem:
            with file.open("rb") as data:
                found[str(file.relative_to(checkpoint))] = hashlib.file_digest(data, "sha256").hexdigest()
    return found
