"""Talk check: words about the rewriting or to a model, marks of prompts, the answer taking a side, shouting.

Each pattern is about what no answer says: a greeting, a closing, advice or "I could not find" is none of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import PlacedFault, objections_at, quoted
from eirene.text.cancellation import check_cancelled
from eirene.text.language import other_language
from eirene.text.sentences import split_sentences

_READ = 1_500
"""Characters of a sentence that are read: talk is short."""
_TEXT = r"(?:answer|rewrite|rewriting|response|version|reply|revision|draft|text|feedback|critique|prompt|wording)"
_DONE = (
    r"(?:rewr(?:ote|itten)|revised|improved|edited|rephrased|reworded|updated|corrected|added|removed|included|addressed"
    r"|shortened|expanded|clarified|changed|restructured|fix(?:ed)?|left\s+out|inserted|refined|polished|enhanced)"
)
_EARLIER = r"(?:original|previous|above|earlier|missing)"
_LABEL = (
    r"(?:verdict|score|rating|reasons?|response|answer|output|instructions?|critique|feedback|assistant|user|system|note"
    r"|disclaimer|edit(?:ed)?|changes?(?:\s+made)?|explanation|(?:final|revised|improved|updated|corrected)\s+\w+"
    r"|new\s+task|sentence\s+\d+)"
)
_PEOPLE = (
    r"(?:supporters?|opponents?|proponents?|critics?|advocates?|(?:first|second|former|latter|other|opposing|pro|con)"
    r"[- ](?:sides?|camp|view|position|case))"
)
_SIDE = "takes a side"
_TALK = tuple(
    (re.compile(pattern, re.IGNORECASE), what)
    for pattern, what in (
        (rf"\b(?:here(?:['’]s|\s+is|\s+are)|below\s+(?:is|are)|following\s+is)\b[^.!?\n]{{0,60}}\b{_TEXT}\b",
         "words about the rewrite"),
        (rf"\b(?:{_DONE}\s+(?:\w+\s+)?{_TEXT}|{_EARLIER}\s+(?:{_TEXT}|argument|point)s?)\b", "words about the rewrite"),
        (rf"\b(?:I|we)(?:['’](?:ve|ll)|\s+have|\s+will|\s+\w+ly)?\s+{_DONE}\b", "words about the rewrite"),
        (rf"\b(?:this|the|my|your|above)\s+(?:above\s+)?{_TEXT}\s+(?:has\s+been|have\s+been|was|is\s+now)\s+(?:\w+\s+)?{_DONE}\b",
         "words about the rewrite"),
        (r"\bas\s+(?:you\s+)?(?:requested|asked|instructed)\b|\bper\s+your\s+\w+", "words about the rewrite"),
        (r"\bas\s+an?\s+(?:\w+\s+){0,3}(?:ai|language\s+model|llm|assistant|chatbot)\b", "a model about itself"),
        (r"\[\s*(?:in)?complete\s*\]|(?<![\w./-])\d{1,3}\s*/\s*(?:5|10|100)\b(?![/\w])", "a mark of a critique"),
        (rf"\A[\W\d]*{_LABEL}\s*[\])*_]{{0,3}}\s*[:：]|\A\W*{_LABEL}\W*\Z", "a label"),
        (rf"\A\s*[\[(*_]+\s*(?:note|{_DONE})\b", "a remark in brackets"),
        (r"\b(?:ignore|disregard|forget)\s+(?:\w+\s+){0,3}(?:instructions?|prompts?|rules|above|previous|everything|text)\b"
         r"|\b(?:previous|prior|system|hidden|new)\s+(?:instructions?|prompts?|task)\b", "words about instructions"),
        (r"\b(?:assistant|language\s+model|ai|evaluator|grader|reviewer|model)s?\b(?:\s+\w+){0,3}\s*,?\s+(?:must|should|shall|from"
         r"\s+now\s+on)\b|\bfrom\s+now\s+on\b|\b(?:evaluate|rate|grade|mark|approve)\s+this\b", "words to a model"),
        (rf"(?<!\w)(?:the\s+)?{_PEOPLE}\s+(?:\w+ly\s+)?(?:are|is|have|has)\s+(?:\w+ly\s+)?(?:right|wrong|correct|the\s+(?:better|best"
         r"|stronger|weaker|correct)|lost|won)\b|\bthe\s+answer\s+is\s+(?:\w+\s+)?(?:yes|no)\b|\bsettles\s+the\s+matter\b",
         _SIDE),
    )
)  # fmt: skip
_SAID = re.compile(
    r"\b(?:say|argue|claim|hold|believe|think|contend|maintain|insist|add|reply|note|point|according|that)", re.I
)

_CAPITALS = re.compile(r"\b[^\W\d_]{2,}\b")
_LOUD, _SHARE, _LONG = 3, 0.3, 7
"""Words in capitals that are no acronyms, as this share of a sentence; letters of one that is none alone."""
_SIGNS = re.compile(
    "[!?！？‼⁉]{2,}|([^\\W\\d_])\\1{3,}|[^\\w\\s|=#~*`.-]{4,}|[\u203c\u2049\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"
)


def talk(case: EditCase) -> Iterator[Objection]:
    """Objects to new words of these kinds. What a source says, or the text before says in its way, is its manner."""
    yield from objections_at(case, _faults(case))


def _faults(case: EditCase) -> Iterator[PlacedFault]:
    manner, is_english = _Manner(case), not other_language(case.after)
    for _, edit in case.changed():
        if edit.after is None:
            continue
        check_cancelled()
        start, text = edit.after[0], case.new(edit)[:_READ]
        for pattern, what in _TALK if is_english else ():
            found = pattern.search(text)
            if found and not manner.has(pattern) and not (what == _SIDE and _SAID.search(text, 0, found.start())):
                yield PlacedFault(start + found.start(), start + found.end(), f"{what}: {quoted(found[0])}")
        for found in manner.shouts(text):
            yield PlacedFault(start + found.start(), start + found.end(), f"no text before shouts: {quoted(found[0])}")
        if manner.begins_large and text[:1].islower() and case.after[max(0, start - 2) : start].strip() != "-":
            yield PlacedFault(start, start + 1, f"no capital where the sentence begins: {quoted(text)}")


class _Manner:
    """How the sources speak."""

    def __init__(self, case: EditCase) -> None:
        self._sources, self._has = case.sources, dict[re.Pattern[str], bool]()
        self._sentences = tuple(s.text[:_READ] for text in (case.before, *case.drafts) for s in split_sentences(text))
        self.begins_large = bool(self._sentences) and all(text[:1].isupper() for text in self._sentences)

    def has(self, pattern: re.Pattern[str]) -> bool:
        """Whether a source has what a pattern finds at all."""
        if pattern not in self._has:
            self._has[pattern] = any(map(pattern.search, (*self._sources, *self._sentences)))
        return self._has[pattern]

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(word for text in self._sources for word in _CAPITALS.findall(text))

    def shouts(self, text: str) -> Iterator[re.Match[str]]:
        """Words in capitals and signs that no source has so."""
        words = list(_CAPITALS.finditer(text))
        loud = [
            w for w in words if w[0].isupper() and w[0] not in self._words and text[w.start() - 1 : w.start()] != "("
        ]
        many = len(loud) >= _LOUD and len(loud) > _SHARE * len(words)
        yield from (w for w in loud if many or (len(w[0]) >= _LONG or w[0].lower() in self._words))
        yield from (m for m in _SIGNS.finditer(text) if not any(m[0] in source for source in self._sources))
