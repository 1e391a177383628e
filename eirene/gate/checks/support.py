"""Support check: what an edit says is supported by the arguments at least as well as what it replaces.

Clause by clause, never by the best or the worst of the whole answer. A clause that an edit brings in must be supported
by an argument, or say again what it replaces, what a draft said or what was asked for. Words put
into a sentence must be supported as a clause is, or stand in a source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.alignment import align, load_constants
from eirene.alignment.align import Logistic, frozen, is_small
from eirene.alignment.features import measure
from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.claims import Claim, Insertion, clauses_of, insertions_of, pieces_of, touching
from eirene.text.cancellation import check_cancelled
from eirene.text.discourse import is_filler
from eirene.text.discourse import is_small as is_small_word
from eirene.text.edits.words import SentenceEdit
from eirene.text.quoting import quoted
from eirene.text.remembered import memoised
from eirene.text.sentences import split_sentences
from eirene.text.words import stems

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

Array = NDArray[np.float64]
Vectors = NDArray[np.float32]

ENOUGH = 0.45
"""Probability from which a claim counts as supported, chosen on training data. About 95 of 100 arguments in other words
reach it there (the encoder has seen those claims), 85 of ArgKP's crowd arguments, a few of 100 foreign sentences."""
SURELY_NOT = 0.1
"""Probability under which a piece that is cut at any joint, and may be no statement, counts as not supported."""
FOREIGN = 0.99
"""Share of a piece's words that no source has from which it is looked at by itself."""
SAID_ANEW = 0.25
"""Share of a sentence's words that are gone from which it counts as a paraphrase, not as the same with words put in."""
SAYS_AGAIN = 0.8
"""Cosine from which two clauses say the same."""
_MOST_OLD = 400
"""Earlier sentences that a clause is compared with."""
_QUOTED = re.compile(r'"([^"\n]{5,400})"')


def support(case: EditCase) -> Iterator[Objection]:
    """Objects to claims of an edit that neither an argument nor anything else supports."""
    if _has_arguments(case) and case.encoder is not None and any(text.strip() for text in case.given_texts):
        yield from _SupportedEdits(case, case.encoder).objections()


def supported_parts(case: EditCase, edit: SentenceEdit) -> tuple[str, ...]:
    """The clauses, and their pieces, of an edit's new sentence that an argument supports, without openings."""
    if not _has_arguments(case) or case.encoder is None or edit.after is None:
        return ()
    return tuple(claim.text for claim in _SupportedEdits(case, case.encoder).supported(*edit.after))


def _has_arguments(case: EditCase) -> bool:
    return case.given.source == "perspectives"


