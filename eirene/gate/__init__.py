"""The gate: decides what of a rewrite may take the place of the text before it.

A rewrite that is `unusable` is turned down as it stands. With passages, `comparison` decides: an edit that makes the
text no better is undone (`compared_edits`), then the whole is compared. Without, `checks` object to edits (`edits`,
`decisions`), and what is left is scored and judged as one (`verdict`).
"""

from eirene.gate.verdict import Verdict, judge, judge_comparison, unusable

__all__ = ["Verdict", "judge", "judge_comparison", "unusable"]
