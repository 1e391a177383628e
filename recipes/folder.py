"""The folder of a recipe's training: claimed by one recipe; a card for each finished seed, which is not made again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.core.signature import check_seed
from eirene.data.line_checksum import check_value
from recipes.train.run import write_json

logger = get_logger(__name__)

CARD_FILE, RUN_FILE = "training.json", "run.json"
_TORN = "run.tmp"  # what is left of a call that was killed while it made its first file


def check_seeds(seeds: Sequence[int]) -> None:
    """Raises `InputError` where there is none, or where two are the same."""
    if not seeds or len(set(seeds)) != len(seeds):
        raise InputError(f"seeds must be distinct and at least one, got {list(seeds)}", field="seeds")
    for seed in seeds:
        check_seed(seed)


def claim(folder: Path, *, made_by: str) -> None:
    """Marks the folder as that of a training; raises `InputError` for one that holds something else, left as it is."""
    mark = {"made_by": made_by}
    if folder.is_dir() and {file.name for file in folder.iterdir()} - {_TORN}:
        try:
            is_ours = json.loads((folder / RUN_FILE).read_text(encoding="utf-8")) == mark
        except (OSError, ValueError):
            is_ours = False
        if not is_ours:
            raise InputError("exists and holds something else; name a new folder", where=str(folder))
    make(folder)
    write_json(folder / RUN_FILE, mark)


def make(folder: Path) -> None:
    """Makes the folder where it is not there; raises `InputError` where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be used as a folder: {error.strerror or error}", where=str(folder)) from error


def finished(folder: Path, identity: str, file: str) -> dict[str, Any] | None:
    """The card of a seed's folder where it is of the run `identity`, and card and `file` fit their checksums."""
    if not (folder / CARD_FILE).is_file():
        return None
    try:
        card: dict[str, Any] = check_value(json.loads((folder / CARD_FILE).read_text(encoding="utf-8")))
        is_whole = card["sha256"] == sha256(folder / file)
    except (OSError, ValueError, KeyError):
        is_whole = False
    if not is_whole:
        logger.warning("%s is damaged, and is made again", folder)
        return None
    return card if card["run"] == identity else None


def sha256(file: Path) -> str:
    """The hexadecimal SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
