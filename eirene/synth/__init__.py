"""Synthetic data: answers with known errors, because they were put in.

What belongs here: making the data and the figures that show what counting alone would find in it. What does not:
training on it, and measuring detectors with it.
"""

from eirene.synth.matching import AnswerRecipe
from eirene.synth.rows import AnswerTotals, CountedRow, CountingControl, controls, synthesise

__all__ = ["AnswerRecipe", "AnswerTotals", "CountedRow", "CountingControl", "controls", "synthesise"]
