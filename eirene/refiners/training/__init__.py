"""Preference tuning of refiners: pairs to tokens, the run, its figures and card. Rewriting answers is elsewhere.

Importing this package loads no torch; `train_refiner` does. Needs the extra `train`.
"""

from eirene.refiners.training.examples import PromptName, RefinerRecipe
from eirene.refiners.training.run import train_refiner

__all__ = ["PromptName", "RefinerRecipe", "train_refiner"]
