"""Faults of an answer with their probabilities and reasons: missing, unsupported, repeated, misplaced."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.comparison import SURE, Comparison, opening_of, place_of
from eirene.alignment.placement import ALIKE, repeats
from eirene.core.critique import Finding
from eirene.core.scores import log_odds
from eirene.feedback_model.embedded.evidence import UNSUPPORTED, AnswerEvidence, Critic
from eirene.feedback_model.embedded.removals import MARKER
from eirene.text.language import other_language
from eirene.text.quoting import one_line
from eirene.text.sentences import Sentence
from eirene.text.specifics.index import find_specifics, specifics_index
from eirene.verification.claims import LEADS_IN, claims_nothing

_FAINT = -6.0
"""Log odds under which a fault is left out: no draw in a thousand would name it."""

_NEGATION = re.compile(r"\b(?:not|never|no|cannot|without|too|lacks?|hardly)\b|n['’]t\b", re.IGNORECASE)
_SUMMARY = re.compile(
    r"(?:in\s+(?:summary|short|conclusion|total|brief|other\s+words)|to\s+(?:sum\s+up|summari[sz]e|conclude)|overall"
    r"|therefore|thus|hence|so|all\s+in\s+all|based\s+on\s+(?:this|these|the))\b",
    re.IGNORECASE,
)
_FEWEST_WORDS = 5
_EDGE = 1e-9

Floats = NDArray[np.float64]
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class AnswerFault:
    """One fault, charged to sentence `sentence` (from 0). `margin`: log odds above the operating point's threshold."""

    sentence: int
    margin: float
    reason: str
    findings: tuple[Finding, ...]


def faults_of(comparison: Comparison, evidence: AnswerEvidence, critic: Critic) -> tuple[AnswerFault, ...]:
    """All faults that a draw could name, those of one sentence with the surest first.

    What is not supported cannot say an argument either: where only a part that is to go says one, the argument becomes
    missing with it, and the two faults are one.
    """
    sureness = unsupported_margins(comparison, evidence, critic)
    repeated = list(_repeated(comparison, evidence, critic))
    again = {f.findings[0].start for f in repeated if f.margin > 0}
    kept = np.array([m <= 0 and comparison.alignment.units[u].start not in again
                     for m, u in zip(sureness, evidence.atoms, strict=True)], bool)  # fmt: skip
    p_missing = missing_probabilities(comparison, evidence, critic, np.ones(len(kept), bool))
    p_then = missing_probabilities(comparison, evidence, critic, kept)
    wrong = list(_misplaced(comparison, critic))
    dropped = [*_unsupported(comparison, evidence, sureness), *repeated]
    count = Counter(f.sentence for f in [*wrong, *dropped] if f.margin > 0)
    going = frozenset(s for s, n in count.items() if n >= len(comparison.alignment.atoms[s]))
    moved = {f.findings[0].start for f in wrong if f.margin > 0}
    for a in range(0 if comparison.in_passages else len(comparison.groups)):  # what to use of passages is the answer's
        if comparison.alignment.units[int(comparison.alignment.best_unit[a])].start in moved:
            continue  # said, and only on the wrong side
        now = _margin(float(p_missing[a]), critic.point.missing)
        then = _margin(float(p_then[a]), critic.point.restated)
        if max(now, then) <= _FAINT:
            continue
        fault = _missing(comparison, a, now, going)
        if now <= 0 < then:
            cause = _cause(evidence, a, kept, dropped, comparison)
            if cause is not None:
                old = dropped[cause]
                both = (*old.findings, *fault.findings)
                dropped[cause] = replace(old, reason=f"{old.reason} {fault.reason}", findings=both)
                continue
        wrong.append(fault)
    found = [f for f in [*dropped, *wrong] if f.margin > _FAINT]
    return tuple(sorted(found, key=lambda f: (f.sentence, -f.margin)))


def unsupported_margins(comparison: Comparison, evidence: AnswerEvidence, critic: Critic) -> Floats:
    """How sure it is that each part of the answer says something that was not given, [n]."""
    if comparison.in_passages:
        odds = [[log_odds(float(p), edge=_EDGE)] for p in comparison.alignment.p_unsupported[list(evidence.atoms)]]
        p = critic.passage_unsupported(np.array(odds, np.float32).reshape(-1, 1))
        threshold = critic.point.passage_unsupported
    else:
        p = critic.unsupported(evidence.unsupported) * (1.0 - critic.claimless(evidence.claimless))
        p = np.where(_too_short(comparison, evidence), 0.0, p)
        threshold = critic.point.unsupported
    p = np.where(_not_read(comparison, evidence, p > threshold / 2.0), 0.0, p)
    return np.array([_margin(float(value), threshold) for value in p])


