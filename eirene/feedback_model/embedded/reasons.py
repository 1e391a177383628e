"""The wordings of the embedded feedback model's reasons: one for each kind of fault, always the same words."""

from __future__ import annotations

_LONGEST = 300


def missing(argument: str, group: str | None) -> str:
    """Something given is not said."""
    return f"Missing{_at(group)}: {_quoted(argument)}."


def unsupported(said: str) -> str:
    """Something said was not given."""
    return f"Not among what was given: {_quoted(said)}."


def repeated(said: str) -> str:
    """Something is said twice."""
    return f"Said before: {_quoted(said)}."


def misplaced(argument: str, stands: str, belongs: str) -> str:
    """Something is said on the wrong side."""
    return f"Stands under {_quoted(stands)} and belongs to {_quoted(belongs)}: {_quoted(argument)}."


def _at(group: str | None) -> str:
    return "" if group is None else f" for {_quoted(group)}"


def _quoted(text: str) -> str:
    """On one line, in double quotes, without a full stop at the end; long texts are cut at a word."""
    line = " ".join(text.split())
    if len(line) > _LONGEST:
        line = line[:_LONGEST].rsplit(" ", 1)[0] + " ..."
    return f'"{line.rstrip(".") or line}"'
