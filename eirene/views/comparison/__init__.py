"""A comparison for people: tables, sections of the HTML report, plots."""

from eirene import _moved

__getattr__ = _moved.names_of(__name__)
