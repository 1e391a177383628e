"""Removals: whole sentences that no passage supports, and that nothing in the answer hangs on; in doubt they stay."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eirene.text.clauses import clause_spans
from eirene.text.english import looks_like_base
from eirene.text.sentences import Sentence
from eirene.text.words import content_words, stems
from eirene.verification.claims import claim_of, claims_nothing
from eirene.verification.context import ClaimReading, ContextReader
from eirene.verification.risk import sentence_risk

SURE = 0.6
"""Risk from which a sentence may go: of such sentences people marked three of four."""
CLAUSE = 0.3
"""Probability of support from which a clause holds its sentence back."""
STAYS = 0.5
"""Probability of support of a sentence that counts as something of the answer's that stays."""
CONTRADICTED = 0.5
"""Probability of contradiction from which an item of a list, or an instruction, may go."""
MOST = 0.5
"""Share of an answer's claims that may go."""
_NEAR = 3
"""Sentences after one that are looked at for what hangs on it."""

_LEANS = re.compile(
    r"""(?:however|therefore|thus|hence|consequently|accordingly|so|then|instead|otherwise|but|yet|still|nor|rather|indeed
      | nevertheless|nonetheless|similarly|likewise|conversely|meanwhile|because|since|also|too|besides|moreover
      | furthermore|additionally|afterwards?|later|next|finally|lastly|second(?:ly)?|third(?:ly)?|again|overall
      | this|these|those|that|it|its|it['’]s|they|their|them|he|his|him|she|her|such|both|either|neither|another
      | others?|some|each|one|ones|which|who|whose|where|when|there|here|following|doing|once|after|if\s+so|in\s+turn
      | as\s+(?:a|the|such)|for\s+(?:example|instance|this)|in\s+(?:addition|contrast|turn|fact|this|these|summary|other
      | conclusion|short)|on\s+the\s+other|the\s+(?:same|former|latter|other|second|last|next|rest|result|reason)
      | to\s+(?:sum|conclude)|due\s+to\s+(?:this|these)|based\s+on\s+(?:this|these)|and|or)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_LIGHT = re.compile(
    r"(?:also|besides|moreover|furthermore|additionally|finally|lastly|overall|in\s+(?:addition|summary|conclusion))\b,",
    re.IGNORECASE,
)
"""Openings that go on with the answer, and not with the sentence before."""
_PRONOUN = re.compile(r"(?:it|its|they|their|he|his|she|her)\b", re.IGNORECASE)
_MARKER = re.compile(r"[ \t]*(?:[-*•‣▪–][ \t]|\(?(?:\d{1,3}|[a-zA-Z])[.)][ \t]|step\s\d|#{1,6}[ \t]|\||>|\*\*)", re.I)
_INSTRUCTS = re.compile(
    r"\b(?:you\s+(?:should|must|need|can|may|will|want)|make\s+sure|be\s+sure|it\s+is\s+(?:best|important|recommended))\b",
    re.IGNORECASE,
)
_ORDER = re.compile(r"(?:(?:first|second|third|then|next|after\s+that|finally|now)\b,?\s+)?([^\W\d_]+)", re.IGNORECASE)
_STEP = re.compile(
    r"(?:then|next|after\s+that|now)\b,?\s+(?!(?:the|a|an|it|he|she|they|we|you|this|that|these|there|his|her|its|their)\b)",
    re.IGNORECASE,
)
_HOW = re.compile(
    r"\W{0,3}(?:how\s(?:to|do|does|can|should)|(?:what\s)?steps|instructions|directions)\b", re.IGNORECASE
)
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
        wanted = [i for i in faulted if sentence_risk(self.readings[i]) >= SURE and self._may_go(i)]
        wanted.sort(key=lambda i: -sentence_risk(self.readings[i]))
        stays = [i for i, reading in self.readings.items() if i in self.mended or reading.supported >= STAYS]
        room = int(MOST * len(self.readings)) if stays else 0
        gone: set[int] = set()
        for i in wanted:
            if len(gone) < room and not self._is_leant_on(i, gone) and not self._has_supported_clause(i):
                gone.add(i)
        return frozenset(i for i in gone if not self._is_leant_on(i, gone))

    def _may_go(self, index: int) -> bool:
        """Whether a sentence by itself is one that may go: no list item, step, torn quotation, or what is led in to."""
        sentence = self.sentences[index]
        line = self.answer[self.answer.rfind("\n", 0, sentence.text_start) + 1 : sentence.text_end]
        if _MARKER.match(line) or any(sentence.text.count(a) != sentence.text.count(b) for a, b in _PAIRS):
            return False
        if sentence.text.count('"') % 2:
            return False
        if self.readings[index].contradicted < CONTRADICTED and self._instructs(sentence.text):
            return False
        before = self._text(index - 1)
        return not (before and claims_nothing(before) in ("a heading", "leads in what follows"))

    def _instructs(self, text: str) -> bool:
        opening = _ORDER.match(text)
        orders = opening is not None and looks_like_base(opening.group(1).lower())
        is_how = _HOW.match(self.question) or _HOW.match(self.query)
        is_step = is_how or _STEP.match(text) or _INSTRUCTS.search(text)
        return orders or is_step is not None

    def _text(self, index: int) -> str:
        return self.sentences[index].text if 0 <= index < len(self.sentences) else ""

    def _is_leant_on(self, index: int, gone: set[int]) -> bool:
        """Whether a sentence that stays hangs on one: by its first word, or by what only that one introduces."""
        stays = [j for j in range(index + 1, len(self.sentences)) if j not in gone and self._text(j)]
        if not stays:
            return False
        if self._follows(index, stays[0], gone):
            return True
        earlier = " ".join([self.query or self.question, *(self._text(j) for j in range(index) if j not in gone)])
        new = set(stems(self._text(index))) - set(stems(earlier))
        return any(new & self._resumed(self._text(j)) for j in stays[:_NEAR]) or self._names(index, stays, new)

    def _follows(self, index: int, after: int, gone: set[int]) -> bool:
        own, text = claim_of(self._text(index)), self._text(after)
        if _MARKER.match(text):
            return not _MARKER.match(self._text(index - 1))  # it may lead in the list
        leans = _LEANS.match(text)
        if leans is None:
            return False
        before = any(j not in gone and j in self.readings for j in range(index))
        if _LIGHT.match(text) and before:
            return False
        pronoun, same = _PRONOUN.match(text), _PRONOUN.match(own)
        goes_on = pronoun is not None and same is not None and pronoun.group().lower() == same.group().lower()
        return not (goes_on and before)

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
