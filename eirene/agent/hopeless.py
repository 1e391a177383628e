"""Failures that the next row would meet as well: a run over many rows stops at them."""

from __future__ import annotations

from eirene.errors import HOPELESS
from eirene.records import Record

_BY_KIND = {kind.__name__: kind for kind in HOPELESS}
"""By the name that a record's `error.kind` has. The row that met one is not written: a rerun goes on from there."""


def raise_hopeless(record: Record) -> None:
    """Raises what a record failed with, where it is one of these."""
    if record.error is not None and record.error.kind in _BY_KIND:
        raise _BY_KIND[record.error.kind](record.error.message)
