"""How each annotated set names faults, the kind of ours that each name becomes, and which kinds found count for it.

FAVA's six kinds are told apart by no other set. Where a set has one name for several of them ("conflict with the
source"), its findings have the kind that says least beside that, and a finding of any of those kinds counts as it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from eirene.core.critique import Finding, FindingKind

Kinds = frozenset[FindingKind]
_SIX: tuple[FindingKind, ...] = (
    "entity", "relation", "contradictory", "invented", "subjective", "unverifiable",
)  # fmt: skip
_AT_ODDS: Kinds = frozenset({"entity", "relation", "contradictory"})
_NOT_GIVEN: Kinds = frozenset({"invented", "subjective", "unverifiable", "unsupported"})


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """A set's kinds. `names`: its own names -> our kind, None for what is no fault of these kinds.

    `classes`: for each of our kinds that the set tells apart, the kinds of a prediction that count as it. What is in
    no class is not judged by the set: predicted or not, it changes no figure.
    """

    name: str
    classes: Mapping[FindingKind, Kinds]
    names: Mapping[str, FindingKind | None] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[FindingKind, ...]:
        """The kinds that the set tells apart, in the order in which figures are given."""
        return tuple(self.classes)

    def sorted(self, findings: Iterable[Finding]) -> dict[FindingKind, list[Finding]]:
        """The findings of each class; those of no class are left out."""
        found: dict[FindingKind, list[Finding]] = {kind: [] for kind in self.classes}
        for one in findings:
            for kind, members in self.classes.items():
                if one.kind in members:
                    found[kind].append(one)
        return found


def _own(kind: FindingKind) -> Kinds:
    return frozenset({kind})


FAVA = Taxonomy("FAVA", {kind: _own(kind) for kind in _SIX})
RAGTRUTH = Taxonomy(
    "RAGTruth",
    {"contradictory": _AT_ODDS, "unverifiable": _NOT_GIVEN},
    {
        "Evident Conflict": "contradictory",
        "Subtle Conflict": "contradictory",
        "Evident Baseless Info": "unverifiable",
        "Subtle Baseless Info": "unverifiable",
    },
)
QA_FEEDBACK = Taxonomy(
    "QA-Feedback",
    {
        "contradictory": _AT_ODDS,
        "unverifiable": _NOT_GIVEN,
        "relevance": _own("relevance"),
        "repeated": _own("repeated"),
    },
    {
        "Wrong-Grounding": "contradictory",
        "Unverifiable": "unverifiable",
        "Irrelevant": "relevance",
        "Redundant": "repeated",
        "Incoherent": None,
    },
)
HALUQUESTQA = Taxonomy(
    "HaluQuestQA",
    {
        "misconception": _own("misconception"),
        "factuality": _own("factuality") | _AT_ODDS | _NOT_GIVEN,
        "relevance": _own("relevance"),
        "completeness": frozenset({"completeness", "missing"}),
        "references": _own("references"),
    },
    {
        "ques_misconception": "misconception",
        "factuality": "factuality",
        "irrelevance": "relevance",
        "incomplete_ans": "completeness",
        "reference_example": "references",
    },
)
COMPLETENESS = Taxonomy("HaluQuestQA sentences", {"completeness": frozenset({"completeness", "missing"})})
TAXONOMIES: Mapping[str, Taxonomy] = {
    taxonomy.name: taxonomy for taxonomy in (FAVA, RAGTRUTH, QA_FEEDBACK, HALUQUESTQA, COMPLETENESS)
}
"""All sets that can be read, by name."""
