"""What `compare` writes down: a row for each (item, mode, seed), a judgement for each text, and their keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ConfigDict

from eirene.agent.journal import Journal
from eirene.agent.line_journal import Line
from eirene.agent.row_hash import row_hash
from eirene.agent.run import run_signature
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.checked import Checked, checked
from eirene.eval.base import Case
from eirene.eval.error_judge import Judgement
from eirene.given import Source, given_for
from eirene.records import Item, Mode, Record, digest
from eirene.scores import Unscored
from eirene.usage import Usage


class _Line(Checked):
    model_config = ConfigDict(extra="forbid", frozen=True)


_Kind = TypeVar("_Kind", bound=_Line)


class CompareRow(_Line):
    """One line of `rows.jsonl`. `hash` stands for everything that the record hangs on.

    `given` says what the answers were held against: scores against what was `derived` from a critique do not compare
    between modes, whose critiques differ.
    """

    id: str
    mode: Mode
    seed: int
    hash: str
    given: Source
    record: Record

    @property
    def key(self) -> str:
        """What makes the row one of its kind."""
        return row_key(self.id, self.mode, self.seed)

    @property
    def pair(self) -> tuple[str, int]:
        """What two modes' rows must share to be compared."""
        return self.id, self.seed


class JudgedText(_Line):
    """One line of `judgements.jsonl`: what the judge said of one text. `failed`: the model could not be reached."""

    key: str
    id: str
    judge: str
    judgement: Judgement | Unscored
    failed: bool = False
    usage: Usage


@dataclass(frozen=True, slots=True)
class Job:
    """One row to be made."""

    item: Item
    settings: Settings
    hash: str
    signature: str

    @property
    def key(self) -> str:
        """The key of its row."""
        return row_key(self.item.id, self.settings.mode, self.settings.seed)


def row_key(item_id: str, mode: str, seed: int) -> str:
    """The key of a row: item, mode and seed as JSON, so that no id can pass for another."""
    return json.dumps([item_id, mode, seed], ensure_ascii=False)


def row_key_of(line: Line) -> str:
    """The key of a line of `rows.jsonl`; raises `ValueError` for any other line."""
    try:
        return row_key(line["id"], line["mode"], line["seed"])
    except KeyError as error:
        raise ValueError(f"has no {error.args[0]!r}") from None


def jobs_for(
    items: Sequence[Item], parts: Parts, settings: Settings, *, modes: Sequence[Mode], seeds: Sequence[int]
) -> Iterator[Job]:
    """Every row wanted, all modes and seeds of an item together: what they share is then still at hand."""
    for item in items:
        for mode in modes:
            for seed in seeds:
                own = Settings.of(**{**settings.model_dump(), "mode": mode, "seed": seed})
                yield Job(item, own, row_hash(item, parts, own), run_signature(parts, own))


def text_key(item: Item, answer: str, judge: str) -> str:
    """The key of a text's judgement: the judge, and everything that it is shown."""
    case = judged_case(item, answer)
    groups = [[g.name, *g.arguments] for g in case.given.groups] if case.given.source != "derived" else []
    return digest([judge, case.question, groups, answer])[:16]


def judged_case(item: Item, answer: str) -> Case:
    """What a judge is shown of a text."""
    return Case(item.question, answer, given_for(item))


def rows_in(journal: Journal) -> dict[str, CompareRow]:
    """The rows of a journal by key; raises `InputError` at a line that is none."""
    return {key: _read(CompareRow, line, journal, n) for n, (key, line) in enumerate(journal.lines.items(), start=1)}


def judgements_in(journal: Journal) -> dict[str, JudgedText]:
    """The judgements of a journal by key; raises `InputError` at a line that is none."""
    return {key: _read(JudgedText, line, journal, n) for n, (key, line) in enumerate(journal.lines.items(), start=1)}


def _read(kind: type[_Kind], line: dict[str, Any], journal: Journal, n: int) -> _Kind:
    return checked(kind, line, where=f"{journal.path}, line {n}")
