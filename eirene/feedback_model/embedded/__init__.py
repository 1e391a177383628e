"""The embedded critic, which ships with Eirene: the encoder's alignment, and rules."""

from eirene import _moved

__getattr__ = _moved.names_of(__name__)
