"""An answer whose faults people marked, in one form whatever set it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eirene.critique import Finding, FindingKind
from eirene.eval.findings.taxonomy import Taxonomy
from eirene.records import Item
from eirene.sentences import Sentence, split_sentences


@dataclass(frozen=True, slots=True)
class Annotated:
    """An item, the faults that were marked in its answer, and the question or source that rows may share (`cluster`).

    What no finding covers was looked at and found right. `cut` is the set's own cut into sentences, where it has one.
    """

    item: Item
    findings: tuple[Finding, ...]
    cluster: str
    cut: tuple[Sentence, ...] | None = None

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences that are judged, by their offsets in the untagged answer."""
        return split_sentences(self.item.answer) if self.cut is None else self.cut


@dataclass(frozen=True, slots=True)
class AnnotatedSet:
    """The annotated answers of a file, the set's kinds, and what could not be taken over: reason -> number."""

    taxonomy: Taxonomy
    cases: tuple[Annotated, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


def finding(kind: FindingKind, start: int, end: int, reason: str, *, length: int) -> Finding:
    """A finding clipped to an answer of `length` characters, without an edit."""
    first = min(max(start, 0), length)
    return Finding(kind=kind, start=first, end=max(first, min(end, length)), reason=" ".join(reason.split()) or kind)
