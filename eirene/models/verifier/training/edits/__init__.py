"""Training pairs made by rule from supported rows; see `own_edits`."""

from __future__ import annotations

from eirene.models.verifier.training.edits.make import own_edits, pair_of, paired

__all__ = ["own_edits", "pair_of", "paired"]
