"""Labelled answers for measuring feedback models: HaluQuestQA's sentences, QA-Feedback's whole answers.

HaluQuestQA tags each sentence; but 508 of the 509 published answers have an incomplete one, so it cannot say whether a
model tells complete answers from incomplete ones. QA-Feedback (Wu et al. 2023) can: its annotators listed the
information that an answer should have given and did not, and for some answers there was none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eirene.core.critique import Tag
from eirene.core.errors import InputError
from eirene.core.records import Item, parse_item
from eirene.data.haluquestqa import TaggedAnswer, parse_tagged_answer
from eirene.data.json_rows import HasRows, Row
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.unicode import with_title


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
    return with_own_ids([parse_feedback_case(row) for row in source.rows()])


def parse_feedback_case(row: Row) -> FeedbackCase:
    """One row: QA-Feedback's if it has `prediction 1`, else HaluQuestQA's."""
    if isinstance(row.data, dict) and "prediction 1" in row.data:
        return _from_qa_feedback(row.data, row.where)
    return case_of(parse_tagged_answer(row))


def case_of(answer: TaggedAnswer) -> FeedbackCase:
    """A tagged answer as a case, cut into sentences as its annotators had it."""
    item = Item(id=answer.id, question=answer.question, answer=answer.answer)
    return FeedbackCase(item, answer.sentences, "Incomplete" in answer.tags, answer.tags, answer.reasons)


def with_own_ids(cases: Sequence[FeedbackCase]) -> list[FeedbackCase]:
    """The cases, in order; the second of the same id becomes `id#2`, the third `id#3`."""
    seen: dict[str, int] = {}
    found = []
    for case in cases:
        n = seen[case.item.id] = seen.get(case.item.id, 0) + 1
        item = case.item if n == 1 else case.item.model_copy(update={"id": f"{case.item.id}#{n}"})
        found.append(FeedbackCase(item, case.sentences, case.lacks, case.tags, case.reasons))
    return found


def _from_qa_feedback(data: dict[str, Any], where: str) -> FeedbackCase:
    """`prediction 1`, the answer that was annotated, with its passages as context."""
    try:
        missing = data["feedback"]["missing-info"]
        passages = [_passage(p) for p in data["passages"]]
        item = {"id": str(data["id"]), "question": data["question"], "answer": data["prediction 1"]}
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"is not a row of QA-Feedback: {_said(error)}", where=where) from None
    if not isinstance(missing, list):
        raise InputError(f"'missing-info' must be a list, got {missing!r}", field="missing-info", where=where)
    # A few rows have no passages; they are judged on the question alone.
    checked = parse_item({**item, "context": passages} if passages else item, where=where)
    return FeedbackCase(checked, split_sentences(checked.answer), bool(missing))


def _passage(parts: list[str]) -> str:
    """A passage is a title and sentences; the first sentence often begins with the title again."""
    title, text = parts[0], " ".join(" ".join(parts[1:]).split())
    return with_title(title, text)


def _said(error: Exception) -> str:
    return f"no key {error}" if isinstance(error, KeyError) else str(error)
