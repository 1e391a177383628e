"""Fine-grained findings held against annotations: sets of annotated answers in one form, predictions, and figures.

Runs no model; who finds (a critic, or a file of its replies) is named elsewhere.
"""

from __future__ import annotations

from eirene.eval.findings.base import Annotated, AnnotatedSet
from eirene.eval.findings.read import read_annotated
from eirene.eval.findings.report import Found, findings_report
from eirene.eval.findings.taxonomy import Taxonomy

__all__ = ["Annotated", "AnnotatedSet", "Found", "Taxonomy", "findings_report", "read_annotated"]
