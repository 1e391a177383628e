"""Statistics: bootstrap, ranking metrics, ROC."""

from eirene import _moved

__getattr__ = _moved.names_of(__name__)
