"""Reads HaluQuestQA (Sachdeva et al. 2024) as published, to train on and as rows to refine: remarks are `feedback`.

- `incomplete_ans_detection_data.jsonl`: `instruction`, `input` (`Question: ...` and `Answer: 1. ...`, a statement a
  line) and `output` (`1. [Complete]`, `2. [Incomplete] Reasons: ...`); or rows with `question` and `sentences`, a list
  of `text`, `tag` and `reason`, whose other keys are passed over.
- `complete_data.csv` (tabs between columns): a question, two answers and the remarks on them; two rows come of each.
- `preference_data.csv`: `preferred_response` and `rejected_response`; the rejected one is the answer, the other `gold`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from eirene.core.critique import Tag
from eirene.core.errors import InputError
from eirene.core.signature import digest
from eirene.core.validation import CheckedModel, validated
from eirene.data.columns import Fields, field_value
from eirene.data.json_rows import HasRows, Row
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.unicode import Text

_QUESTION = re.compile(r"Question:\s*+")
_ANSWER = re.compile(r"\nAnswer:\s*+(?=1\.\s)")
_NUMBER = re.compile(r"^[ \t]*(\d+)\.[ \t]+", re.MULTILINE)
_VERDICT = re.compile(r"\[(Complete|Incomplete)\](?:\s*Reasons?:\s*(.*))?\Z", re.DOTALL | re.IGNORECASE)
PUBLISHED_ROWS = 509
_PUBLISHED_TEST_ROWS = 51


@dataclass(frozen=True, slots=True)
class TaggedAnswer:
    """One annotated answer: its statements, each with a tag, and a reason where it is Incomplete.

    `instruction` is the published row's own, else None. `where` says where the row stood.
    """

    id: str
    question: str
    statements: tuple[str, ...]
    tags: tuple[Tag, ...]
    reasons: tuple[str | None, ...]
    instruction: str | None
    where: str

    @property
    def answer(self) -> str:
        """The statements as one text, a space between them."""
        return " ".join(self.statements)

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The statements as pieces of `answer`: the annotators' cut, whatever a splitter would have done."""
        found, at = [], 0
        for n, text in enumerate(self.statements, start=1):
            raw = text + (" " if n < len(self.statements) else "")
            found.append(Sentence(n=n, start=at, end=at + len(raw), raw=raw))
            at += len(raw)
        return tuple(found)


def read_tagged_answers(source: HasRows) -> list[TaggedAnswer]:
    """All rows of a file, in order; raises `InputError` at the first that cannot be read, and names it."""
    return [parse_tagged_answer(row) for row in source.rows()]


class _Statement(CheckedModel):
    text: Text
    tag: Tag
    reason: str | None = None

    @model_validator(mode="after")
    def _has_reason(self) -> Self:
        if self.tag == "Incomplete" and not (self.reason or "").strip():
            raise ValueError("is Incomplete and has no reason")
        return self


class _AnswerRow(CheckedModel):
    question: Text
    sentences: Annotated[list[_Statement], Field(min_length=1)]
    instruction: Text | None = None
    id: Any = None
    row: Any = None


def parse_tagged_answer(row: Row) -> TaggedAnswer:
    """One row in either form. A row that has both is read from its sentences."""
    data = row.data
    if not isinstance(data, dict) or not ("sentences" in data or {"input", "output"} <= set(data)):
        raise InputError(
            "a row needs 'question' and 'sentences', or HaluQuestQA's 'instruction', 'input' and 'output'",
            where=row.where,
        )
    read = validated(_AnswerRow, data if "sentences" in data else _as_rows(data, row.where), where=row.where)
    name = read.row if read.id is None else read.id
    statements = tuple(s.text.strip() for s in read.sentences)
    return TaggedAnswer(
        id=str(name) if name is not None else "answer-" + digest([read.question, list(statements)])[:12],
        question=read.question,
        statements=statements,
        tags=tuple(s.tag for s in read.sentences),
        reasons=tuple((s.reason or "").strip() if s.tag == "Incomplete" else None for s in read.sentences),
        instruction=read.instruction,
        where=row.where,
    )


