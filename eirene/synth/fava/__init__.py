"""Passages with errors of known kind and place (FAVA, section 5.1): put in by a model, or by rule for tiny models."""

from __future__ import annotations

from eirene.synth.fava.corpus import neighbours_by, passages_of
from eirene.synth.fava.pipeline import Outcome, asynthesise
from eirene.synth.fava.recipe import GENRES, Made, Plan, Recipe, plans
from eirene.synth.fava.rules import entities
from eirene.synth.fava.run import synthesise

__all__ = [
    "GENRES",
    "Made",
    "Outcome",
    "Plan",
    "Recipe",
    "asynthesise",
    "entities",
    "neighbours_by",
    "passages_of",
    "plans",
    "synthesise",
]
