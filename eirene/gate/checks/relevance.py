"""Relevance check, where nothing is given: a new sentence speaks to the question, or goes on with what the answer says.

What is true cannot be told here, only what belongs: how near a sentence is to the question and to the sentences of the
text before, next to how near those are to each other; which words they share; whether it speaks to the reader where the
text before does not. What answers a reason of the critique or a note is wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.align import Logistic
from eirene.alignment.features import PROTOTYPES
from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.claims import Claim, insertions_of, pieces_of
from eirene.text.cancellation import check_cancelled
from eirene.text.clauses import core_text
from eirene.text.discourse import is_small
from eirene.text.edits.words import SentenceEdit
from eirene.text.quoting import quoted
from eirene.text.sentences import split_sentences
from eirene.text.words import stems

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

# Fitted on answers of HaluQuestQA, ExpertQA and HaluEval and on NPOV training answers: a sentence of theirs put back,
# against sentences of other answers and foreign ones of ten kinds.
_BELONGS = Logistic((4.14, 2.94, 1.69, 2.86, 5.24, -2.58, -1.87, 1.29, -3.47, 0.05, -6.38), -2.22)
ENOUGH = 0.65
"""Probability from which a sentence belongs to the answer. On training data 94 of 100 of an answer's own sentences
reach it, 78 of NPOV answers' own; of foreign ones 3 to 6 of 100, and a fourth to a half of those that name the topic.
"""
PIECE = 0.3
"""The same for a piece of a sentence, or words put into one, most of whose words no source has."""
FOREIGN = 0.6
"""Share of a piece's words that no source has from which it is looked at by itself."""
ANSWERS = 0.55
"""Cosine from which a sentence answers a reason of the critique, or a note."""
REPLACED = 0.5
"""Cosine with the old sentence under which words that came in its words' place say something else."""
_CLAUSE = 4
"""Words that a clause has at least, which came in other words' place."""
_FEW = 0.5
"""What is usual among the sentences of a text that has only one."""
_MOST = 400
"""Sentences of the text before that are compared."""
_QUOTED = re.compile(r'"([^"\n]{5,400})"')
_READER = re.compile(r"\b(?:you|yours?|yourself|yourselves)\b", re.IGNORECASE)
_EDGES = " ,;:()[]—–-"

Vectors = NDArray[np.float32]


def relevance(case: EditCase) -> Iterator[Objection]:
    """Objects to what does not belong to the answer, where nothing was given that could tell."""
    if case.has_given or case.encoder is None or not case.before.strip():
        return
    answer = AnswerBefore(case.question, case.before, case.encoder)
    for n, edit in case.changed():
        check_cancelled()
        if edit.after is None or edit.kind == "moved" or not answer.sentences:
            continue
        found = _added(case, edit, answer) if edit.before is None else _reworded(case, edit, answer)
        if found is not None:
            shown = quoted(case.after[found.start : found.end].strip(" ,;:\n"), 80)
            yield Objection(n, f"{shown} does not belong to this answer", found.words)


def _added(case: EditCase, edit: SentenceEdit, answer: AnswerBefore) -> Claim | None:
    assert edit.after is not None
    text = case.new(edit)
    if any(text in draft for draft in (*case.drafts, case.before)) or _answers(case, [text])[0]:
        return None
    enough = PIECE if case.is_judged else ENOUGH  # what is less clear is left to the judge
    if not answer.belongs([core_text(text)], enough)[0]:
        return Claim(*edit.after, core_text(text))
    known = frozenset(word for source in case.sources for word in stems(source))
    pieces = [p for p in pieces_of(case.after, *edit.after) if _strangeness(stems(p.text), known) >= FOREIGN]
    fits = answer.belongs([p.text for p in pieces], PIECE)
    return next((piece for piece, ok in zip(pieces, fits, strict=True) if not ok), None)


