"""Talk check: words to the user about the work, instructions to a reader, marks and verdicts of our own prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import PlacedFault, objections_at, quoted
from eirene.gate.checks.taking_sides import Views
from eirene.gate.checks.work_talk import RULES
from eirene.text.cancellation import check_cancelled
from eirene.text.language import other_language
from eirene.text.orders import addresses_reader, command, first_person, is_order
from eirene.text.sentences import split_sentences
from eirene.text.words import stems

_READ = 1_500
"""Characters of a sentence that are read: talk is short."""
_LOOKED_UP = 200
"""Words of talk that are looked up in the sources; what comes after that many is talk."""
_QUOTED = re.compile(r'"[^"]{0,2000}"|“[^”]{0,2000}”')
_ADVICE = re.compile(
    r"\bhow\s+(?:do|can|could|should|would|to)\b|\b(?:i|my|me|you|your)\b|\b(?:advice|tips?|steps?|recipe|recommend\w*"
    r"|guide|instructions?|write|create|suggest)\b",
    re.IGNORECASE,
)
"""Questions, and reasons, that ask for advice: its answer may speak to the reader."""


def talk(case: EditCase) -> Iterator[Objection]:
    """Objects to new sentences, and new words, that speak about the work, to the reader, or as a judge. English only.

    What the text before does as well is its manner and no harm: it may speak in the first person, or give orders.
    """
    if any(edit.after for _, edit in case.changed()) and not other_language(case.after):
        yield from objections_at(case, _faults(case))


def _faults(case: EditCase) -> Iterator[PlacedFault]:
    manner, views = _Manner(case), Views(case)
    for _, edit in case.changed():
        if edit.after is None:
            continue
        check_cancelled()
        start, text = edit.after[0], case.new(edit)[:_READ]
        for first, last, what in manner.breaks(text):
            yield PlacedFault(start + first, start + last, f"{what}: {quoted(text[first:last])}")
        if side := views.taken(text):
            yield PlacedFault(*edit.after, f"takes a side: {quoted(side)}")


class _Manner:
    """How the texts before speak, and what of a new sentence breaks with that."""

    def __init__(self, case: EditCase) -> None:
        self._case = case
        self._drafts = (case.before, *case.drafts)
        self._drafts_have: dict[re.Pattern[str], bool] = {}
        self._looked_up = 0

    def breaks(self, text: str) -> Iterator[tuple[int, int, str]]:
        """The places (offsets in the sentence) of its talk, and what each is."""
        for pattern, what in RULES:
            found = pattern.search(text)
            if found and not self._has(pattern, found[0]):
                yield *found.span(), what
        if (place := first_person(text)) and not self._is_personal:
            yield *place, "words in the first person"
        if (place := command(text)) and not (self._is_to_reader or self._is_given(text)):
            yield *place, "a command to the reader"
        if is_order(text) and not (self._gives_orders or self._is_to_reader or self._is_given(text)):
            yield 0, len(text), "an order to the reader"

    def _has(self, pattern: re.Pattern[str], found: str) -> bool:
        if pattern not in self._drafts_have:
            self._drafts_have[pattern] = any(pattern.search(sentence) for sentence in self._sentences)
        if self._drafts_have[pattern]:
            return True
        self._looked_up += 1
        return self._looked_up <= _LOOKED_UP and found.lower() in self._lower

    @cached_property
    def _lower(self) -> str:
        return "\n".join(self._case.sources).lower()

    @cached_property
    def _sentences(self) -> tuple[str, ...]:
        return tuple(s.text[:_READ] for text in self._drafts for s in split_sentences(text))

    @cached_property
    def _is_personal(self) -> bool:
        return any(first_person(text) for text in (*self._drafts, *self._case.given_texts))

    @cached_property
    def _is_to_reader(self) -> bool:
        reasons = (a.reason for a in self._case.asked)
        question = "" if self._case.given.source == "perspectives" else _QUOTED.sub(" ", self._case.question)
        return any(map(addresses_reader, self._sentences)) or any(map(_ADVICE.search, (question, *reasons)))

    @cached_property
    def _gives_orders(self) -> bool:
        return any(map(is_order, self._sentences))

    def _is_given(self, text: str) -> bool:
        """Whether a given argument that speaks to the reader has most of a sentence's words."""
        words = set(stems(text))
        return any(2 * len(words.intersection(known)) >= len(words) for known in self._given_to_reader)

    @cached_property
    def _given_to_reader(self) -> tuple[frozenset[str], ...]:
        texts = (text[:_READ] for text in self._case.given_texts[:_LOOKED_UP])
        return tuple(frozenset(stems(text)) for text in texts if addresses_reader(text) or is_order(text))
