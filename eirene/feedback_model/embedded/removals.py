"""Removals: whole sentences that are inventions, and that nothing in the answer hangs on; in doubt they stay.

An invention is a claim that is surely unsupported and far from the passages and from the question: what answers the
question, or follows from the passages, is close to one of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eirene.text.clauses import clause_spans
from eirene.text.discourse import concludes
from eirene.text.english import looks_like_base
from eirene.text.language import likely_code
from eirene.text.leaning import announced, announces, goes_on, leans, pronoun, refers
from eirene.text.sentences import Sentence
from eirene.text.words import content_words, stems, word_set
from eirene.verification.claims import LEADS_IN, MAY_BE_TALK, claim_of, claims_nothing, talk_chances
from eirene.verification.context import ClaimReading, ContextReader
from eirene.verification.judging import sentence_risk

SURE = 0.75
"""Risk from which a sentence may go."""
FAR = 0.43
"""Cosine with the passages and with the question below which a sentence may go."""
CLAUSE = 0.3
"""Probability of support from which a clause holds its sentence back."""
STAYS = 0.5
"""Probability of support of a sentence that counts as something of the answer's that stays."""
MOST = 0.5
"""Share of an answer's claims that may go."""
_NEAR = 3
"""Sentences after one that are looked at for what hangs on it."""

MARKER = re.compile(r"[ \t]*(?:[-*•‣▪–][ \t]|\(?(?:\d{1,3}|[a-zA-Z])[.)][ \t]|step\s\d|#{1,6}[ \t]|\||>|\*\*)", re.I)
"""What a line of its own begins with: an item of a list, a step, a heading, a table's row, a quotation."""
_INSTRUCTS = re.compile(
    r"\b(?:should|make\s+sure|be\s+sure"
    r"|it(?:\s+is|['’]s)\s+(?:(?:\w+ly|always|also|very|quite)\s+)?(?:best|better|good|wise|important|recommended|advisable"
    r"|normal|natural|fine|okay|ok|worth))\b",
    re.IGNORECASE,
)
_ORDER = re.compile(r"(?:(?:first|second|third|then|next|after\s+that|finally|now)\b,?\s+)?([^\W\d_]+)", re.IGNORECASE)
_TELLS = word_set("removals tells")
"""Verbs that tell a reader to do something, and words before one; `looks_like_base` knows those of statements."""
_SPEAKS = re.compile(r"\b(?:[Yy]ou(?:rs?)?|[Ww]e|[Oo]urs?|us|[Mm]y|me)\b")
"""The answer's own speaker or reader, of whom passages know nothing; no "US"."""
_OPENING = re.compile(r"[^,:]{1,80}[,:]\s+")
"""What a sentence may say before its verb: "If it rains, ", "One last tip: "."""
_STEP = re.compile(
    r"(?:then|next|after\s+that|now)\b,?\s+(?!(?:the|a|an|it|he|she|they|we|you|this|that|these|there|his|her|its|their)\b)",
    re.IGNORECASE,
)
_HOW = re.compile(
    r"\W{0,3}(?:how\s(?:to|do|does|can|should)|(?:what\s)?steps|instructions|directions)\b", re.IGNORECASE
)
_STATES = re.compile(r"[.!…][\"'”’)\]*_]*\s*\Z")
"""A statement ends as one does; a name or a line of a letter ends in nothing or a comma."""
_LABEL = re.compile(r"\W{0,3}[^\W\d_][\w'’-]*(?:\s[\w'’-]+){0,2}:\s")
"""What is named for what it is, "Short answer: ...", is meant as such."""
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"))
_FIRST_WORDS = 80
"""Characters at the beginning of a sentence that tell what it hangs on."""


