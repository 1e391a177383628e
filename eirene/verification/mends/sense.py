"""Whether a sentence stays one when a few of its words are exchanged: word order, ends, the words around the edit."""

from __future__ import annotations

from eirene.text.fluency import broken_at, is_torn, strangeness
from eirene.verification.mends.proposal import Proposal

_SLACK = {"entity": 0.4, "relation": 0.15}
"""How much stranger a sentence may be read as a whole: a name that is rare costs so much."""
_SLACK_HERE = 0.8
_USUAL_HERE = -1.2
"""Strangeness of the joints at the edit up to which nothing is odd there."""


def stays_sentence(old: str, proposal: Proposal) -> bool:
    """Whether a sentence is as much one with the proposal made as it is without."""
    new, slack = proposal.applied(old), _SLACK[proposal.kind]
    here, there = (proposal.start, proposal.end), (proposal.start, proposal.start + len(proposal.new))
    if strangeness(new) > strangeness(old) + slack:
        return False
    if is_torn(new) is not None and is_torn(old) is None:
        return False
    if broken_at(new) is not None and broken_at(old) is None:
        return False
    return strangeness(new, there) <= max(strangeness(old, here) + _SLACK_HERE, _USUAL_HERE)
