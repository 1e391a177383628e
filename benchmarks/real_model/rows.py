"""The rows of the real-model benchmark: answers that people corrected, tagged, or that hold known errors.

`qa`: QA-Feedback's answers with passages that a person corrected (development part of `human_edits`); `open`:
HaluQuestQA's tagged answers, a fifth of the questions, by seed 0; `sides`: `npov_perspectrum/mixed_dev`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness import Row, drawn, read_rows, write_rows

SETS = {"qa": "QA-Feedback", "open": "HaluQuestQA", "sides": "mixed_dev"}
CASES = "cases.jsonl"


@dataclass(frozen=True)
class Case:
    """A row. `item`: what a refiner is shown, as keywords of `Item`; `notes`: a person's remarks by sentence, for mode
    human; `known`: what people said or what was planted, for the measures alone; `group`: rows drawn together."""

    set: str
    id: str
    group: str
    item: Row
    notes: list[Row]
    known: Row


def cases_of(folder: Path, data: Path | None, count: int) -> list[Case]:
    """The rows in FOLDER, or so many of each set, which are put there: all commands measure the same ones."""
    file = folder / CASES
    if not file.exists():
        if data is None:
            raise SystemExit(f"{file} is not there: give --data, the folder of data sets, to make it")
        folder.mkdir(parents=True, exist_ok=True)
        made = file.with_suffix(f".{os.getpid()}.tmp")
        write_rows(made, [asdict(case) for name in SETS for case in drawn(list(READERS[name](data)), count, 0)])
        made.replace(file)  # another command may begin at the same time
    return [Case(**row) for row in read_rows(file)]


def corrected_answers(data: Path) -> Iterator[Case]:
    """QA-Feedback: the person's text, the marked stretches, the passage sentences that were missed."""
    from qa_cases import missing_sentences

    marked = {row["question"]: row for row in read_rows(data / "qa_feedback/feedback.jsonl")}
    for row in read_rows(data / "human_edits/dev.jsonl"):
        if row["source"] != "qa_feedback":
            continue
        feedback = marked[row["question"]]
        spans = [
            {"kind": e["error type"], "text": feedback["prediction 1"][e["start"] : e["end"]]}
            for e in feedback["feedback"]["errors"]
        ]
        known = {"corrected": row["after"], "spans": spans, "missing": missing_sentences(feedback)}
        item = {"question": row["question"], "answer": row["before"], "context": row["context"]}
        yield Case("qa", row["id"], row["question"], item, notes_on(row, known), known)


def notes_on(row: Row, known: Row) -> list[Row]:
    """The sentences that the person changed, with the person's marks as reasons; what was missed is said at the last.

    A change without a mark has no reason but that a person would not leave the sentence so.
    """
    from eirene.text.sentences import split_sentences

    kept = {s.text for s in split_sentences(row["after"])}
    sentences = split_sentences(row["before"])
    changed = [s for s in sentences if s.text not in kept] or [sentences[-1]]
    notes = []
    for s in changed:
        marks = [f"{x['kind']}: {x['text'].strip()!r}." for x in known["spans"] if x["text"].strip() in s.text]
        marks += [f"Missing: {text}" for text in known["missing"] if s is changed[-1]]
        notes.append({"sentence": s.n, "reason": " ".join(marks) or "This sentence is not right as it is."})
    return notes


def tagged_answers(data: Path) -> Iterator[Case]:
    """HaluQuestQA: each sentence's tag, and the reason where it is incomplete."""
    rows = read_rows(data / "haluquestqa/completeness_train.jsonl")
    questions = sorted({row["question"] for row in rows})
    held = set(drawn(questions, round(0.2 * len(questions)), 0))
    for row in rows:
        if row["question"] in held:
            answer = " ".join(s["text"] for s in row["sentences"])
            item = {"question": row["question"], "answer": answer}
            yield Case("open", f"halu-{row['row']}", row["question"], item, [], {"sentences": row["sentences"]})


def mixed_answers(data: Path) -> Iterator[Case]:
    """Answers that were put together, so that their errors are known."""
    for row in read_rows(data / "npov_perspectrum/mixed_dev.jsonl"):
        sides: list[Any] = [
            {"name": s, "arguments": [a["text"] for a in row[f"{s}_arguments"]]} for s in ("pro", "con")
        ]
        item = {"question": row["query"], "answer": row["response"], "perspectives": sides}
        yield Case("sides", row["id"], str(row["claim_id"]), item, [], row)


READERS = {"qa": corrected_answers, "open": tagged_answers, "sides": mixed_answers}
