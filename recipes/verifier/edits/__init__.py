"""Training pairs made by rule from supported rows.

rows = paired([*read_rows(file), *sentence_rows(given, seed=0)])
rows += own_edits(rows, seed=0, share=0.5)
"""

from __future__ import annotations

from recipes.verifier.edits.make import own_edits, pair_of, paired
from recipes.verifier.edits.sentences import sentence_rows

__all__ = ["own_edits", "pair_of", "paired", "sentence_rows"]
