"""One reading, one verdict: what `verify` calls faulty `refine` flags by the same word, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import eirene
from eirene.agent.backends import resolve_backend
from eirene.agent.check.rows import RowMeasure
from eirene.core.records import Item
from eirene.verification.judging import FAULTED
from eirene.verification.verify import verify_item
from eirene.views.faults import WORDS, verdict_of
from tests.scripted_parts import ScriptedRefiner

SOUND = Path(__file__).parents[2] / "benchmarks" / "sound" / "dev"
EVERY = 3
PASSAGES = [
    "The Norby lighthouse was built in 1869 by Ida Lindqvist. It stands on the left bank of the Vanne. Its lamp is not "
    "lit in winter, when no ships sail.",
    "The keeper's house holds a small museum. Tickets cost 12 crowns. It is a myth that the museum owns a whale.",
]
ANSWERS = [
    "The lighthouse was built in 1869. It stands on the left bank of the Vanne.",
    "Opinions differ. The museum is small and cheap, and the keeper liked it.",
    "The lighthouse was built in 1896. It stands on the right bank of the Vanne. Tickets cost 12 crowns.",
    "The lamp is lit in winter. Tickets cost 20 crowns.",
    "The museum owns a whale. Penguins elected a mayor on Tuesday. Is it open?",
    "Der Leuchtturm wurde im Jahr 1896 von einer anderen Frau gebaut und ist sehr schön.\nTickets cost 21 crowns. "
    "The lamp is not lit in winter, and the tickets of the small museum are sold in the house of the keeper.",
]
OF_PASSAGES = {"unsupported", "contradictory", "entity", "relation"}


def items() -> Iterator[Item]:
    """Sound and faulty answers of all kinds, and some of them with a word or a figure of their own turned."""
    yield from (Item(question="What is known?", answer=answer, context=PASSAGES) for answer in ANSWERS)
    rows = [json.loads(line) for path in sorted(SOUND.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    for n, row in enumerate(row for row in rows if row.get("context") and row.get("answer")):
        if n % EVERY == 0:
            turned = row["answer"].replace(" is ", " is not ", 1).replace("1", "7", 1)
            for answer in dict.fromkeys([row["answer"], turned]):
                yield Item(question=row["question"], answer=answer, context=row["context"])


async def test_verify_refine_score_and_check_agree_on_every_row() -> None:
    parts = replace(resolve_backend("embedded"), refiner=ScriptedRefiner([]), detectors=())
    loop, measure = eirene.Loop(parts, eirene.Settings(max_rounds=1)), RowMeasure()
    compared = 0
    for item in items():
        record = loop.run(item)
        found = verify_item(item, item.answer)
        claims = () if found is None else found.claims
        critique = record.rounds[0].critique
        sentences = () if critique is None else critique.sentences
        flagged = {s.start: WORDS[f.kind] for s in sentences for f in s.findings if f.kind in OF_PASSAGES}
        assert flagged == {c.start: c.verdict for c in claims if c.is_faulty}, item.answer
        assert all(flagged.get(s.start) in {None, *(f.word for f in verdict_of(s).faults)} for s in sentences)
        assert (record.status == "not_checked") == all(c.verdict == "not checked" for c in claims)
        assert all(c.is_faulty == (c.risk > FAULTED) for c in claims if c.risk is not None), item.answer
        compared += 1
        row = await measure.measure(item) if compared <= len(ANSWERS) or compared % 10 == 0 else None
        if row is not None and row.why is None:
            scored = [s.hallucination for s in row.scores["verifier"].sentences if isinstance(s.hallucination, float)]
            assert scored == [round(c.risk, 4) for c in claims if c.risk is not None]
            faulty = [(c.verdict, c.text) for c in claims if c.is_faulty]
            assert [(f.kind, f.text) for f in row.faults if f.kind != "weakest"] == faulty
    assert compared > 190
