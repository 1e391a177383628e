"""Views: records and figures for people, on a terminal or as web pages. Scores nothing, runs no loop.

Every page begins with `design.css`: colours, type, spacing, and what a status or a fault looks like.
"""

from __future__ import annotations

from importlib import resources

__all__ = ["asset"]


def asset(name: str, *, package: str = "eirene.views") -> str:
    """The text of a file that ships with a package."""
    return resources.files(package).joinpath(name).read_text("utf-8")
