"""Mends: a few words of a faulted sentence put right from the passages, where the verifier tells both apart.

The proposals come from words alone (values, opposites, negations); the verifier judges each beside the sentence as it
stands, and the gate judges what is made of it. Mended is only what is a sentence of the passages but for a few words,
or surely has a "not" too many or too few, and no value that follows from theirs but a date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from eirene.text.cancellation import check_cancelled
from eirene.text.specifics.index import find_specifics
from eirene.text.values.reading import value_index
from eirene.text.values.value import POINTS
from eirene.text.words import content_words, stems
from eirene.verification.claims import claim_of
from eirene.verification.context import ClaimReading, ContextReader
from eirene.verification.framed import ContextPiece
from eirene.verification.mend_proposals import (
    Proposal,
    fitted,
    negation_proposals,
    opposite_proposals,
    value_proposals,
)
from eirene.verification.opposites import is_bound

OLD_SUPPORTED = 0.65
"""Probability of support up to which a sentence may be mended."""
NEW_SUPPORTED, GAIN = 0.4, 0.35
"""Probability of support that the mended sentence must reach, and how much more of it it must have."""
CONTRADICTED = 0.5
"""Probability of contradiction from which the passages speak against a sentence: without it no name, no opposite and no
negation is tried. Of what they do not tell any name may be right."""
SURELY_DENIED = 0.78
"""Probability of contradiction from which a "not" may be taken out, or put in, in other words than the passages', and
the support that this needs: of 3,580 sound sentences of people and models none was changed so, from .7 on two."""
LIKELY_SUPPORTED, LIKELY_GAIN = 0.3, 0.2
"""The same two for a mend that another model is asked to confirm."""
CLEAR = 0.04
"""How far the best mend must be ahead of another one at the same place."""
GIVEN, GIVEN_VALUES = 3, 6
"""Sentences of the passages that words are proposed from, and values."""
MOST = 30
"""Proposals for one sentence that are looked at."""
LONGEST = 600
"""Characters of a sentence that is mended."""
_NOT = re.compile(r"\b(?:not|never|no|cannot|nor|neither|without)\b|n['’]t\b", re.IGNORECASE)
_ARTICLE = re.compile(r"\Aan?\s+", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:(?:the|your)\s+)?"
    r"(?!(?:about|after|almost|around|before|by|during|from|in|nearly|on|over|since|some|under|until)\b)(?=.)"
    r"(?:[a-z]+\s#?)?(?:(?-i:[A-Z]{1,5})-(?:\d+-)*)?",
    re.IGNORECASE,
)
"""What a sentence begins with whose subject is told by a number ("Parcel K-"): another number is another subject."""
_LIMITS = re.compile(
    r"\b(?:until|till|but|unless|without|except|formerly|previously|originally|initially|last|next|planned|due)\b", re.I
)
"""What a given sentence says under a condition, or of another time, with. Of 40 mends that put back what people had
written this stops two; rules for every "in" and "on", for the tense and for hedges stopped 17."""
_WHILES = re.compile(r"\b(?:when(?:ever)?|whil(?:e|st)|once|before|after|during|since|outside)\b", re.IGNORECASE)
"""The same of what is turned round: a value may well be of the time that is named."""
_TURNED = re.compile(
    r"\b(?:later|earlier|longer|since\s+(?:then|\w+(?:ed|en))|instead|however|actually|after\s+that|now|today|currently"
    r"|(?:this|next)\s+(?:year|month|week|season|spring|summer|autumn|winter)|(?:do|does|did|has|have|is|are)\s+too)\b"
    r"|\A\W*(?:but|yet|so\s+(?:do|does|did|has|is|are))\b",
    re.IGNORECASE,
)
"""What a next sentence tells of another time, or of others, with."""


@dataclass(frozen=True, slots=True)
class Mend(Proposal):
    """A proposal that stands, and the sentence's readings without and with it."""

    before: ClaimReading
    after: ClaimReading

    @property
    def margin(self) -> float:
        """By how much the passages support the mended sentence more, and contradict it less."""
        supported = self.after.supported - self.before.supported
        return supported + self.before.contradicted - self.after.contradicted


