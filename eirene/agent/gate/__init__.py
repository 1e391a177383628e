"""The gate: decides what of a rewrite may take the place of the text before it.

A rewrite that is `unusable` is turned down as it stands. Else every edit needs a warrant (`warrant`): the `checks`
object to what an edit carries and should not, and an edit that is objected to is undone by itself. What is left is
scored and judged as one (`verdict`).
"""

from eirene.agent.gate.decisions import unusable
from eirene.agent.gate.verdict import Verdict, judge

__all__ = ["Verdict", "judge", "unusable"]
