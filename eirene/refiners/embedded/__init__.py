"""The refiner that ships: rewrites by rule, and calls no model."""

from eirene import _moved

__getattr__ = _moved.names_of(__name__)
