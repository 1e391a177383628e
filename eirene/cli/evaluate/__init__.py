"""`eirene evaluate`, a file for each subcommand."""

from eirene import _moved

__getattr__ = _moved.names_of(__name__)
