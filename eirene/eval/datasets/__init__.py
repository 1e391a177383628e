"""Labelled data sets: answers with known errors in one form, and a reader for each set."""

from eirene.eval.datasets.base import Labelled, LabelledSet, Mark
from eirene.eval.datasets.labelled import FORMS, read_labelled

__all__ = ["FORMS", "Labelled", "LabelledSet", "Mark", "read_labelled"]
