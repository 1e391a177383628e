"""Garbage collection: seldom where it costs much and finds little, in a process of many rows and in a short command."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

_YOUNG = 20_000
"""New objects before a collection. Python's own 700 are reached several times a row, and few of them are garbage that
needs it: reference counts free the rest."""
_YOUNG_WHILE_LOADING = 100_000
"""The same for a short command, which mostly imports: what is loaded stays, and looking through it again and again took
an eighth of the command's time."""


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


@contextmanager
def rare_collections_while_loading() -> Generator[None, None, None]:
    """Collects seldom, without a collection first: that of a caller's process may take longer than the command."""
    before = gc.get_threshold()
    gc.set_threshold(_YOUNG_WHILE_LOADING, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
