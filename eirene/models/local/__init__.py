"""Local causal models: loading, sampling, the prefix cache, scoring, the layout of prompts."""

from eirene import _moved

__getattr__ = _moved.names_of(__name__)
