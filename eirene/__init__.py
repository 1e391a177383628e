"""Eirene."""
