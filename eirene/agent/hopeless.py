"""Failures that the next row would meet as well: a run over many rows stops at them."""

from __future__ import annotations

from eirene.errors import AuthError, QuotaError, ScriptExhaustedError
from eirene.records import Record

HOPELESS = {kind.__name__: kind for kind in (AuthError, QuotaError, ScriptExhaustedError)}
"""By the name that a record's `error.kind` has. The row that met one is not written: a rerun goes on from there."""


def raise_hopeless(record: Record) -> None:
    """Raises what a record failed with, where it is one of these."""
    if record.error is not None and record.error.kind in HOPELESS:
        raise HOPELESS[record.error.kind](record.error.message)
