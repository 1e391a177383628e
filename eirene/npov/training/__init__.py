"""Training of response generators in the curly-braces form. Importing this loads no torch."""

from eirene.npov.training.run import GeneratorRecipe, train_generator

__all__ = ["GeneratorRecipe", "train_generator"]
