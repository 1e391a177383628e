"""`eirene train`, a file for each part that is trained."""

from eirene import _moved

__getattr__ = _moved.names_of(__name__)
