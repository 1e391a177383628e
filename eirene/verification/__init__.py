"""Verification: which sentences of an answer the given texts carry, which they contradict, and by which sentence."""

from __future__ import annotations

from eirene.verification.claims import not_checked
from eirene.verification.context import ClaimReading, ContextReader
from eirene.verification.framed import ContextPiece
from eirene.verification.verify import averify, verify, verify_item

__all__ = [
    "ClaimReading",
    "ContextPiece",
    "ContextReader",
    "averify",
    "not_checked",
    "verify",
    "verify_item",
]
