"""`eirene evaluate`, a file for each thing that is measured."""

from eirene import _moved

__getattr__ = _moved.names_of(__name__)