def published_split(rows: Sequence[TaggedAnswer]) -> tuple[list[TaggedAnswer], list[TaggedAnswer]]:
    """The published file's 458 training and 51 test rows, in the published order.

    That is `datasets`' `train_test_split(test_size=0.1, seed=42)`: a permutation by NumPy's generator on that seed, the
    test rows first. Raises `InputError` for a file of another length, whose rows would fall elsewhere.
    """
    if len(rows) != PUBLISHED_ROWS:
        raise InputError(
            f"the published split is one of {PUBLISHED_ROWS} rows, the file has {len(rows)}; leave the split out",
            field="split",
        )
    order = np.random.default_rng(42).permutation(PUBLISHED_ROWS)
    test, train = order[:_PUBLISHED_TEST_ROWS], order[_PUBLISHED_TEST_ROWS:]
    return [rows[i] for i in train], [rows[i] for i in test]


def _as_rows(data: dict[str, Any], where: str) -> dict[str, Any]:
    """A published row in the form with sentences."""
    text, output = (_text(data, name, where) for name in ("input", "output"))
    asked = _QUESTION.match(text)
    told = asked and (_ANSWER.search(text, asked.end()) or _ANSWER.search(text))
    if asked is None or told is None:
        raise InputError("'input' must hold 'Question: ...' and a line 'Answer: 1. ...'", field="input", where=where)
    statements, verdicts = _numbered(text[told.end() :]), _numbered(output)
    if len(statements) != len(verdicts):
        raise InputError(
            f"'output' judges {len(verdicts)} statements, 'input' has {len(statements)}", field="output", where=where
        )
    sentences = []
    for n, (statement, verdict) in enumerate(zip(statements, verdicts, strict=True), start=1):
        read = _VERDICT.match(verdict)
        if read is None:
            raise InputError(f"'output' has no tag for statement {n}: {verdict[:60]!r}", field="output", where=where)
        sentences.append({"text": statement, "tag": read[1].capitalize(), "reason": read[2]})
    return {**data, "question": text[asked.end() : told.start()].rstrip(), "sentences": sentences}


def _numbered(text: str) -> list[str]:
    """The texts after 1., 2., 3. ... at line starts; a number out of turn belongs to the text that it stands in."""
    starts: list[tuple[int, int]] = []
    for mark in _NUMBER.finditer(text):
        if int(mark[1]) == len(starts) + 1:
            starts.append(mark.span())
    ends = [start for start, _ in starts[1:]] + [len(text)] * bool(starts)
    return [text[begin:end].strip() for (_, begin), end in zip(starts, ends, strict=True)]


def _text(data: dict[str, Any], name: str, where: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name!r} must be a text that is not blank, got {value!r}", field=name, where=where)
    return value


_PAIR = ("question_text", "ans1_text", "ans2_text")
WHICH = "answer_number"
"""Which of the two answers of a row is read: 1 or 2."""
_WHOLE = re.compile(r"ANSWER ?[12]?[:.]*", re.IGNORECASE)
WRITERS = {"human_answer": "human", "model_answer": "model"}


def spread(row: Row) -> Iterator[Row]:
    """Two rows of a row with two answers, told apart by `answer_number`; any other row is itself."""
    if not isinstance(row.data, dict) or not set(_PAIR) <= set(row.data):
        yield row
        return
    for which in (1, 2):
        yield Row(f"{row.where}, answer {which}", {**row.data, WHICH: which})


def read(data: Mapping[str, Any], where: str) -> Fields:
    """The fields of a row in any of the published forms."""
    if WHICH in data and set(_PAIR) <= set(data):
        return _of_pair(data, where)
    if {"preferred_response", "rejected_response"} <= set(data):
        return _of_preference(data, where)
    return _tagged(data, where)


def _tagged(data: Mapping[str, Any], where: str) -> Fields:
    try:
        found = parse_tagged_answer(Row(where, dict(data)))
    except InputError as error:
        if {"sentences", "input"} & set(data):
            raise
        raise InputError(f"is no row of HaluQuestQA; keys: {', '.join(data)}", field=error.field, where=where) from None
    ours = split_sentences(found.answer)
    notes = [
        {"sentence": overlapping(ours, s.start, s.start + len(s.text)), "reason": reason}
        for s, reason in zip(found.sentences, found.reasons, strict=True)
        if reason is not None
    ]
    values: dict[str, Any] = {"id": found.id, "question": found.question, "answer": found.answer}
    used = {"id", "row", "question", "input", "output"} & set(data)
    return Fields({**values, "feedback": notes} if notes else values, used=used)


