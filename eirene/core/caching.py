"""Where what can be made again is kept between runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path | None:
    """The folder of kept indexes: `EIRENE_CACHE`, else `XDG_CACHE_HOME`/eirene, else ~/.cache/eirene; None: nowhere."""
    own = os.environ.get("EIRENE_CACHE")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(shared) if shared else Path.home() / ".cache") / "eirene"
    except RuntimeError:  # a user without a home
        return None