def _not_read(comparison: Comparison, evidence: AnswerEvidence, suspects: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which suspected parts of an English answer are in another language: what cannot be read is not taken out."""
    texts = (comparison.alignment.units[u].text for u in evidence.atoms)
    return np.array(
        [bool(s) and other_language(text) is not None for s, text in zip(suspects, texts, strict=True)], bool
    )


def _too_short(comparison: Comparison, evidence: AnswerEvidence) -> NDArray[np.bool_]:
    """Clauses that hang on their neighbour and have too few words to be judged, or to be a statement at all."""
    units = [comparison.alignment.units[u] for u in evidence.atoms]
    leaning = evidence.unsupported[:, UNSUPPORTED.index("leaning")] > 0
    short = np.array([len(unit.text.split()) < _FEWEST_WORDS for unit in units], bool)
    return np.asarray(leaning & short, bool)


def missing_probabilities(
    comparison: Comparison, evidence: AnswerEvidence, critic: Critic, kept: NDArray[np.bool_]
) -> Floats:
    """The probability that each argument is missing when only the parts in `kept` count as said, [A].

    What such a part says word for word is not missing, whatever it says besides.
    """
    return np.where(evidence.said[:, kept].any(axis=1), 0.0, critic.missing(evidence.missing(kept)))


def _missing(comparison: Comparison, argument: int, margin: float, going: frozenset[int]) -> AnswerFault:
    text, group = comparison.alignment.arguments[argument], comparison.groups[argument]
    reason = f"Missing{'' if group is None else f' for {_quoted(group)}'}: {_quoted(text)}."
    sentence = place_of(comparison, argument, without=going).sentence
    end = comparison.alignment.sentences[sentence].text_end
    return AnswerFault(sentence, margin, reason, (_finding("missing", end, end, reason, text),))


def _cause(
    evidence: AnswerEvidence, argument: int, kept: NDArray[np.bool_], dropped: list[AnswerFault], comparison: Comparison
) -> int | None:
    """Which of the faults that drop something takes away the part that is closest to an argument."""
    closest = int(np.where(kept, -np.inf, evidence.closeness[argument]).argmax())
    unit = comparison.alignment.units[evidence.atoms[closest]]
    return next((i for i, f in enumerate(dropped) if f.margin > 0 and f.findings[0].start == unit.start), None)


def _unsupported(comparison: Comparison, evidence: AnswerEvidence, sureness: Floats) -> Iterator[AnswerFault]:
    for margin, u in zip(sureness, evidence.atoms, strict=True):
        unit = comparison.alignment.units[u]
        if unit.text and margin > _FAINT:
            reason = f"Not among what was given: {_quoted(unit.text)}."
            finding = _finding("unsupported", unit.start, unit.end, reason, "")
            yield AnswerFault(unit.sentence, float(margin), reason, (finding,))


def _repeated(comparison: Comparison, evidence: AnswerEvidence, critic: Critic) -> Iterator[AnswerFault]:
    alignment = comparison.alignment
    part = {u: i for i, u in enumerate(evidence.atoms)}
    for repeat in repeats(alignment):
        if evidence.vectors[part[repeat.unit]] @ evidence.vectors[part[repeat.earlier]] < ALIKE:
            continue
        unit = alignment.units[repeat.unit]
        if _sums_up(alignment.sentences, unit.sentence) or _has_more(unit.text, alignment.units[repeat.earlier].text):
            continue
        both = min(float(alignment.p_says[repeat.argument, u]) for u in (repeat.unit, repeat.earlier))
        reason = f"Said before: {_quoted(unit.text)}."
        finding = _finding("repeated", unit.start, unit.end, reason, "")
        yield AnswerFault(unit.sentence, _margin(both, critic.point.repeated), reason, (finding,))


def _sums_up(sentences: Sequence[Sentence], index: int) -> bool:
    """Whether a sentence is there to say something again: an item of a list, a summary, or what is led in to."""
    text, before = sentences[index].text, sentences[index - 1].text if index else ""
    if MARKER.match(text) or _SUMMARY.match(text):
        return True
    return bool(before) and claims_nothing(before) == LEADS_IN


def _has_more(text: str, earlier: str) -> bool:
    """Whether a text has a number, date or name that an earlier one has not: an encoder takes both for alike."""
    known = specifics_index(earlier)
    return any(not known.holds(mention) for mention in find_specifics(text) if not mention.is_weak)


def _misplaced(comparison: Comparison, critic: Critic) -> Iterator[AnswerFault]:
    """Parts that say an argument of one side where the answer says in words that another is speaking.

    Moving a statement turns its meaning round, so that what merely stands beside another side's is left alone.
    """
    alignment = comparison.alignment
    for u in (u for atoms in alignment.atoms for u in atoms if comparison.told[u] is not None):
        stands = comparison.told[u]
        argument = int(alignment.best_argument[u])
        belongs = comparison.groups[argument]
        own = [a for a, group in enumerate(comparison.groups) if group == stands]
        if belongs in (stands, None) or argument in comparison.shared or alignment.p_says[own, u].max() >= SURE:
            continue
        if _negated(alignment.arguments[argument]) != _negated(alignment.units[u].text):
            continue  # "are mature enough" and "are not mature enough" are close to an encoder
        yield _move(comparison, u, argument, _margin(float(alignment.p_says[argument, u]), critic.point.misplaced))


def _negated(text: str) -> bool:
    return _NEGATION.search(text) is not None


def _move(comparison: Comparison, unit: int, argument: int, margin: float) -> AnswerFault:
    alignment = comparison.alignment
    said = alignment.units[unit]
    place = place_of(comparison, argument, without=frozenset([said.sentence]))
    end = alignment.sentences[place.sentence].text_end
    names = list(dict.fromkeys(name for name in comparison.groups if name is not None))
    words = said.text[len(opening_of(said.text, names)) :]  # who said it there does not say it
    stands, belongs = (_quoted(group or "") for group in (comparison.told[unit], comparison.groups[argument]))
    reason = f"Stands under {stands} and belongs to {belongs}: {_quoted(words)}."
    goes = _finding("misplaced", said.start, said.end, reason, "")
    comes = _finding("misplaced", end, end, reason, words)
    return AnswerFault(said.sentence, margin, reason, (goes, comes))


def _finding(kind: str, start: int, end: int, reason: str, edit: str) -> Finding:
    return Finding.model_validate({"kind": kind, "start": start, "end": end, "reason": reason, "edit": edit})


def _margin(p: float, threshold: float) -> float:
    return log_odds(p, edge=_EDGE) - log_odds(threshold, edge=_EDGE)


def _quoted(text: str) -> str:
    """On one line, in double quotes, without a full stop at the end; long texts are cut at a word."""
    line = one_line(text, _LONGEST)
    return f'"{line.rstrip(".") or line}"'
