"""Views: a record for people, on a terminal or as a web page. Scores nothing, runs no loop.

What pages of finished runs and the server's live page show alike: where findings stand, and how they are drawn.

`findings.js` and `findings.css` are written into either page; a page defines the colours that the style names.
"""

from __future__ import annotations

from importlib import resources

from eirene.core.findings.kinds import LETTERS, ShownSpan, kinds_in, spans_of

__all__ = ["LETTERS", "ShownSpan", "asset", "kinds_in", "spans_of"]


def asset(name: str) -> str:
    """The text of a file that ships beside this one."""
    return resources.files("eirene.views").joinpath(name).read_text("utf-8")
