"""`eirene train`, a file for each model that can be trained."""

from eirene import _moved

__getattr__ = _moved.names_of(__name__)