@dataclass(frozen=True)
class Removals:
    """Chooses the sentences of an answer that may go; `readings` by index, of those that claim something.

    `mended`: sentences that are put right, and so stay. `query` is the question in its place (`Item.query`).
    """

    answer: str
    question: str
    sentences: Sequence[Sentence]
    readings: Mapping[int, ClaimReading]
    reader: ContextReader
    mended: frozenset[int] = frozenset()
    query: str = ""

    def chosen(self, faulted: Sequence[int]) -> frozenset[int]:
        """Which of the faulted sentences may go, the riskiest first, as long as enough of the answer stays."""
        wanted = [i for i in faulted if self._is_invention(i) and self._may_go(i)]
        wanted.sort(key=lambda i: -sentence_risk(self.readings[i]))
        stays = [i for i, reading in self.readings.items() if i in self.mended or reading.supported >= STAYS]
        room = int(MOST * len(self.readings)) if stays else 0
        gone: set[int] = set()
        for i in wanted:
            if len(gone) < room and not self._is_leant_on(i, gone) and not self._has_supported_clause(i):
                gone.add(i)
        return frozenset(i for i in gone if not self._is_leant_on(i, gone))

    def _is_invention(self, index: int) -> bool:
        """Whether a sentence is surely unsupported, a claim, no conclusion, and far from what was given and asked."""
        reading, claim = self.readings[index], claim_of(self._text(index))
        if sentence_risk(reading) < SURE or reading.cosine >= FAR or concludes(claim):
            return False
        if refers(claim) and pronoun(claim) is None:  # "Half of them": a part of what was said
            return False
        encoder = self.reader.encoder
        if reading.values.chance is not None or talk_chances([claim], encoder)[0] > MAY_BE_TALK:
            return False
        vectors = encoder.encode([claim, self.query or self.question])
        return float(vectors[0] @ vectors[1]) < FAR

    def _may_go(self, index: int) -> bool:
        """Whether a sentence by itself may go: no list item, line of a letter, advice, foreign text, nor led in to."""
        sentence = self.sentences[index]
        line = self.answer[self.answer.rfind("\n", 0, sentence.text_start) + 1 : sentence.text_end]
        if MARKER.match(line) or any(sentence.text.count(a) != sentence.text.count(b) for a, b in _PAIRS):
            return False
        if sentence.text.count('"') % 2:
            return False
        if not _STATES.search(sentence.text) or _LABEL.match(sentence.text):
            return False
        if self._instructs(sentence.text) or likely_code(sentence.text) != "en":
            return False
        before = self._text(index - 1)
        return not (before and claims_nothing(before) in ("a heading", LEADS_IN))

    def _instructs(self, text: str) -> bool:
        """Whether a sentence tells what to do, or speaks of who asks and who answers."""
        opening = _OPENING.match(text)
        orders = _orders(text) or (opening is not None and _orders(text[opening.end() :]))
        is_how = _HOW.match(self.question) or _HOW.match(self.query)
        is_step = is_how or _STEP.match(text) or _INSTRUCTS.search(text)
        return orders or is_step is not None or _SPEAKS.search(text) is not None

    def _text(self, index: int) -> str:
        return self.sentences[index].text if 0 <= index < len(self.sentences) else ""

    def _is_leant_on(self, index: int, gone: set[int]) -> bool:
        """Whether a sentence that stays hangs on one: by its first word, or by what only that one introduces."""
        stays = [j for j in range(index + 1, len(self.sentences)) if j not in gone and self._text(j)]
        if announces(self._text(index)) or announced([s.text for s in self.sentences], index):
            return True
        if not stays:
            return False
        if self._follows(index, stays[0], gone):
            return True
        earlier = " ".join([self.query or self.question, *(self._text(j) for j in range(index) if j not in gone)])
        new = set(stems(self._text(index))) - set(stems(earlier))
        return any(new & self._resumed(self._text(j)) for j in stays[:_NEAR]) or self._names(index, stays, new)

    def _follows(self, index: int, after: int, gone: set[int]) -> bool:
        own, text = claim_of(self._text(index)), self._text(after)
        if MARKER.match(text):
            return not MARKER.match(self._text(index - 1))  # it may lead in the list
        if not leans(text):
            return False
        if not any(j not in gone and j in self.readings for j in range(index)) or pronoun(text) is None:
            return not goes_on(text)
        return pronoun(text) != pronoun(own) and not self._is_of_the_passages(index, after)

    def _is_of_the_passages(self, index: int, after: int) -> bool:
        """Whether a later sentence goes on with the one before both, as in the passages, which have no word of this."""
        if self.readings[index].words_anywhere > 0.0:
            return False
        found = [self.readings.get(k) for k in (index - 1, after)]
        pieces = [r.evidence for r in found if r is not None and r.supported >= STAYS and r.evidence is not None]
        if len(pieces) < len(found) or pieces[0].source != pieces[1].source:
            return False
        first, second = (self.reader.pieces.index(piece) for piece in pieces)
        return second - first == 1

    def _resumed(self, text: str) -> set[str]:
        """The words of a sentence's opening "The books ..." that speak of something known."""
        opening = text[:_FIRST_WORDS]
        if not re.match(r"(?:the|these|those|such|both|all)\b", opening, re.IGNORECASE):
            return set()
        return {word.stem for word in content_words(opening)[:3]}

    def _names(self, index: int, stays: Sequence[int], new: set[str]) -> bool:
        """Whether a name that the sentence introduces stands in a later one."""
        text = self._text(index)
        names = {w.stem for w in content_words(text) if w.start and text[w.start].isupper() and w.stem in new}
        return any(names & set(stems(self._text(j))) for j in stays)

    def _has_supported_clause(self, index: int) -> bool:
        text = self._text(index)
        clauses = [text[a:b] for a, b in clause_spans(text)]
        if len(clauses) < 2:
            return False
        return any(reading.supported >= CLAUSE for reading in self.reader.read([claim_of(c) for c in clauses]))


def _orders(text: str) -> bool:
    """Whether a sentence, or what follows its opening, begins with a verb; in doubt it does."""
    first = _ORDER.match(text)
    return first is not None and (looks_like_base(first[1].lower()) or first[1].lower() in _TELLS)
