"""Edits between two texts: sentences and words that changed, texts rebuilt without some, replacements at offsets."""

from __future__ import annotations

from eirene.text.edits.sentences import sentence_edits
from eirene.text.edits.undo import Rebuilt, RebuiltPiece, undone
from eirene.text.edits.words import Edit, EditKind, SentenceEdit, WordEdit, apply_edits, compatible, word_edits

__all__ = [
    "Edit",
    "EditKind",
    "Rebuilt",
    "RebuiltPiece",
    "SentenceEdit",
    "WordEdit",
    "apply_edits",
    "compatible",
    "sentence_edits",
    "undone",
    "word_edits",
]
