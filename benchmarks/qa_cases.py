"""Reads QA-Feedback (answers with passages and people's remarks on them) as items with labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness import Row, read_rows
from loop_truth import words

from eirene.alignment.comparison import Comparison, compare
from eirene.core.records import Item
from eirene.feedback_model.embedded.evidence import AnswerEvidence, gather
from eirene.models.encoder import Encoder

UNSUPPORTED = ("Wrong-Grounding", "Unverifiable")
_SHARE = 0.3
"""A stretch of the answer counts as faulty if it shares this part of itself, or of a marked span, with the span."""


@dataclass(frozen=True)
class QaCase:
    """An item compared with its passages. Arguments are the passages' sentences that bear on the question."""

    row: Row
    item: Item
    comparison: Comparison
    evidence: AnswerEvidence
    argument_is_missing: tuple[bool, ...]
    part_is_unsupported: tuple[bool, ...]


def read_qa(folder: Path) -> list[Row]:
    """The rows that have passages and an answer."""
    return [row for row in read_rows(folder / "feedback.jsonl") if row["passages"] and row["prediction 1"].strip()]


def item_of_qa(row: Row) -> Item:
    """The row as an item; its passages' sentences stand on lines of their own, to be cut as given."""
    context = ["\n".join(" ".join(s.split()) for s in passage[1:]) for passage in row["passages"]]
    given = [passage for passage in context if passage.strip()]
    return Item(id=str(row["id"]), question=row["question"], answer=row["prediction 1"], context=given)


def missing_sentences(row: Row) -> list[str]:
    """The passages' sentences that people missed in the answer."""
    places = {(m["passage_id"], n) for m in row["feedback"]["missing-info"] for n in m.get("sentence_id") or []}
    found = []
    for number, place in sorted(places):
        passage = row["passages"][number - 1] if 0 < number <= len(row["passages"]) else []
        if 0 < place < len(passage):
            found.append(" ".join(passage[place].split()))
    return found


def is_faulty(row: Row, start: int, end: int) -> bool:
    """Whether a stretch of the answer was marked as contradicting the passages, or as not to be found in them."""
    for error in row["feedback"]["errors"]:
        shared = min(error["end"], end) - max(error["start"], start)
        shorter = max(min(error["end"] - error["start"], end - start), 1)
        if error["error type"] in UNSUPPORTED and shared > _SHARE * shorter:
            return True
    return False


def prepare_qa(rows: Iterable[Row], encoder: Encoder) -> list[QaCase]:
    """Compares every answer with its passages."""
    cases = []
    for row in rows:
        item = item_of_qa(row)
        comparison = compare(item, item.answer, encoder)
        assert comparison is not None, "every row has passages"
        missed = [words(text) for text in missing_sentences(row)]
        units = comparison.alignment.units
        evidence = gather(comparison, item.question, item.answer, encoder)
        cases.append(
            QaCase(
                row,
                item,
                comparison,
                evidence,
                tuple(any(words(a) in m or m in words(a) for m in missed) for a in comparison.alignment.arguments),
                tuple(is_faulty(row, units[u].start, units[u].end) for u in evidence.atoms),
            )
        )
    return cases
