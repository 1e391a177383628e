"""Verification: which sentences of an answer the given texts carry, which they contradict, and by which sentence."""

from __future__ import annotations

from eirene.verification.claims import claims_nothing
from eirene.verification.context import ContextReader, Piece, Reading
from eirene.verification.verify import Evidence, Verdict, VerifiedSentence, verify

__all__ = [
    "ContextReader",
    "Evidence",
    "Piece",
    "Reading",
    "Verdict",
    "VerifiedSentence",
    "claims_nothing",
    "verify",
]
