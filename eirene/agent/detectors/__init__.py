"""Detectors behind the gate: which ones a run has, the findings of a second vote, a cache of scores.

What belongs here: what a run does with detectors. How one scores a text is `eirene.eval.detectors`'s.
"""

from eirene.agent.detectors.choice import with_detectors, with_judge

__all__ = ["with_detectors", "with_judge"]
