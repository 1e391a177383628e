"""Reasons in records: plain words about the edit, none of the names that parts of the package have for each other."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eirene.agent.backends import resolve_backend
from eirene.agent.run import arefine
from eirene.agent.server.result import shown_result
from eirene.core.records import MODES, WITHOUT_FAULT, Item, Record
from eirene.core.usage import Meter
from eirene.gate.checks.registry import CHECKS
from eirene.refiners.base import RefineTask
from eirene.testing.assertions import assert_refined
from eirene.views.facts import rewrites
from eirene.views.record import view_of
from tests.views.test_terminal import shown

HOUSE = ("talk", "specifics", "polarity", "mended", "warrant", "falsif", "deciding", "no harm", "torn", "derived",
         "atom", "advisory", "abstain", "objection", "undo", "swapped", "Incomplete", "None", "the gate")  # fmt: skip
_OF_THE_HOUSE = re.compile(
    rf"\b(?:{'|'.join(HOUSE)})\b|\(?\b(?:{'|'.join(check.name for check in CHECKS)}): "
    r"|\b(?:alignment|rouge|arrangement) (?:coverage|hallucination)|\b(?:context|kept|asked) \d"
)
_QUOTED = re.compile(r'"[^"]*"')
PRO = ("Uniforms make pupils more equal", "Uniforms save families money", "Uniforms help pupils focus")
CON = ("Uniforms limit how pupils express themselves", "Uniforms cost 120 euros a year", "Uniforms are hot in June")
PASSAGES = (
    "The Forth Bridge was opened on 4 March 1890. It is 2,467 metres long and carries two railway tracks.",
    "Queensferry lies north of Edinburgh. The bridge was designed by John Fowler and Benjamin Baker.",
)
FACTS = ("The Forth Bridge was opened on 4 March {y}.", "It is {m} metres long.", "It carries {t} railway tracks.",
         "It was designed by {n}.", "It is painted red all year.")  # fmt: skip


def sides_row(rng: np.random.Generator) -> dict[str, Any]:
    said = [f"Supporters say that {PRO[i].lower()}." for i in rng.permutation(3)[: rng.integers(1, 4)]]
    said += [f"Critics object that {CON[i].lower()}." for i in rng.permutation(3)[: rng.integers(0, 4)]]
    return {"answer": " ".join(said), "perspectives": {"pro": list(PRO), "con": list(CON)}}


def passages_row(rng: np.random.Generator) -> dict[str, Any]:
    values = {"y": rng.choice([1890, 1899]), "m": rng.choice(["2,467", "900"]), "t": rng.choice(["two", "three"]),
              "n": rng.choice(["John Fowler", "Gustave Eiffel"])}  # fmt: skip
    facts = [FACTS[i].format(**values) for i in sorted(rng.permutation(len(FACTS))[: rng.integers(1, 5)])]
    return {"answer": " ".join(facts), "context": list(PASSAGES)}


class AnyRefiner:
    """Drops, doubles, adds, changes and moves sentences by chance; at times it does something else than asked."""

    name = "any"

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        parts = re.split(r"(?<=[.]) ", task.answer)
        for _ in range(self._rng.integers(1, 4)):
            at = int(self._rng.integers(len(parts)))
            parts = list(self._changed(parts, at)) or parts
        return " ".join(parts)

    def _changed(self, parts: list[str], at: int) -> Iterator[str]:
        more = (
            "Here is the improved answer:", "Supporters say that uniforms save families money.", "See www.uni.example.",
            "It was opened on 4 March 1890.", "Critics object that uniforms cost 120 euros a year.",
            "I'm sorry, but I can't help with that.", "Mayors collect clocks.", parts[at],
        )  # fmt: skip
        other = parts[at].replace("say", "do not say").replace("1899", "1890").replace("2,467", "3,000")
        yield from (
            [*parts[:at], *parts[at + 1 :]],
            [*parts[:at], str(self._rng.choice(more)), *parts[at:]],
            [*parts[:at], other.replace("Eiffel", "Baker").replace("Critics", "Supporters"), *parts[at + 1 :]],
            [*parts[at:], *parts[:at]],
            [*parts[:at], parts[at][: len(parts[at]) // 2], *parts[at + 1 :]],
        )[self._rng.integers(5)]


async def records(n: int) -> list[Record]:
    """Runs of the embedded backend, half of them with a refiner that does anything; the rows are made by chance."""
    rng, parts, found = np.random.default_rng(5), resolve_backend("embedded"), list[Record]()
    for i in range(n):
        row = {"id": str(i), "question": "Is it so?", **(passages_row if i % 4 == 1 else sides_row)(rng)}
        own = replace(parts, refiner=AnyRefiner(rng)) if i % 8 < 4 else parts
        mode = MODES[int(rng.integers(3))]
        found.append(await arefine(row, backend=own, samples=3, mode=mode, max_rounds=1 + (i % 4 == 0), seed=i))
    return found


def reasons(record: Record) -> Iterator[str]:
    """Every sentence of a record that tells a reader why."""
    yield record.why
    for round_ in record.rounds:
        yield from (round_.why, *round_.mended, *(edit.why or "" for edit in round_.edits))


def elsewhere(record: Record) -> Iterator[str]:
    """What the terminal says of the decisions, the page and the server of a run, and a test of what it fails on."""
    yield shown(record).partition("Decisions")[2].partition("Outcome")[0]
    view, rounds = view_of(record), (result := shown_result(record, Item(question="Is it so?", answer="So.")))["rounds"]
    yield from (view.summary, *view.now_said, *(why for found in view.open for why in found.why))
    yield from (edit.why for _, edit in view.undone)
    assert [r["rewritten"] for r in rounds] == [rewrite is not None for rewrite in rewrites(record)]
    yield from (result["why"], *result["support"], *(r["why"] for r in rounds))
    yield from (edit["why"] for r in rounds for edit in r["undone"])
    if record.status not in WITHOUT_FAULT:
        with pytest.raises(AssertionError) as failed:
            assert_refined(record)
        yield str(failed.value).partition("the answer would become")[0]


def test_no_reason_of_500_records_has_a_word_of_the_house() -> None:
    """Nor has what any screen or test says of them; words of answers and given texts, in quotes, do not count."""
    found = asyncio.run(records(500))
    told = [why for record in found for why in reasons(record)]
    told += [why for record in found[::25] for why in elsewhere(record)]
    assert [why for why in told if _OF_THE_HOUSE.search(_QUOTED.sub("", " ".join(why.split())))] == []
    statuses = Counter(record.status for record in found)
    assert min(statuses["accepted"], statuses["kept"]) >= 50 and len(statuses) >= 5, statuses
