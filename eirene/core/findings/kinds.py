"""The six kinds of hallucination (FAVA, section 3 and table 1) and what is done about each.

Entity and relation are wrong in a few words that others can replace; the rest is wrong as a whole and is removed.
"""

from __future__ import annotations

from dataclasses import dataclass

from eirene.core.critique import HALLUCINATIONS, Finding, HallucinationKind

REPLACED: frozenset[str] = frozenset({"entity", "relation"})
"""Kinds whose faulty words are replaced."""
REMOVED: frozenset[str] = frozenset(HALLUCINATIONS) - REPLACED
"""Kinds whose text is removed, or marked where the reader is to see it."""


@dataclass(frozen=True, slots=True)
class KindInfo:
    """One kind: `definition` is shown to models; `reason` to readers, with `{old}` and `{new}` for the words."""

    name: HallucinationKind
    definition: str
    reason: str


KINDS: dict[HallucinationKind, KindInfo] = {
    kind.name: kind
    for kind in (
        KindInfo(
            "entity",
            "a name, date, number, place or other thing of a few words is wrong, and putting the right one in its "
            "place makes the sentence true",
            'The references say "{new}", not "{old}".',
        ),
        KindInfo(
            "relation",
            "the words that say how things relate (a verb, a preposition, an adjective, a negation) are wrong, often "
            "the opposite of what holds, and other words in their place make the sentence true",
            'The references say "{new}", not "{old}".',
        ),
        KindInfo(
            "contradictory",
            "the whole statement is at odds with the references, and no change of a few words would mend it",
            'At odds with the references: "{old}".',
        ),
        KindInfo(
            "invented",
            "the statement is about something that does not exist: a work, event, award, person or notion made up by "
            "the writer (characters of fiction are not meant)",
            'Speaks of something that does not exist: "{old}".',
        ),
        KindInfo(
            "subjective",
            "the statement gives an opinion, a feeling or praise as if it were a fact, and nothing could show it true "
            "or false",
            'An opinion, not a fact: "{old}".',
        ),
        KindInfo(
            "unverifiable",
            "the statement is a claim of fact that might hold, but nothing in the references bears on it and nobody "
            "could look it up, such as private details",
            'Nothing bears on it: "{old}".',
        ),
    )
}  # fmt: skip
"""The six kinds by name, in the paper's order."""
_SHOWN = 120


def reason_for(kind: HallucinationKind, old: str, new: str | None) -> str:
    """The reason of a finding that came from tags alone, which have none: one sentence."""
    said, better = _short(old), _short(new or "")
    if kind in REPLACED and not (said and better):
        if said:
            return f'Not so: "{said}".' if new is None else f'The references do not say "{said}".'
        return f'The references say "{better}" here.'
    return KINDS[kind].reason.format(old=said, new=better)


def finding_of(kind: HallucinationKind, start: int, end: int, *, text: str, edit: str | None) -> Finding:
    """A finding of a kind at a place of `text`, with the reason that `reason_for` gives."""
    return Finding(kind=kind, start=start, end=end, reason=reason_for(kind, text[start:end], edit), edit=edit)


def _short(text: str) -> str:
    line = " ".join(text.split()).rstrip(".") or text.strip()
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1].rstrip() + "…"
