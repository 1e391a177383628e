"""What the training of any local causal language model needs: settings, the run and its folder, the card, progress.

What a model is trained on and what for belongs to the part that uses it: feedback models, refiners, classifiers.
Importing this package loads no torch.
"""

from eirene.models.training.folder import Trained
from eirene.models.training.recipe import Method, Precision, Progress, Schedule, Step, TrainingRecipe

__all__ = ["Method", "Precision", "Progress", "Schedule", "Step", "Trained", "TrainingRecipe"]
