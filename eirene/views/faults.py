"""Faults of a sentence in a reader's words: unsupported, contradicted, misplaced, repeated - and gaps beside it.

A critique's tag says that something is wrong with a sentence *or behind it*. A reader is told which: in a sentence
after which an argument is missing no fault was found, and what is missing has a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from eirene.core.critique import Critique, Finding, FindingKind, TaggedSentence

NO_FAULT = "no fault found"
"""No more than that: a verifier may still call the sentence unclear."""
INCOMPLETE = "incomplete"
"""Where a model gives a tag and a reason and does not say what kind of fault it means."""
MISSING = "missing here"
BELONGS = "belongs here"

WORDS: Mapping[FindingKind, str] = {
    "entity": "contradicted",
    "relation": "contradicted",
    "contradictory": "contradicted",
    "invented": "unsupported",
    "unverifiable": "unsupported",
    "subjective": "an opinion",
    "unsupported": "unsupported",
    "repeated": "repeated",
    "misplaced": "misplaced",
    "missing": "missing",
    "misconception": "a false assumption",
    "factuality": "factually wrong",
    "relevance": "not relevant",
    "completeness": "too little detail",
    "references": "an unhelpful reference",
}
"""The word for each kind of finding."""

MEANING: Mapping[str, str] = {
    "unsupported": "nothing that was given says it",
    "contradicted": "what was given says otherwise",
    "misplaced": "stands on the wrong side",
    "repeated": "was said before",
    "an opinion": "stated as if it were a fact",
    "missing": "given, and not in the answer; the sentence beside it is not at fault",
    INCOMPLETE: "a model finds fault and does not say of which kind",
}
"""What each word means; other words say it themselves."""

STYLE: Mapping[str, str] = {
    NO_FAULT: "complete",
    "unsupported": "unsupported",
    "contradicted": "contradicted",
    "factually wrong": "contradicted",
    "misplaced": "misplaced",
    BELONGS: "misplaced",
    "repeated": "repeated",
    "missing": "missing",
    MISSING: "missing",
    "an opinion": "opinion",
    "supported": "complete",
    "exact": "complete",
    "unclear": "other",
    "not checked": "unchecked",
}
"""The class of `design.css` after `f-`; any other word is `other`."""

_LETTERS: Mapping[str, str] = {
    "unsupported": "U", "contradicted": "C", "misplaced": "M", "repeated": "R", "opinion": "O", "missing": "+",
    "complete": "✓", "unchecked": "?", "other": "!",
}  # fmt: skip
_WHOLE = " \t\r\n.!?\"'"


@dataclass(frozen=True, slots=True)
class ShownSpan:
    """A run of a sentence's text. `kind` is "" where nothing was found; `edit` what should stand there, if known."""

    text: str
    kind: str = ""
    edit: str | None = None


@dataclass(frozen=True, slots=True)
class ShownFault:
    """One word for what is wrong, and the reasons; none where a finding has none."""

    word: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """What is missing, or belongs, before or after a sentence. `label` is `MISSING` or `BELONGS`.

    `edit`: the words that should stand there; "" where they are not known.
    """

    label: str
    text: str
    before: bool
    edit: str = ""

    @property
    def line(self) -> str:
        """Label and text as one line: `missing here for "pro": "..."`, `missing here: ...`."""
        return f"{self.label} {self.text}" if self.text.startswith("for ") else f"{self.label}: {self.text}"


@dataclass(frozen=True, slots=True)
class SentenceFaults:
    """What a reader is told of a sentence: its faults, if any, and the gaps beside it.

    `votes_for_gap`: the critiques that tagged the sentence Incomplete meant what is missing beside it.
    """

    faults: tuple[ShownFault, ...]
    gaps: tuple[Gap, ...]
    votes_for_gap: bool

    @property
    def word(self) -> str:
        """The words of its faults, or `NO_FAULT`."""
        return ", ".join(fault.word for fault in self.faults) or NO_FAULT


