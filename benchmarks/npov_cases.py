"""Reads the NPOV answers with known errors (`cases_*.jsonl`, `mixed_*.jsonl`) as cases with labels.

Labels follow the construction of the data: an argument is missing if its id is listed, a sentence is unsupported if one
of its parts is. Sentences of the data are found again in the response, so that any cut can be scored against them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import read_rows

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.eval.base import Case


@dataclass(frozen=True, slots=True)
class Part:
    """One statement of an answer: its offsets, the argument it says (index into the given ones, or None), its kind."""

    start: int
    end: int
    argument: int | None
    kind: str

    @property
    def unsupported(self) -> bool:
        """Whether it was not given."""
        return self.kind.startswith("unsupported")


@dataclass(frozen=True, slots=True)
class Span:
    """A sentence of the data: its offsets in the response and its parts (none for introductions and fillers)."""

    start: int
    end: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A case with its claim and the labels of its arguments (True: missing) and sentences."""

    claim: int
    case: Case
    missing: tuple[bool, ...]
    spans: tuple[Span, ...]

    def parts_at(self, start: int, end: int) -> tuple[Part, ...] | None:
        """The parts with half of their text, or half of the range, in [start, end); None outside all sentences."""
        span = max(self.spans, key=lambda s: min(s.end, end) - max(s.start, start))
        if min(span.end, end) <= max(span.start, start):
            return None
        shared = [(p, min(p.end, end) - max(p.start, start)) for p in span.parts]
        return tuple(p for p, n in shared if n > 0 and 2 * n >= min(p.end - p.start, end - start))


def read_cases(file: Path) -> list[Labelled]:
    """The cases of a file in order, without `wrong_side` answers: they have neither of the two errors by definition."""
    return [labelled(row) for row in read_rows(file) if row["error_type"] != "wrong_side"]


def labelled(row: dict[str, Any]) -> Labelled:
    """One row of a file as a labelled case."""
    arguments = [*row["pro_arguments"], *row["con_arguments"]]
    number = {a["id"]: n for n, a in enumerate(arguments)}
    groups = tuple(ArgumentGroup(side, tuple(a["text"] for a in row[f"{side}_arguments"])) for side in ("pro", "con"))
    spans, at = [], 0
    for sentence in row["sentences"]:
        start = row["response"].index(sentence["text"], at)
        at = start + len(sentence["text"])
        spans.append(Span(start, at, tuple(_parts(sentence, start, number))))
    return Labelled(
        claim=row["claim_id"],
        case=Case(question=row["query"], answer=row["response"], given=Grounding("perspectives", groups)),
        missing=tuple(a["id"] in row["missing_argument_ids"] for a in arguments),
        spans=tuple(spans),
    )


def _parts(sentence: dict[str, Any], offset: int, number: dict[str, int]) -> Iterator[Part]:
    """The parts with their offsets. `cases_*` files have one kind a sentence; of kind `intro` it claims nothing."""
    text, at = sentence["text"].lower(), 0
    given = sentence.get("parts")
    if given is None:
        given = [] if sentence["kind"] == "intro" else [{**sentence, "text": sentence["text"]}]
    for part in given:
        core = part["text"].lower().rstrip(". ")
        start = text.find(core, at)
        if start < 0:  # a part that was altered when it was joined: the rest of the sentence
            start, core = at, text[at:]
        at = start + len(core)
        yield Part(offset + start, offset + at, number.get(part["argument_id"]), part["kind"])
