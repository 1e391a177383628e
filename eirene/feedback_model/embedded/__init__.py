"""The critic that ships: judges by the encoder's alignment, and by rule."""

from eirene import _moved

__getattr__ = _moved.names_of(__name__)
