"""Grounding: the given texts that an answer is compared with, from its item or derived from a critique.

*Hallucination*: the answer says something that was not given. *Coverage error*: something given is missing from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from eirene.core.critique import HALLUCINATIONS, Critique, TaggedSentence
from eirene.core.records import Item, Perspective, Record, found_ids
from eirene.core.verification import Evidence, NumberedEvidence
from eirene.text.sentences import split_sentences

NOTHING_GIVEN = "there is nothing to compare with: give perspectives, context, or a model as the backend"
"""Why an answer without any given text is not judged."""

Source = Literal["perspectives", "context", "derived"]


@dataclass(frozen=True, slots=True)
class ArgumentGroup:
    """A named list of given texts: a perspective's arguments, the passages, or a derived group."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grounding:
    """The given text of an item. With source `derived` hallucination cannot be scored without a judge."""

    source: Source
    groups: tuple[ArgumentGroup, ...]

    @property
    def arguments(self) -> tuple[str, ...]:
        """All arguments of all groups, in order."""
        return tuple(a for g in self.groups for a in g.arguments)


def lacks_grounding(record: Record) -> bool:
    """Whether nothing was checked because the item had no given text."""
    return record.status == "not_checked" and record.why == NOTHING_GIVEN


def given_texts(item: Item) -> tuple[str, ...]:
    """The arguments of an item's perspectives, else its passages; empty without both."""
    return grounding_for(item).arguments if item.perspectives or item.context else ()


def given_ids(item: Item) -> tuple[str, ...]:
    """What `given_texts` are called: `pro, argument 1`, or the ids of passages; none where these have none."""
    sides = item.perspectives
    return found_ids(item) if sides is None else argument_names(sides)


def argument_names(sides: Sequence[Perspective]) -> tuple[str, ...]:
    """What the arguments of sides are called, in their order: `pro, argument 1`."""
    return tuple(f"{side.name}, argument {n}" for side in sides for n, _ in enumerate(side.arguments, 1))


def whole_evidence(item: Item) -> NumberedEvidence:
    """Every sentence of an item's passages."""
    ids = found_ids(item)
    sentences = tuple(
        Evidence(passage=n, id=ids[n - 1] if ids else None, start=s.text_start, end=s.text_end, text=s.text)
        for n, passage in enumerate(item.context or (), start=1)
        for s in split_sentences(passage)
        if s.text
    )
    return NumberedEvidence(sentences=sentences, n_given=len(sentences))


def grounding_for(item: Item, critique: Critique | None = None) -> Grounding:
    """The given texts that an answer to `item` is scored against.

    The perspectives, else the context's passages, else what the critique gives: the original's complete sentences (all
    of them without a critique) and the critique's reasons.
    """
    if item.perspectives:
        return Grounding("perspectives", tuple(ArgumentGroup(p.name, tuple(p.arguments)) for p in item.perspectives))
    if item.context:
        return Grounding("context", (ArgumentGroup("context", tuple(item.context)),))
    if critique is None:
        kept = tuple(s.text for s in split_sentences(item.answer) if s.text)
        return Grounding("derived", (ArgumentGroup("kept", kept),))
    kept = tuple(s.text for s in critique.sentences if s.tag == "Complete" and s.text)
    reasons = tuple(filter(None, map(_missing_content, critique.sentences)))
    groups = [ArgumentGroup(name, texts) for name, texts in (("kept", kept), ("asked", reasons)) if texts]
    return Grounding("derived", tuple(groups))


def _missing_content(sentence: TaggedSentence) -> str:
    """What a sentence's reason asks an answer to add: all of it but the reasons of hallucinations."""
    reason = sentence.reason or ""
    for finding in sentence.findings:
        if finding.kind in HALLUCINATIONS:
            reason = reason.replace(finding.reason, "")
    return reason.strip()
