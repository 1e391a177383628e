"""Labels of an answer, of spans of its text, of its given arguments; and cases for feedback models.

HaluQuestQA tags each sentence; but 508 of the 509 published answers have an incomplete one, so it cannot say whether a
model tells complete answers from incomplete ones. QA-Feedback (Wu et al. 2023) can: its annotators listed the
information that an answer should have given and did not, and for some answers there was none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from eirene.core.critique import Tag
from eirene.core.errors import InputError
from eirene.core.records import Item, parse_item
from eirene.core.validation import described
from eirene.data.haluquestqa import TaggedAnswer, parse_tagged_answer
from eirene.data.json_rows import HasRows, Row
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.unicode import with_title
from eirene.text.words import word_spans

C = TypeVar("C")
T = TypeVar("T")


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
    `grade` says how far it is wrong, from 0 (not at all) to 1, and `system` which model wrote it.
    `hallucination`, `coverage`: whether the answer has such an error. `marks`: the judged stretches of the answer; what
    no mark covers was not judged, and where marks overlap a faulty one counts. `missing` says of arguments, by group
    and number from 1, whether the answer lacks them.
    """

    item: Item
    cluster: str
    hallucination: bool | None = None
    coverage: bool | None = None
    marks: tuple[Mark, ...] | None = None
    missing: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    grade: float | None = None
    system: str | None = None

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
    """The labelled answers of a file, its form's name, and why others of its rows are left out: reason -> number.

    `rows`: how many the file has; of some forms one row has several answers.
    """

    form: str
    cases: tuple[Labelled, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0

    @property
    def read_as(self) -> str:
        """What was read, in words."""
        more = "".join(f"; {n} left out: {why}" for why, n in self.left_out.items())
        return f"{self.rows:,} rows read as {self.form}: {len(self.cases):,} labelled answers{more}"


def list_of(value: object, name: str, kind: type[T]) -> list[T]:
    """The value of a field, a list of texts, lists or objects; raises `ValueError` for anything else."""
    if not isinstance(value, list) or not all(isinstance(one, kind) for one in value):
        kinds: dict[type, str] = {str: "texts", list: "lists", dict: "objects"}
        raise ValueError(f"{name!r} must be a list of {kinds[kind]}, got {described(value)}")
    return value


def meaning(words: Mapping[str, T], value: object, name: str) -> T:
    """What the word of a label says, in capitals or not; raises `ValueError` for one that the set does not have."""
    known = {word.lower(): said for word, said in words.items()}
    if (word := str(value).strip().lower()) not in known:
        raise ValueError(f"{name!r} must be one of {', '.join(words)}, got {described(value)}")
    return known[word]


def stretch(answer: str, mark: Mapping[str, Any]) -> tuple[int, int] | None:
    """Where a mark (`start`, `end`, perhaps its `text`) stands in the answer, cut at its ends; None for nowhere."""
    start, end = max(mark["start"], 0), min(mark["end"], len(answer))
    text = str(mark.get("text") or "").split()
    return (start, end) if start < end and text in ([], answer[start:end].split()) else None


def marked_faults(answer: str, spans: Iterable[tuple[int, int]]) -> tuple[Mark, ...]:
    """The marks of an answer that was judged whole: these spans are faulty, the rest is not."""
    return (Mark(0, len(answer), False), *(Mark(a, b, True) for a, b in spans))


@dataclass(frozen=True, slots=True)
class FeedbackCase:
    """One labelled answer. `lacks`: whether it lacks information; `tags` and `reasons` where sentences are labelled."""

    item: Item
    sentences: tuple[Sentence, ...]
    lacks: bool
    tags: tuple[Tag, ...] | None = None
    reasons: tuple[str | None, ...] = ()


def read_feedback_cases(source: HasRows) -> list[FeedbackCase]:
    """All rows of a file in either form, each with an id of its own; raises `InputError` that names the row."""
    return list(with_own_ids(map(parse_feedback_case, source.rows())))


def parse_feedback_case(row: Row) -> FeedbackCase:
    """One row: QA-Feedback's if it has `prediction 1`, else HaluQuestQA's."""
    if isinstance(row.data, dict) and "prediction 1" in row.data:
        return _from_qa_feedback(row.data, row.where)
    return case_of(parse_tagged_answer(row))


def case_of(answer: TaggedAnswer) -> FeedbackCase:
    """A tagged answer as a case, cut into sentences as its annotators had it."""
    item = Item(id=answer.id, question=answer.question, answer=answer.answer)
    return FeedbackCase(item, answer.sentences, "Incomplete" in answer.tags, answer.tags, answer.reasons)


def with_own_ids(cases: Iterable[C]) -> Iterator[C]:
    """The cases (with an `item` each), in order; the second of the same id becomes `id#2`, the third `id#3`."""
    seen: dict[str, int] = {}
    for case in cases:
        known: Any = case
        name = known.item.id
        n = seen[name] = seen.get(name, 0) + 1
        yield case if n == 1 else replace(known, item=known.item.model_copy(update={"id": f"{name}#{n}"}))


def _from_qa_feedback(data: dict[str, Any], where: str) -> FeedbackCase:
    """`prediction 1`, the answer that was annotated, with its passages as context."""
    try:
        missing = list_of(data["feedback"]["missing-info"], "missing-info", dict)
        passages = [_passage(list_of(p, "passages", str)) for p in list_of(data["passages"], "passages", list)]
        item = {"question": data["question"], "answer": data["prediction 1"]}  # as published, rows have no id
        item |= {"id": str(data["id"])} if "id" in data else {}
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise InputError(f"is not a row of QA-Feedback: {fault(error)}", where=where) from None
    # A few rows have no passages; they are judged on the question alone.
    checked = parse_item({**item, "context": passages} if passages else item, where=where)
    return FeedbackCase(checked, split_sentences(checked.answer), bool(missing))


def _passage(parts: list[str]) -> str:
    """A passage is a title and sentences; the first sentence often begins with the title again."""
    title, text = parts[0], " ".join(" ".join(parts[1:]).split())
    return with_title(title, text)


def fault(error: Exception) -> str:
    """What is wrong with a row on which a reader stopped."""
    if isinstance(error, ValueError):
        return str(error)
    return f"no {error}" if isinstance(error, KeyError) else f"a value is not of the kind that the set has ({error})"
