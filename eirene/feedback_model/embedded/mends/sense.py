"""Whether a sentence stays one when a few of its words are exchanged: word order, ends, the words around the edit."""

from __future__ import annotations

from eirene.text.fluency import broken_at, is_torn, strangeness

_SLACK = 0.15
"""How much stranger a sentence may be read as a whole: a name or a number that is rare costs so much."""
_SLACK_HERE = 0.8
_USUAL_HERE = -1.2
"""Strangeness of the joints at the edit up to which nothing is odd there."""


def stays_sentence(old: str, new: str, here: tuple[int, int], there: tuple[int, int]) -> bool:
    """Whether `new` is as much a sentence as `old`; `here` and `there` are the edited words in them."""
    if strangeness(new) > strangeness(old) + _SLACK:
        return False
    if is_torn(new) is not None and is_torn(old) is None:
        return False
    if broken_at(new) is not None and broken_at(old) is None:
        return False
    return strangeness(new, there) <= max(strangeness(old, here) + _SLACK_HERE, _USUAL_HERE)
