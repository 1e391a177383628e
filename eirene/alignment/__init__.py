"""Alignment: which argument each part of an answer says, what is missing, and what was not given.

`align` compares arguments with the answer's units by meaning (the encoder) and by words. What belongs here: the
comparison and what follows from it alone. What does not: deciding what to do about it.
"""

from eirene.alignment.align import SCORING, Alignment, align, load_constants
from eirene.alignment.comparison import bearing_sentences
from eirene.alignment.placement import Placement, placement, repeats

__all__ = [
    "SCORING",
    "Alignment",
    "Placement",
    "align",
    "bearing_sentences",
    "load_constants",
    "placement",
    "repeats",
]
