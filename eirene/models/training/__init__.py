"""Training of local causal models: recipe, run folder with checkpoints, trainer, card. Importing this loads no torch.

What a model is trained on and what for belongs to the part that uses it: feedback models, refiners, classifiers.
"""

from eirene.models.training.folder import Trained
from eirene.models.training.recipe import Method, Precision, Progress, Schedule, Step, TrainingRecipe

__all__ = ["Method", "Precision", "Progress", "Schedule", "Step", "Trained", "TrainingRecipe"]
