"""Where in a sentence its hallucinations stand, for views that mark them: by letter and line, not by colour alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eirene.core.critique import HALLUCINATIONS, Critique, Finding, TaggedSentence

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
