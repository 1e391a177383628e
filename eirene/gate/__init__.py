"""The gate: decides what of a rewrite may take the place of the text before it.

A rewrite that is `unusable` is turned down as it stands. Else the `checks` object to single edits, which are undone
(`edits`, `decisions`). What is left is scored and judged as one (`verdict`).
"""

from eirene.gate.verdict import Verdict, judge, unusable

__all__ = ["Verdict", "judge", "unusable"]