@dataclass(frozen=True, eq=False)
class _SupportedEdits:
    case: EditCase
    encoder: Encodes

    def objections(self) -> Iterator[Objection]:
        for n, edit in self.case.changed():
            check_cancelled()
            if edit.after is None or edit.kind == "moved":
                continue
            found = self._added(edit) if edit.before is None else self._reworded(edit)
            if found is not None:
                shown = quoted(self.case.after[found.start : found.end].strip(" ,;:\n"), 80)
                yield Objection(n, f"nothing that was given says {shown}", found.words)

    def _added(self, edit: SentenceEdit) -> Claim | None:
        """The first claim of an added sentence that nothing supports."""
        assert edit.after is not None
        text = self.case.new(edit)
        if any(text in draft for draft in (*self.case.drafts, self.case.before)):
            return None
        return self._unsupported([*clauses_of(self.case.after, *edit.after), *self._foreign_pieces(*edit.after)])

    def supported(self, start: int, end: int) -> list[Claim]:
        """The clauses and pieces of after[start:end] that claim something which the given text supports."""
        found = [*clauses_of(self.case.after, start, end), *pieces_of(self.case.after, start, end)]
        claims = [c for c in found if c.text.strip() and not is_filler(c.text)]
        supported = self._supported([c.text for c in claims]) if claims else ()
        return [c for c, p in zip(claims, supported, strict=True) if p >= ENOUGH]

    def _foreign_pieces(self, start: int, end: int) -> Iterator[Claim]:
        for piece in pieces_of(self.case.after, start, end):
            words = set(stems(piece.text))
            if len(words - self._known) >= FOREIGN * len(words):
                yield piece

    def _reworded(self, edit: SentenceEdit) -> Claim | None:
        """What a reworded sentence brings in and nothing supports, as one claim."""
        assert edit.after is not None
        brought = list(insertions_of(self.case.before, self.case.after, edit))
        if not brought:
            return None
        old = self.case.old(edit)
        loose = [i for i in brought if self._is_loose(i, said_anew=self._is_said_anew(old, self.case.new(edit)))]
        claims = [
            Claim(c.start, c.end, c.text, words)
            for c in clauses_of(self.case.after, *edit.after)
            if (words := touching((c.start, c.end), brought))
        ]
        bad = self._unsupported(claims, old=[old, *(c.text for c in clauses_of(old, 0, len(old)))])
        fault = {k for i in loose for k in i.words} | set((bad and bad.words) or ())
        if not fault:
            return None
        first = loose[0] if loose or bad is None else bad
        return Claim(first.start, first.end, "", tuple(sorted(fault)))

    def _is_said_anew(self, old: str, new: str) -> bool:
        """Whether a sentence lost so many of its words that it is a paraphrase, which may bring words of its own."""
        had = set(stems(old))
        return len(had - set(stems(new))) >= SAID_ANEW * len(had)

    def _is_loose(self, insertion: Insertion, *, said_anew: bool) -> bool:
        """Whether words were put in that no source has, and that are not supported as a clause of their own."""
        strange = [w for w in insertion.new if w not in self._known and not is_small_word(w)]
        if not strange or insertion.replaces * 3 > len(insertion.new):
            return False
        text = self.case.after[insertion.start : insertion.end].strip(" ,;:()")
        claim = Claim(insertion.start, insertion.end, text, loose=said_anew)
        if said_anew and (len(strange) < 3 or len(strange) < FOREIGN * len(insertion.new)):
            return False
        return len(insertion.new) < 3 or self._unsupported([claim]) is not None

    def _unsupported(self, claims: Sequence[Claim], *, old: Sequence[str] = ()) -> Claim | None:
        """The first claim that nothing supports, and that says none of the `old` texts again."""
        claims = [c for c in claims if c.text.strip() and not is_filler(c.text)]
        if not claims:
            return None
        texts = [c.text for c in claims]
        supported = self._supported(texts)
        needed = [SURELY_NOT if c.loose else ENOUGH for c in claims]
        open_ = [k for k in range(len(claims)) if supported[k] < needed[k]]
        if not open_:
            return None
        again = self._again([texts[k] for k in open_], old)
        return next((claims[k] for k, cosine in zip(open_, again, strict=True) if cosine < SAYS_AGAIN), None)

    def _supported(self, texts: Sequence[str]) -> Array:
        case = self.case
        arguments = tuple(dict.fromkeys(" ".join(text.split()) for text in case.given_texts if text.strip()))
        return ClaimSupport(case.question, self.encoder, case.before).probabilities(arguments, texts)

    def _again(self, texts: Sequence[str], old: Sequence[str]) -> NDArray[np.float32]:
        """The highest cosine of each text with what may be said again."""
        earlier = [text for text in (*old, *self._earlier) if text.strip()]
        if not earlier:
            return np.full(len(texts), -1.0, np.float32)
        return np.asarray((self.encoder.encode(texts) @ self.encoder.encode(earlier).T).max(axis=1), np.float32)

    @cached_property
    def _earlier(self) -> tuple[str, ...]:
        """What an edit may say again: sentences that were removed or reworded, those of the drafts, what was asked."""
        case = self.case
        gone = [c.text for _, e in case.changed() if e.before for c in clauses_of(case.before, *e.before)]
        drafts = [s.text for draft in case.drafts for s in split_sentences(draft)]
        asked = [text for a in case.asked for text in (a.edit or "", a.reason, *_QUOTED.findall(a.reason))]
        return tuple(dict.fromkeys([*asked, *gone[:_MOST_OLD], *drafts[:_MOST_OLD]]))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(word for text in self.case.sources for word in stems(text))