def best_mend(sentence: str, before: ClaimReading, reader: ContextReader, others: Iterable[str] = ()) -> Mend | None:
    """The mend of a sentence that stands by clear margins; None where none does, or two do as well at one place.

    `before` is the sentence's reading. `others` are the other sentences of the answer, none of which a mend says again.
    """
    fresh = _fresh(sentence, before, reader, others)
    possible = [p for p in fresh if _may_stand(p, before) and _is_given(sentence, p, before, reader)]
    proposals = [p for p in fresh if p in possible or any(_is_rival(p, best) for best in possible)]
    mends = _read(proposals, sentence, before, reader)
    standing = [m for m in mends if _stands(m, sentence) and _is_plain(m, sentence, reader)]
    if before.values.chance is not None:  # a sum or the like; a year that adds up with the number of arches is none
        units = ({v.base for mention in value_index(m.new).mentions for v in mention.values} for m in standing)
        standing = [m for m, own in zip(standing, units, strict=True) if m.kind != "entity" or own & POINTS]
    return _clearest(standing, mends)


def likely_mend(sentence: str, before: ClaimReading, reader: ContextReader, others: Iterable[str] = ()) -> Mend | None:
    """The mend by which a sentence gains most, in other words than the passages', too: for another model to confirm.

    The arguments are those of `best_mend`. No value takes the place of one that follows from the passages', and no
    "not" goes or comes: in pairs such as "upheld" and "not overturned" small models are wrong together.
    """
    proposals = [p for p in _fresh(sentence, before, reader, others) if _may_stand(p, before)]
    follows = before.values.chance is not None
    likely = [
        m
        for m in _read(proposals, sentence, before, reader)
        if m.after.supported >= max(LIKELY_SUPPORTED, before.supported + LIKELY_GAIN)
        and m.after.contradicted <= before.contradicted
        and not (follows and m.kind == "entity")
        and (_NOT.search(sentence[m.start : m.end]) is None) == (_NOT.search(m.new) is None)
        and _is_said(m)
        and _is_plain(m, sentence, reader)
    ]
    return max(likely, key=lambda m: m.margin, default=None)


def _fresh(sentence: str, before: ClaimReading, reader: ContextReader, others: Iterable[str]) -> list[Proposal]:
    """The proposals for a sentence that may be mended, but for those that say another sentence again."""
    if before.supported > OLD_SUPPORTED or len(sentence) > LONGEST:
        return []
    said = {frozenset(stems(other)) for other in others}
    made = _proposals(sentence, _given(sentence, before, reader))
    return [p for p in made if frozenset(stems(p.applied(sentence))) not in said]


def _read(proposals: Sequence[Proposal], sentence: str, before: ClaimReading, reader: ContextReader) -> list[Mend]:
    check_cancelled()
    readings = reader.read([claim_of(p.applied(sentence)) for p in proposals], values=False) if proposals else []
    return [Mend(p.start, p.end, p.new, p.kind, before, after) for p, after in zip(proposals, readings, strict=True)]


def _given(sentence: str, before: ClaimReading, reader: ContextReader) -> Sequence[ContextPiece]:
    """The deciding sentence, then the nearest ones."""
    nearest = reader.nearest(claim_of(sentence), GIVEN_VALUES)
    first = [before.evidence] if before.evidence is not None else []
    return list(dict.fromkeys([*first, *nearest]))[:GIVEN_VALUES]


def _proposals(sentence: str, given: Sequence[ContextPiece]) -> Iterator[Proposal]:
    """Proposals from the deciding sentence first, one of those that make the same of the sentence."""
    seen: set[str] = set()
    for proposal in _raw(sentence, [piece.text for piece in given]):
        fit = fitted(sentence, proposal)
        if (made := fit.applied(sentence)) not in seen:
            seen.add(made)
            if len(seen) > MOST:
                return
            yield fit


