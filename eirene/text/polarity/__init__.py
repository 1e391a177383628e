"""Polarity of English sentences: marks, opposites, and what two sentences that otherwise say the same turned."""

from eirene.text.polarity.turns import PolarityTurn, contradicts, likeness, sign_turns, turns

__all__ = ["PolarityTurn", "contradicts", "likeness", "sign_turns", "turns"]
