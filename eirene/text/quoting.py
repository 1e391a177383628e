"""Quoting: a text on one line, cut at a word where it is long, for reasons and messages."""

from __future__ import annotations


def one_line(text: str, most: int) -> str:
    """The text on one line, of at most about `most` characters; what is cut ends in " ..."."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + " ..."


def quoted(text: str, most: int) -> str:
    """The same in double quotes."""
    return f'"{one_line(text, most)}"'
