"""Plans the changes that a critique asks for, and the order of proposals after rejections."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eirene.alignment.comparison import Comparison, place_of
from eirene.core.critique import Critique, Finding, TaggedSentence
from eirene.text.edits.pieces import spaced
from eirene.text.edits.words import Edit
from eirene.text.sentences import split_sentences

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

_REMOVE = re.compile(
    r"""\b(?:unsupported|not\s+(?:supported|given|backed|among|in\s+the)|made[\s-]up|invent(?:ed|s)|fabricated
      | hallucinat\w+|off[\s-]topic|irrelevant|unrelated|no\s+source|remove|delete|drop|repeat(?:ed|s|ition)?|redundant
      | said\s+before|duplicate)\b""",
    re.VERBOSE | re.IGNORECASE,
)
LIKELY = 0.5
"""Probability from which an argument is more likely missing than not; it is calibrated, so nothing is to be tuned."""
_NAMED = 0.5
"""Cosine from which a note in free words is taken to mean an argument. Not tuned: notes are few and people look on."""


def changes_of(
    critique: Critique, answer: str, *, comparison: Callable[[], Comparison | None], encoder: Encodes
) -> Changes:
    """What a critique asks for. Findings say it exactly; a sentence without any is read by its reason.

    A critique that speaks of another text than `answer` asks for nothing.
    """
    if any(answer[s.start : s.end] != s.text for s in critique.sentences):
        return Changes()
    findings = [f for s in critique.sentences for f in s.findings if f.end <= len(answer)]
    changes = _from_findings(findings, comparison)
    for sentence in critique.incomplete:
        # Beside findings the reason says what they say, but for what a person added to it.
        added = critique.review.added(sentence.n) if critique.review is not None else ""
        words = added if sentence.findings else sentence.reason
        if words:
            changes = _joined(changes, _from_reason(sentence, words, comparison(), encoder))
    return changes


def _from_findings(findings: Sequence[Finding], comparison: Callable[[], Comparison | None]) -> Changes:
    known = [f for f in findings if f.edit is not None]
    insertions = [f for f in known if f.start == f.end]
    deletions = [f for f in known if f.start < f.end and not f.edit]
    # The two findings of a move have their reason in common; half a move would lose or double what it moves.
    comes = {t.reason: t for t in insertions if t.kind == "misplaced"}
    moves = [(f, comes[f.reason]) for f in deletions if f.kind == "misplaced" and f.reason in comes]
    added: dict[str, Addition] = {}
    for finding in insertions:
        if finding.kind != "misplaced":
            added.setdefault(spaced(finding.edit or "").casefold(), _addition(finding, comparison()))
    return Changes(
        additions=tuple(added.values()),
        removals=tuple((f.start, f.end) for f in deletions if f.kind != "misplaced"),
        moves=tuple(((f.start, f.end), _addition(t, comparison())) for f, t in moves),
        replacements=tuple(Edit(f.start, f.end, f.edit) for f in known if f.start < f.end and f.edit),
    )


def _addition(finding: Finding, comparison: Comparison | None) -> Addition:
    """An insertion as an addition to the perspective whose argument it is, or that its text is closest to."""
    text = finding.edit or ""
    if comparison is None:
        return Addition(text, finding.start)
    line = " ".join(text.split())
    if line in comparison.alignment.arguments:
        argument = comparison.alignment.arguments.index(line)
        return Addition(text, finding.start, comparison.groups[argument], place_of(comparison, argument).opens)
    said = next((u for u, unit in enumerate(comparison.alignment.units) if unit.text == text), None)
    if said is None or not comparison.groups:
        return Addition(text, finding.start)
    return Addition(text, finding.start, comparison.groups[int(comparison.alignment.best_argument[said])])


def _from_reason(sentence: TaggedSentence, words: str, comparison: Comparison | None, encoder: Encodes) -> Changes:
    """A reason in free words: drops the sentence if it says so, else adds the arguments that it names or means."""
    reason = " ".join(words.split())
    if _REMOVE.search(reason):
        return Changes(removals=((sentence.start, sentence.end),))
    if comparison is None or not comparison.alignment.arguments:
        return Changes()
    arguments = comparison.alignment.arguments
    folded = reason.casefold()
    named = [a for a, text in enumerate(arguments) if text.rstrip(".").casefold() in folded]
    if not named:
        closeness = encoder.encode(arguments) @ encoder.encode([reason])[0]
        best = int(np.argmax(closeness))
        named = [best] if closeness[best] >= _NAMED else []
    return Changes(tuple(Addition(arguments[a], sentence.end, comparison.groups[a]) for a in named))


def least_covered(comparison: Comparison | None) -> Changes:
    """Told only that the answer is not complete: the argument most likely missing, if one more likely is than is not.

    The claim alone names no argument: where every one seems to be said, nothing is added. What is wanted of passages
    cannot be told from closeness (docs/concepts/embedded.md), and so none of their sentences is added either.
    """
    if comparison is None or not comparison.alignment.arguments or not comparison.alignment.sentences:
        return Changes()
    argument = int(np.argmax(comparison.alignment.p_missing))
    if comparison.groups[argument] is None or comparison.alignment.p_missing[argument] < LIKELY:
        return Changes()
    place = place_of(comparison, argument)
    after = comparison.alignment.sentences[place.sentence].text_end
    group = comparison.groups[argument]
    return Changes((Addition(comparison.alignment.arguments[argument], after, group, place.opens),))


def exact_repeats(answer: str) -> Changes:
    """Sentences of four words or more that stand in the answer before, word for word."""
    seen: set[str] = set()
    removals = []
    for sentence in split_sentences(answer):
        words = " ".join(re.findall(r"\w+", sentence.text.casefold()))
        if words.count(" ") >= 3 and words in seen:
            removals.append((sentence.text_start, sentence.text_end))
        seen.add(words)
    return Changes(removals=tuple(removals))


def proposals(changes: Changes) -> tuple[Changes, ...]:
    """Everything; then, more carefully, additions alone; then removals alone. Empty and equal ones are left out."""
    options = (
        changes,
        Changes(additions=changes.additions),
        Changes(removals=changes.removals, replacements=changes.replacements),
    )
    return tuple(option for option in dict.fromkeys(options) if option)


def _joined(a: Changes, b: Changes) -> Changes:
    """Both; what each of them adds is added once."""
    known = {spaced(addition.text).casefold() for addition in a.additions}
    new = tuple(addition for addition in b.additions if spaced(addition.text).casefold() not in known)
    return Changes(a.additions + new, a.removals + b.removals, a.moves + b.moves, a.replacements + b.replacements)


@dataclass(frozen=True, slots=True)
class Addition:
    """Something to be said after the sentence that ends at (or holds) offset `after`.

    `group` names the perspective that it belongs to, None for plain facts; `opens` says that the answer has nothing of
    that perspective yet.
    """

    text: str
    after: int
    group: str | None = None
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be done to an answer: `removals` are spans of it, `moves` spans and what is said elsewhere instead."""

    additions: tuple[Addition, ...] = ()
    removals: tuple[tuple[int, int], ...] = ()
    moves: tuple[tuple[tuple[int, int], Addition], ...] = ()
    replacements: tuple[Edit, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.additions or self.removals or self.moves or self.replacements)
