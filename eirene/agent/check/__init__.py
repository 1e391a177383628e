"""Quality check: answers measured, compared with a baseline, and judged by conditions; what `eirene check` runs."""

from __future__ import annotations

from eirene.agent.check.baseline import Baseline, baseline_text, read_baseline
from eirene.agent.check.conditions import NONE_LOST, parse_condition
from eirene.agent.check.report import make_report
from eirene.agent.check.rows import RowMeasure

__all__ = ["NONE_LOST", "Baseline", "RowMeasure", "baseline_text", "make_report", "parse_condition", "read_baseline"]
