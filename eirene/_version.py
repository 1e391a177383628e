"""The version: read by the build, by signatures and by cards of models."""

__version__ = "0.1.0"
