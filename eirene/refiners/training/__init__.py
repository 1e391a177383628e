"""Preference tuning (DPO) of refiners. Importing this package loads no torch. Needs the extra `train`."""

from eirene.refiners.training.examples import PromptName, RefinerRecipe
from eirene.refiners.training.run import train_refiner

__all__ = ["PromptName", "RefinerRecipe", "train_refiner"]