def verdict_of(sentence: TaggedSentence) -> SentenceFaults:
    """The faults of a sentence and the gaps beside it, from its tag, reason and findings."""
    gaps = tuple(_gap(finding, sentence) for finding in sentence.findings if is_gap(finding))
    found: dict[str, list[str]] = {}
    for finding in sentence.findings:
        if not is_gap(finding):
            reasons = found.setdefault(WORDS[finding.kind], [])
            if finding.reason.strip() and finding.reason not in reasons:
                reasons.append(finding.reason)
    rest = _unnamed(sentence)
    if rest and sentence.tag == "Incomplete":
        first = next(iter(found), INCOMPLETE)
        found[first] = [rest, *found.get(first, [])]
    faults = tuple(ShownFault(word, tuple(reasons)) for word, reasons in found.items())
    return SentenceFaults(faults, gaps, sentence.tag == "Incomplete" and bool(gaps) and not faults)


def is_gap(finding: Finding) -> bool:
    """Whether a finding is about a place between sentences, and blames none."""
    return finding.kind == "missing" or (finding.kind == "misplaced" and finding.start == finding.end)


def letter_of(word: str) -> str:
    """The sign of a word, for where colour may not be seen."""
    return _LETTERS[STYLE.get(word, "other")]


def style_of(word: str) -> str:
    """The word's class in `design.css`."""
    return f"f-{STYLE.get(word, 'other')}"


STYLES: Mapping[str, tuple[str, str]] = {
    word: (style_of(word), letter_of(word)) for word in dict.fromkeys([*WORDS.values(), *MEANING, *STYLE])
}
"""Class and letter of every word, for a page's script."""


def marked_spans(sentence: TaggedSentence) -> tuple[ShownSpan, ...]:
    """The sentence in runs, those at fault with their word; none where no fault is in a part of it alone.

    Of findings that overlap, the first is shown, and the longer of two that begin together.
    """
    found = [f for f in sentence.findings if not is_gap(f) and _is_part(f, sentence)]
    found.sort(key=lambda f: (f.start, -f.end))
    spans: list[ShownSpan] = []
    at = 0
    for finding in found:
        start, end = finding.start - sentence.start, min(finding.end - sentence.start, len(sentence.text))
        if not at <= start < end:
            continue
        spans += [ShownSpan(sentence.text[at:start])] if start > at else []
        spans.append(ShownSpan(sentence.text[start:end], WORDS[finding.kind], finding.edit))
        at = end
    if not spans:
        return ()
    return tuple(spans) if at == len(sentence.text) else (*spans, ShownSpan(sentence.text[at:]))


def words_in(critiques: Iterable[Critique | None]) -> tuple[str, ...]:
    """The words for what is at fault in the critiques' sentences, for a legend: `missing` last."""
    found = {word for critique in critiques if critique is not None for word in _words(critique)}
    order = [*dict.fromkeys(WORDS.values()), INCOMPLETE]
    order.remove("missing")
    return tuple(word for word in [*order, "missing"] if word in found)


def _words(critique: Critique) -> Iterator[str]:
    for sentence in critique.sentences:
        verdict = verdict_of(sentence)
        yield from (fault.word for fault in verdict.faults)
        yield from ("missing" for gap in verdict.gaps if gap.label == MISSING)


def _is_part(finding: Finding, sentence: TaggedSentence) -> bool:
    """Whether a finding is about some words of a sentence, not about all of it; or other words are known for them."""
    start, end = finding.start - sentence.start, finding.end - sentence.start
    rest = sentence.text[: max(0, start)] + sentence.text[max(0, end) :]
    return start < end and (bool(rest.strip(_WHOLE)) or bool(finding.edit))


def _gap(finding: Finding, sentence: TaggedSentence) -> Gap:
    before, edit = finding.start == finding.end <= sentence.start, finding.edit or ""
    if finding.kind == "misplaced":
        return Gap(BELONGS, _quoted(edit or finding.reason), before, edit)
    label, _, rest = finding.reason.partition(" ")
    if label.rstrip(":") == "Missing" and rest.strip():
        return Gap(MISSING, rest.strip(), before, edit)
    return Gap(MISSING, finding.reason.strip() or _quoted(edit or "something that was given"), before, edit)


def _quoted(text: str) -> str:
    return f'"{text.strip().rstrip(".")}".'


def _unnamed(sentence: TaggedSentence) -> str:
    """What the sentence's own reason says beside the reasons of its findings."""
    rest = sentence.reason or ""
    for reason in sorted({f.reason.strip() for f in sentence.findings}, key=len, reverse=True):
        for named in (reason, reason.rstrip(".")):
            if named and named in rest:
                rest = rest.replace(named, " ")
                break
    return " ".join(rest.split()) if any(c.isalnum() for c in rest) else ""
