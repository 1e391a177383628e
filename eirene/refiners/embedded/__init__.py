"""The embedded refiner, which ships with Eirene: rewrites by rule, without a model."""

from eirene import _moved

__getattr__ = _moved.names_of(__name__)
