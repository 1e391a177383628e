"""What is known of an answer: of the whole, of parts of its text, of the arguments that it was given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from eirene.core.records import Item
from eirene.text.sentences import Sentence
from eirene.text.words import word_spans


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of the answer, in characters, that was judged: `faulty` if it says what was not given, or is false."""

    start: int
    end: int
    faulty: bool


@dataclass(frozen=True, slots=True)
class Labelled:
    """An item with what is known of its answer. None: not known, and left out of what is measured.

    `cluster` names the claim, question or document that it hangs on: rows of one cluster are not independent.
    `hallucination`, `coverage`: whether the answer has such an error. `marks`: the judged stretches of the answer; what
    no mark covers was not judged, and where marks overlap a faulty one counts. `missing` says of arguments, by group
    and number from 1, whether the answer lacks them. `slices` has for each field the values that the row belongs to; a
    row without a field belongs to all of its values, as an answer without errors does for kinds of errors.
    """

    item: Item
    cluster: str
    hallucination: bool | None = None
    coverage: bool | None = None
    marks: tuple[Mark, ...] | None = None
    missing: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    slices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        """Whether anything at all is known."""
        known = self.hallucination is not None or self.coverage is not None
        return known or self.marks is not None or bool(self.missing)

    def is_faulty(self, start: int, end: int) -> bool | None:
        """The label of a word of the answer: faulty if a faulty mark covers it, even in part; None if no mark does."""
        covering = [m.faulty for m in self.marks or () if m.start < end and start < m.end]
        return any(covering) if covering else None

    def sentence_labels(self, sentences: Sequence[Sentence]) -> list[bool | None]:
        """The label of each sentence: faulty if one of its words is, None if none of its words was judged."""
        found: list[bool | None] = []
        for sentence in sentences:
            words = word_spans(self.item.answer[sentence.start : sentence.end])
            labels = {self.is_faulty(sentence.start + a, sentence.start + b) for a, b in words} - {None}
            found.append(True in labels if labels else None)
        return found


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """The labelled answers of a file, its form's name, and why others of its rows are left out: reason -> number."""

    form: str
    cases: tuple[Labelled, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


def marked_faults(answer: str, spans: Iterable[tuple[int, int]]) -> tuple[Mark, ...]:
    """The marks of an answer that was judged whole: these spans are faulty, the rest is not."""
    whole = Mark(0, len(answer), False)
    return (whole, *(Mark(max(a, 0), min(b, len(answer)), True) for a, b in spans))


def find_span(answer: str, text: str, *, at: int = 0) -> tuple[int, int] | None:
    """Where `text` stands in the answer, from `at` on; white space and case may differ. None where it does not."""
    wanted = text.strip()
    if not wanted:
        return None
    start = answer.find(wanted, at)
    if start >= 0:
        return start, start + len(wanted)
    pattern = r"\s+".join(re.escape(word) for word in wanted.split())
    found = re.compile(pattern, re.IGNORECASE).search(answer, at)
    return found.span() if found else None
