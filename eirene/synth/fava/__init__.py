"""FAVA's synthetic data (section 5.1): passages with errors of known kind and place, by a model or by rule."""

from __future__ import annotations

from eirene.synth.fava.pipeline import PassageOutcome, asynthesise, synthesise
from eirene.synth.fava.recipe import (
    GENRES,
    FavaRecipe,
    FavaTotals,
    PassagePlan,
    entities,
    neighbours_by,
    passages_of,
    plans,
)

__all__ = [
    "GENRES",
    "FavaRecipe",
    "FavaTotals",
    "PassageOutcome",
    "PassagePlan",
    "asynthesise",
    "entities",
    "neighbours_by",
    "passages_of",
    "plans",
    "synthesise",
]
