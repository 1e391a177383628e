"""Metrics: figures made of predictions and labels.

Runs no model; who finds (a critic, or a file of its replies) is named elsewhere.
"""

from __future__ import annotations

from eirene.eval.datasets.annotated import Annotated, AnnotatedSet, Taxonomy, read_annotated
from eirene.eval.metrics.findings import CaseFindings, findings_report

__all__ = ["Annotated", "AnnotatedSet", "CaseFindings", "Taxonomy", "findings_report", "read_annotated"]