def _raw(sentence: str, given: Sequence[str]) -> Iterator[Proposal]:
    for text in given[:GIVEN]:
        for make in (value_proposals, opposite_proposals, negation_proposals):
            yield from make(sentence, text)
    for text in given[GIVEN:]:
        yield from value_proposals(sentence, text)


def _is_given(sentence: str, proposal: Proposal, before: ClaimReading, reader: ContextReader) -> bool:
    """Whether any piece of the texts may carry the mended sentence: without one, reading it is for nothing."""
    return any(_needs(piece.text, sentence, proposal, before) for piece in reader.pieces)


def _needs(given: str, sentence: str, proposal: Proposal, before: ClaimReading) -> float | None:
    """The support by a given sentence that the mended one needs: some where it is the same but for the proposal, more
    where the reading alone tells that there is a "not" too many or too few; None where it tells nothing.

    For the latter the given sentence has the next word: of "upheld" it is no "not" too many in "was not overturned".
    """
    if is_given_but_for(sentence, proposal, given):
        return NEW_SUPPORTED
    old, new = (_NOT.search(text) is not None for text in (sentence[proposal.start : proposal.end], proposal.new))
    if old == new or before.contradicted < SURELY_DENIED or old == (_NOT.search(given) is not None):
        return None
    denied = [*stems(_NOT.sub("", proposal.new)), *(stem for stem, at in _words(sentence) if at >= proposal.end)]
    return SURELY_DENIED if set(denied[:1]) <= {stem for stem, _ in _words(given)} else None


def _may_stand(mend: Proposal, before: ClaimReading) -> bool:
    """Whether the passages speak so clearly against a sentence that it may have such a mend."""
    return before.contradicted >= CONTRADICTED or (mend.kind == "entity" and not _is_name(mend))


def _stands(mend: Mend, sentence: str) -> bool:
    old, new = mend.before, mend.after
    if new.contradicted > old.contradicted or not _may_stand(mend, old) or not _is_said(mend):
        return False
    least = None if new.evidence is None else _needs(new.evidence.text, sentence, mend, old)
    if least is None:
        return False
    return new.supported >= least and new.supported - old.supported >= GAIN


def _is_plain(mend: Mend, sentence: str, reader: ContextReader) -> bool:
    """Whether the sentence that carries a mended one, and the next, say so without more; not of another "Version 2"."""
    evidence = mend.after.evidence
    is_number = mend.kind == "entity" and not _is_name(mend)
    if evidence is None or (is_number and _LABEL.fullmatch(claim_of(sentence), 0, mend.start - _lead(sentence))):
        return False
    at = reader.pieces.index(evidence) + 1
    after = [p.text for p in reader.pieces[at : at + 1] if p.source == evidence.source and p.field is None]
    mended = claim_of(mend.applied(sentence)).lower()
    limits = (_LIMITS, _WHILES) if mend.kind == "relation" else (_LIMITS,)
    given = evidence.text.lower()
    is_bounded = is_number and is_bound(given, mended)
    is_limited = is_bounded or any(set(words.findall(given)) - set(words.findall(mended)) for words in limits)
    return evidence.field is not None or not (is_limited or any(map(_TURNED.search, after)))


def _lead(sentence: str) -> int:
    """The length of what leads in ("According to the text, ..."): it is said of nothing."""
    return len(sentence) - len(claim_of(sentence))


def _is_name(mend: Proposal) -> bool:
    """Whether a value has no figure in it: a name, or a month."""
    return mend.kind == "entity" and not any(map(str.isdigit, mend.new))


def _is_said(mend: Mend) -> bool:
    """Whether the sentence that carries the mended one has its value: elsewhere it may stand for something else."""
    if mend.kind != "entity":
        return True
    evidence = mend.after.evidence
    return evidence is not None and _ARTICLE.sub("", mend.new).strip().lower() in evidence.text.lower()


