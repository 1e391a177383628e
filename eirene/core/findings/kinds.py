"""The six kinds of hallucination (FAVA, section 3 and table 1), what is done about each, and their spans in a sentence.

Entity and relation are wrong in a few words that others can replace; the rest is wrong as a whole and is removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eirene.core.critique import HALLUCINATIONS, Critique, Finding, HallucinationKind, TaggedSentence

__all__ = [
    "HALLUCINATIONS",
    "KINDS",
    "LETTERS",
    "REMOVED",
    "REPLACED",
    "HallucinationKind",
    "KindInfo",
    "ShownSpan",
    "finding_of",
    "is_hallucination",
    "kinds_in",
    "reason_for",
    "spans_of",
]

REPLACED: frozenset[str] = frozenset({"entity", "relation"})
"""Kinds whose faulty words are replaced."""
REMOVED: frozenset[str] = frozenset(HALLUCINATIONS) - REPLACED
"""Kinds whose text is removed, or marked where the reader is to see it."""


@dataclass(frozen=True, slots=True)
class KindInfo:
    """One kind, with the letter that stands for it where colour may not be seen.

    `definition` is what a model is shown; `reason` is what a reader is told, with `{old}` and `{new}` for the words.
    """

    name: HallucinationKind
    letter: str
    definition: str
    reason: str


KINDS: dict[HallucinationKind, KindInfo] = {
    kind.name: kind
    for kind in (
        KindInfo(
            "entity", "E",
            "a name, date, number, place or other thing of a few words is wrong, and putting the right one in its "
            "place makes the sentence true",
            'The references say "{new}", not "{old}".',
        ),
        KindInfo(
            "relation", "R",
            "the words that say how things relate (a verb, a preposition, an adjective, a negation) are wrong, often "
            "the opposite of what holds, and other words in their place make the sentence true",
            'The references say "{new}", not "{old}".',
        ),
        KindInfo(
            "contradictory", "C",
            "the whole statement is at odds with the references, and no change of a few words would mend it",
            'At odds with the references: "{old}".',
        ),
        KindInfo(
            "invented", "I",
            "the statement is about something that does not exist: a work, event, award, person or notion made up by "
            "the writer (characters of fiction are not meant)",
            'Speaks of something that does not exist: "{old}".',
        ),
        KindInfo(
            "subjective", "S",
            "the statement gives an opinion, a feeling or praise as if it were a fact, and nothing could show it true "
            "or false",
            'An opinion, not a fact: "{old}".',
        ),
        KindInfo(
            "unverifiable", "U",
            "the statement is a claim of fact that might hold, but nothing in the references bears on it and nobody "
            "could look it up, such as private details",
            'Nothing bears on it: "{old}".',
        ),
    )
}  # fmt: skip
"""The six kinds by name, in the paper's order."""

_SHOWN = 120


def is_hallucination(finding: Finding) -> bool:
    """Whether a finding is of one of the six kinds."""
    return finding.kind in HALLUCINATIONS


def reason_for(kind: HallucinationKind, old: str, new: str | None) -> str:
    """Why it is a fault, in one sentence: what a finding says that came from tags alone, which have no reasons."""
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


LETTERS: dict[str, str] = {kind: kind[0].upper() for kind in HALLUCINATIONS}
"""The letter of each kind; no two have the same."""


@dataclass(frozen=True, slots=True)
class ShownSpan:
    """A run of a sentence's text. `kind` is "" where nothing was found; `edit` what should stand there, if known."""

    text: str
    kind: str = ""
    edit: str | None = None


def spans_of(sentence: TaggedSentence) -> tuple[ShownSpan, ...]:
    """The sentence's text in runs, joined the text; none where no hallucination was found in it.

    Of findings that overlap the first is shown, and the longer of two that begin together.
    """
    found = sorted((f for f in sentence.findings if f.kind in HALLUCINATIONS), key=lambda f: (f.start, -f.end))
    spans: list[ShownSpan] = []
    at = 0
    for finding in found:
        start, end = finding.start - sentence.start, min(finding.end - sentence.start, len(sentence.text))
        if not at <= start <= end:
            continue
        spans += [ShownSpan(sentence.text[at:start])] if start > at else []
        spans.append(ShownSpan(sentence.text[start:end], finding.kind, finding.edit))
        at = end
    if not spans:
        return ()
    return tuple(spans) if at == len(sentence.text) else (*spans, ShownSpan(sentence.text[at:]))


def kinds_in(critiques: Iterable[Critique | None]) -> tuple[str, ...]:
    """The kinds of hallucination that critiques found, in the order of the six: what a legend has to explain."""
    found: set[str] = {f.kind for c in critiques if c is not None for f in _findings(c)}
    return tuple(kind for kind in HALLUCINATIONS if kind in found)


def _findings(critique: Critique) -> Iterable[Finding]:
    return (f for s in critique.sentences for f in s.findings)