# Fitted once, on NPOV training answers and on ArgKP training topics (which the encoder was not trained on), against
# unsupported sentences of those sets and foreign ones of ten kinds, written for it.
_ARGUMENTS = Logistic((7.49, -2.97, 6.76, 3.22, 5.45, -4.57, 7.55, 1.73), -10.4)


@dataclass(frozen=True, eq=False)
class ClaimSupport:
    """How surely arguments support claims, by the sentence encoder and by words.

    `before`: the text that a rewrite started from; who says an argument that was missing there is more likely to be
    supported by it than one who says something beside all of them.
    """

    question: str
    encoder: Encodes
    before: str

    def probabilities(self, arguments: Sequence[str], claims: Sequence[str]) -> Array:
        """For each claim, without its opening ("Critics add that"), how likely an argument supports it, in [0, 1]."""
        if not claims or not arguments:
            return np.zeros(len(claims))
        return _ARGUMENTS(self._measures(arguments, claims))

    def _measures(self, arguments: Sequence[str], claims: Sequence[str]) -> Vectors:
        """What `_ARGUMENTS` weighs of each claim, [n, 8]."""
        constants = load_constants()
        found = measure(
            arguments,
            claims,
            self.encoder,
            question=self.question,
            evidence=None,
            blend=constants.blend,
            said=np.zeros((len(arguments), len(claims)), np.bool_),
        )
        says = constants.says(found.says())
        missing = align(arguments, self.before, self.encoder, question=self.question).p_missing
        words = _given_words(given=tuple(arguments), question=self.question)
        best = found.closeness.argmax(axis=0)
        own = [stems(claim) for claim in claims]
        columns = (
            found.support,
            says.max(axis=0),
            (says * missing[:, None]).max(axis=0),
            [words.unknown(claim) for claim in own],
            self.encoder.encode(claims) @ self._topic,
            constants.claimless(found.claimless()),
            self._own(arguments, claims).max(axis=0),
            [words.shared(claim, int(a)) for claim, a in zip(own, best, strict=True)],
        )
        return np.stack([np.asarray(c, np.float32) for c in columns], axis=-1)

    @cached_property
    def _topic(self) -> Vectors:
        return np.asarray(self.encoder.encode([self.question])[0])

    def _own(self, premises: Sequence[str], claims: Sequence[str]) -> Vectors:
        """Cosines of what premises and claims say beyond the question's topic, which all of them share; [P, n]."""
        given, said = (_without(self.encoder.encode(texts), self._topic) for texts in (premises, claims))
        return np.asarray(given @ said.T, np.float32)


def _without(vectors: Vectors, direction: Vectors) -> Vectors:
    rest = vectors - np.outer(vectors @ direction, direction)
    return np.asarray(rest / np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-9), np.float32)


@dataclass(frozen=True, slots=True)
class _GivenWords:
    """The stems of given texts, one set each; `asked` are the question's, which say nothing."""

    texts: tuple[frozenset[str], ...]
    asked: frozenset[str]
    all: frozenset[str]

    def unknown(self, claim: Sequence[str]) -> float:
        """The share of a claim's distinct stems that no given text has, nor the question."""
        words = set(claim)
        return len(words - self.all) / max(len(words), 1)

    def shared(self, claim: Sequence[str], row: int) -> float:
        """The share of its distinct stems, the question's left out, that stand in one given text."""
        words = set(claim) - self.asked
        return len(words & self.texts[row]) / max(len(words), 1)


@memoised(16, small=is_small)
def _given_words(*, given: tuple[str, ...], question: str) -> _GivenWords:
    texts = tuple(frozenset(stems(text)) for text in given)
    asked = frozenset(stems(question))
    return frozen(_GivenWords(texts, asked, asked.union(*texts)))