def _clearest(standing: Sequence[Mend], every: Sequence[Mend]) -> Mend | None:
    if not standing:
        return None
    best = max(standing, key=lambda m: m.margin)
    rivals = (m for m in every if m is not best and _is_said(m) and _is_rival(m, best))
    return best if all(m.margin <= best.margin - CLEAR for m in rivals) else None


def _is_rival(mend: Proposal, best: Proposal) -> bool:
    """Whether a mend says something else at the same place; a value of another length is another kind of thing."""
    is_value = mend.kind == best.kind == "entity"
    is_alike = not is_value or len(mend.new.split()) == len(best.new.split())
    return is_alike and mend.new != best.new and mend.start < best.end and best.start < mend.end


_FEWEST = 1
"""Words that a sentence must have besides what is mended; of a name one more."""


def is_given_but_for(sentence: str, proposal: Proposal, given: str) -> bool:
    """Whether a given sentence says what the sentence says once the proposal is made.

    All content words stand there in their order, the one next to the mend next to it, and no value between them that
    the sentence has not; for an opposite or a "not" no word ("a dwarf planet" is no planet).
    """
    start = _lead(sentence)
    before = [stem for stem, at in _words(sentence) if start <= at < proposal.start]
    after = [stem for stem, at in _words(sentence) if at >= proposal.end]
    is_name = proposal.kind == "entity" and not _values(proposal.new)
    if len(before) + len(after) < _FEWEST + is_name:
        return False
    words = _words(given)
    if not {*before, *after} <= {stem for stem, _ in words}:
        return False
    said = {stem for stem, _ in _words(proposal.applied(sentence))}
    return any(
        _go_on_alike(before[::-1], [stem for stem, start in words if start < at][::-1], strange)
        and _go_on_alike(after, [stem for stem, start in words if start >= end], strange)
        and _is_beside(before, after, words, (at, end))
        for at, end in _places(proposal, given, words)
        for strange in [
            (_values(given, beside=(at, end)) if proposal.kind == "entity" else {s for s, _ in words}) - said
        ]
    )


def _words(text: str) -> list[tuple[str, int]]:
    return [(word.stem, word.start) for word in content_words(text)]


def _values(text: str, beside: tuple[int, int] = (0, 0)) -> set[str]:
    """The stems of a text that belong to its numbers, dates and times, but for those with a place in them."""
    found = [(m.start, m.end) for m in find_specifics(text) if m.kind in ("number", "date")]
    spans = [(a, b) for a, b in found if not (a < beside[1] and beside[0] < b)]
    return {stem for stem, at in _words(text) if any(a <= at < b for a, b in spans)}


def _places(proposal: Proposal, given: str, words: Sequence[tuple[str, int]]) -> Iterator[tuple[int, int]]:
    """Where a given sentence has what is put in; anywhere between two words for what is left out."""
    new = proposal.new.strip().casefold()
    if not new:
        yield from ((at, at) for at in (*(start for _, start in words), len(given)))
        return
    text, at = given.casefold(), -1
    while (at := text.find(new, at + 1)) >= 0:
        yield at, at + len(new)


def _is_beside(
    before: Sequence[str], after: Sequence[str], words: Sequence[tuple[str, int]], place: tuple[int, int]
) -> bool:
    """Whether the word before a place, or the one after it, is the same."""
    left = [stem for stem, start in words if start < place[0]]
    right = [stem for stem, start in words if start >= place[1]]
    return not before or not after or left[-1:] == before[-1:] or right[:1] == after[:1]


def _go_on_alike(wanted: Sequence[str], given: Sequence[str], strange: set[str]) -> bool:
    """Whether words stand in a text in their order, with no strange one before the last of them."""
    at = 0
    for stem in wanted:
        while at < len(given) and given[at] != stem:
            if given[at] in strange:
                return False
            at += 1
        if at == len(given):
            return False
        at += 1
    return True