def _of_pair(data: Mapping[str, Any], where: str) -> Fields:
    which = data[WHICH]
    column = f"ans{which}_text"
    answer = field_value("answer", data[column], column=column, where=where)
    values = {
        "id": f"{_stem(data)}-answer{which}",
        "question": field_value("question", data["question_text"], column="question_text", where=where),
        "answer": answer,
        "meta": {"answer_by": WRITERS.get(str(data.get(f"ans{which}_label")))},
    }
    notes = _notes(data, which, answer or "", where)
    return Fields({**values, "feedback": notes} if notes else values, used={"question_text", column})


def _of_preference(data: Mapping[str, Any], where: str) -> Fields:
    question = "question_text" if "question_text" in data else "question"
    columns = {"question": question, "answer": "rejected_response", "gold": "preferred_response"}
    values = {name: field_value(name, data.get(column), column=column, where=where) for name, column in columns.items()}
    return Fields({"id": _stem(data), **values}, used=set(columns.values()))


def _stem(data: Mapping[str, Any]) -> str:
    return str(data.get("source_file") or data.get("column_1") or "row").removesuffix(".txt")


def remarks(data: Mapping[str, Any], aspect: str, which: int, where: str) -> list[tuple[str, str]]:
    """The marked texts and the reasons of an aspect (`factuality`, `irrelevance`, `incomplete_ans`) of an answer."""
    names = [f"{aspect}_{part}" for part in ("span", "reason", "label")]
    spans, reasons, targets = lists = [listed(data.get(name), name, where) for name in names]
    if len(set(map(len, lists))) > 1:
        said = (
            f"the columns {', '.join(names)} must be lists of one length, got {', '.join(str(len(x)) for x in lists)}"
        )
        raise InputError(said, field=names[0], where=where)
    for target in {*targets} - {"answer1", "answer2"}:
        raise InputError(
            f"the column {names[2]!r} names {target!r}, no answer1 or answer2", field=names[2], where=where
        )
    told = zip(spans, reasons, targets, strict=True)
    return [(span, reason.strip()) for span, reason, target in told if target == f"answer{which}"]


def _notes(data: Mapping[str, Any], which: int, answer: str, where: str) -> list[dict[str, Any]]:
    """The remarks on what this answer lacks, by the sentence in which their text stands; others have no place.

    Where the marked text is the word ANSWER1 or ANSWER2 the whole is meant: the remark goes to every sentence, as in
    the authors' own making of their completeness file.
    """
    sentences, notes = split_sentences(answer), []
    for span, reason in remarks(data, "incomplete_ans", which, where):
        place = find_span(answer, span)
        numbers = [s.n for s in sentences] if names_whole(span) else []
        numbers = [overlapping(sentences, *place)] if place is not None else numbers
        notes += [{"sentence": n, "reason": reason} for n in numbers if reason]
    return notes


def names_whole(span: str) -> bool:
    """Whether a marked text is the word for the answer itself, such as "ANSWER1:"."""
    return _WHOLE.fullmatch(span.strip()) is not None


def listed(cell: object, name: str, where: str) -> list[str]:
    """A list of texts (yes and no among them are `True` and `False`), written as Python writes it."""
    if not isinstance(cell, str) or not cell.strip():
        return []
    try:
        found = ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        found = None
    if not isinstance(found, list) or not all(isinstance(text, str | bool) for text in found):
        raise InputError(f"the column {name!r} must be a list of texts, got {cell[:60]!r}", field=name, where=where)
    return [str(text) for text in found]


def find_span(answer: str, text: str, *, at: int = 0) -> tuple[int, int] | None:
    """Where `text` stands in the answer, from `at` on; white space and case may differ. None where it does not."""
    words, exact = text.split(), answer.find(text.strip(), at)
    if words and exact >= 0:
        return exact, exact + len(text.strip())
    found = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE).search(answer, at) if words else None
    return found.span() if found else None


def overlapping(sentences: tuple[Sentence, ...], start: int, end: int) -> int:
    """The number of the sentence that shares the most characters with a stretch of the answer (of equals the first)."""
    return max(sentences, key=lambda s: min(s.end, end) - max(s.start, start)).n
