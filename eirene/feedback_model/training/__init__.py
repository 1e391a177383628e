"""Supervised fine-tuning of critics, of completeness and of hallucinations. Needs the extra `local`.

Importing this package loads no torch; `train_feedback` and `train_critic` do.
"""

from eirene.feedback_model.training.examples import CriticRecipe, FeedbackRecipe
from eirene.feedback_model.training.run import train_critic, train_feedback

__all__ = ["CriticRecipe", "FeedbackRecipe", "train_critic", "train_feedback"]
