"""Edits between two texts: sentences and words that changed, texts rebuilt without some, replacements at offsets."""

from eirene.text.edits.sentences import sentence_edits
from eirene.text.edits.undo import Rebuilt, undone
from eirene.text.edits.words import Edit, SentenceEdit, WordEdit, apply_edits, compatible

__all__ = [
    "Edit",
    "Rebuilt",
    "SentenceEdit",
    "WordEdit",
    "apply_edits",
    "compatible",
    "sentence_edits",
    "undone",
]
