"""Garbage collection in a process that works through many rows: seldom, and not through what was loaded before."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

_YOUNG = 20_000
"""New objects before a collection. Python's own 700 are reached several times a row, and few of them are garbage that
needs it: reference counts free the rest."""


@contextmanager
def rare_collections() -> Generator[None, None, None]:
    """Collects once, leaves alone what there is (libraries, models, a file's rows), and then collects seldom.

    At Python's own settings it took some 6 % of a batch's time, and held up each chat of a server for a tenth second.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
