"""FAVA's synthetic data (section 5.1): passages with errors of known kind and place, by a model."""

from eirene.synth.fava.pipeline import PassageOutcome, asynthesise
from eirene.synth.fava.recipe import (
    FavaRecipe,
    FavaTotals,
    PassagePlan,
    neighbours_by,
    passages_of,
    plans,
)

__all__ = [
    "FavaRecipe",
    "FavaTotals",
    "PassageOutcome",
    "PassagePlan",
    "asynthesise",
    "neighbours_by",
    "passages_of",
    "plans",
]