def _reworded(case: EditCase, edit: SentenceEdit, answer: AnswerBefore) -> Claim | None:
    brought = list(insertions_of(case.before, case.after, edit))
    if not brought:
        return None
    known = frozenset(word for source in case.sources for word in stems(source))
    strange = [i for i in brought if len(i.new) > 1 and _strangeness(i.new, known) >= FOREIGN]
    texts = [core_text(case.after[i.start : i.end].strip(_EDGES)) for i in strange]
    open_ = [
        i.replaces * 3 <= len(i.new) or (len(i.new) >= _CLAUSE and cosine < REPLACED)
        for i, cosine in zip(strange, answer.likeness(texts, case.old(edit)), strict=True)
    ]
    checked = zip(strange, open_, answer.belongs(texts, PIECE), _answers(case, texts), strict=True)
    bad = [i for i, is_open, fits, asked in checked if is_open and not fits and not asked]
    if not bad:
        return None
    return Claim(bad[0].start, bad[0].end, "", tuple(sorted(k for i in bad for k in i.words)))


def _strangeness(words: Sequence[str], known: frozenset[str]) -> float:
    return sum(w not in known and not is_small(w) for w in words) / max(len(words), 1)


def _answers(case: EditCase, texts: Sequence[str]) -> list[bool]:
    """Which texts say what was asked for."""
    asked = [t for a in case.asked for t in (a.edit or "", a.reason, *_QUOTED.findall(a.reason)) if t.strip()]
    if not asked or not texts or case.encoder is None:
        return [False] * len(texts)
    cosine = case.encoder.encode(texts) @ case.encoder.encode(asked).T
    return [bool(c >= ANSWERS) for c in cosine.max(axis=1)]


@dataclass(frozen=True, eq=False)
class AnswerBefore:
    """A question and an answer to it that further sentences may belong to."""

    question: str
    text: str
    encoder: Encodes

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """What its sentences say, without openings; of a long text the first ones."""
        return tuple(core_text(s.text) for s in split_sentences(self.text)[:_MOST] if s.text)

    def belongs(self, claims: Sequence[str], enough: float) -> list[bool]:
        """Which claims belong to the answer, with at least this probability."""
        return [bool(p >= enough) for p in _BELONGS(self.measures(claims))] if claims else []

    def likeness(self, texts: Sequence[str], old: str) -> Vectors:
        """The cosine of each text with the sentence that it stands in the place of."""
        return np.asarray(self.encoder.encode(texts) @ self.encoder.encode([old])[0], np.float32)

    def measures(self, claims: Sequence[str]) -> Vectors:
        """What `_BELONGS` weighs of each claim, [n, 11]; the text before must have a sentence.

        The claim's cosine with the question, with the nearest two sentences of the text before and with their mean, the
        last also less what is usual among them; the share of its words that the text before or the question has, that
        the question has, and how many (up to 4); whether it speaks to a reader whom the text before does not speak to;
        its content words (up to 20); its cosine with a sentence that says nothing about any matter.
        """
        said = self.encoder.encode(claims)
        near = np.sort(self._vectors @ said.T, axis=0)[::-1]
        whole = said @ self._mean
        own = [stems(claim) for claim in claims]
        rows = [self._words(words) for words in own]
        speaks = bool(_READER.search(self.text))
        columns = (
            said @ self.encoder.encode([self.question])[0],
            near[0],
            near[min(1, len(near) - 1)],
            whole,
            whole - self._usual,
            *np.array(rows, np.float32).reshape(-1, 3).T,
            [float(not speaks and _READER.search(claim) is not None) for claim in claims],
            [min(len(set(words)), 20) for words in own],
            (said @ self.encoder.encode(PROTOTYPES).T).max(axis=1),
        )
        return np.stack([np.asarray(c, np.float32) for c in columns], axis=-1)

    def _words(self, claim: Sequence[str]) -> tuple[float, float, float]:
        words = set(claim)
        n = max(len(words), 1)
        known = len(words & self._known)
        return known / n, len(words & self._asked) / n, min(known, 4)

    @cached_property
    def _vectors(self) -> Vectors:
        return self.encoder.encode(self.sentences)

    @cached_property
    def _mean(self) -> Vectors:
        return _unit(self._vectors.sum(axis=0))

    @cached_property
    def _usual(self) -> float:
        """The median cosine of a sentence with the mean of the others."""
        vectors = self._vectors
        if len(vectors) < 2:
            return _FEW
        total = vectors.sum(axis=0)
        return float(np.median([_unit(total - v) @ v for v in vectors]))

    @cached_property
    def _asked(self) -> frozenset[str]:
        return frozenset(stems(self.question))

    @cached_property
    def _known(self) -> frozenset[str]:
        return self._asked | frozenset(stems(self.text))


def _unit(vector: Vectors) -> Vectors:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)
