"""What the gate makes of people's corrections, and of their reverse: shown whole, in part, or not.

    python benchmarks/human_edits.py DATA [--part dev] [--rows 94] [--journal FILE] [--risk 0.05]

A scripted refiner hands in the corrected answer, and a critique that faults just the sentences that changed; then the
other way round. `whole`: the answer that is shown is the rewrite, white space aside; `part`: it is another than both.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness import Journal, arguments, drawn, read_rows, show, write_json

from eirene.agent.backends import resolve_backend
from eirene.agent.loop import Loop
from eirene.agent.settings import Settings
from eirene.core.critique import Sample, Tag
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.text.sentences import split_sentences
from tests.scripted_parts import ScriptedRefiner

Row = Mapping[str, Any]
OUTCOMES = ("whole", "part", "refused")


class ChangedSentences:
    """A feedback model that faults the sentences which another text does not have."""

    name = "changed"

    def __init__(self, other: str) -> None:
        self._other = {s.text for s in split_sentences(other)}

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """The same sample so many times."""
        changed = [s.text not in self._other for s in request.sentences]
        if not any(changed):
            changed[-1] = True
        tags: tuple[Tag, ...] = tuple("Incomplete" if c else "Complete" for c in changed)
        reasons = tuple("it is not right" if c else None for c in changed)
        for _ in range(count):
            yield Sample(tags=tags, reasons=reasons)


async def outcome(row: Row, before: str, after: str, risk: float) -> dict[str, str]:
    """What is shown of one rewrite, and why."""
    parts = replace(
        resolve_backend("embedded"), feedback_model=ChangedSentences(after), refiner=ScriptedRefiner([after])
    )
    settings = Settings.of(samples=3, max_rounds=1, stop="none", gate_risk=risk)
    item = Item(question=row["question"], answer=before, context=row["context"] or None)
    record = await Loop(parts, settings).arun(item)
    shown = " ".join(record.answer.split())
    if shown == " ".join(before.split()):
        return {"outcome": "refused", "why": record.why}
    return {"outcome": "whole" if shown == " ".join(after.split()) else "part", "why": record.why}


async def run(rows: list[Row], journal: Journal, risk: float) -> None:
    """All rows, both ways."""
    for row in rows:
        for way, texts in (("correction", ("before", "after")), ("reverse", ("after", "before"))):
            key = f"{row['id']}:{way}"
            if key not in journal.rows:
                found = await outcome(row, row[texts[0]], row[texts[1]], risk)
                journal.add(key, source=row["source"], given=bool(row["context"]), way=way, **found)


def main() -> None:
    parser = arguments(__doc__, data="the folder of human edits, with train.jsonl and dev.jsonl")
    parser.add_argument("--part", default="dev")
    parser.add_argument("--rows", type=int, default=94, help="of each source at most")
    parser.add_argument("--journal", type=Path, default=Path("build/human_edits.jsonl"))
    parser.add_argument("--risk", type=float, default=0.05)
    options = parser.parse_args()
    every = read_rows(options.data / f"{options.part}.jsonl")
    sources = sorted({row["source"] for row in every})
    rows = [row for s in sources for row in drawn([r for r in every if r["source"] == s], options.rows, 0)]
    journal = Journal(options.journal)
    asyncio.run(run(rows, journal, options.risk))
    found = {}
    for source in sources:
        own = [r for r in journal.rows.values() if r["source"] == source and r["given"]]
        for way in ("correction", "reverse"):
            counts = Counter(r["outcome"] for r in own if r["way"] == way)
            n = sum(counts.values())
            found[f"{source}, {way}"] = {"n": n, **{o: counts[o] / max(n, 1) for o in OUTCOMES}}
    rows_shown = [[k, str(v["n"]), *(f"{100 * v[o]:.0f} %" for o in OUTCOMES)] for k, v in found.items()]
    show(f"human edits, {options.part}, risk {options.risk:g}", ["", "n", *OUTCOMES], rows_shown)
    write_json(options.json, found)


if __name__ == "__main__":
    main()
