"""What the gate's checks add to a round: an answer of 100 words, six arguments, one thread, no model but the encoder.

    OMP_NUM_THREADS=1 python benchmarks/gate_cost.py [--json OUT]

Made-up topics (`verbatim_topics.json`), each with each of its arguments left out; the rewrite adds it (`good`), or adds
it with a "not" and a made-up figure, which are undone (`mixed`). The texts before are scored already, as in a round;
rewrites are scored alone, after the checks of edits without the verifier, and after the whole step, in turn. Processor
time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from eirene.agent.backends import resolve_backend
from eirene.agent.gate.edits import Rewrite, check_edits
from eirene.agent.state import Parts
from eirene.core.grounding import grounding_for
from eirene.core.records import Item
from eirene.eval.base import case_of
from eirene.eval.scoring import Scorer

TOPICS = Path(__file__).with_name("verbatim_topics.json")
TARGET_MS = 10.0
_LEADS = {"pro": ("Supporters say that", "They also hold that", "It is argued in favour, too, that"),
          "con": ("Opponents say that", "They also fear that", "It is objected, too, that")}  # fmt: skip
_FILLERS = (
    "This has been argued about for years, and no side is likely to give way soon.",
    "Each of these points deserves a fair hearing from those who decide about it in the end.",
    "What weighs more is for the readers to judge, who know their own town and its people best.",
)


@dataclass(frozen=True)
class Round:
    """An item, the text that a refiner wrote for it, and the words of its answer."""

    item: Item
    written: str

    @property
    def words(self) -> int:
        """How many words the answer has."""
        return len(self.item.answer.split())


def main() -> None:
    """Reads the arguments, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    out = parser.parse_args().json
    report = {kind: measured(list(rounds(kind))) for kind in ("good", "mixed")}
    table = Table(title=f"Milliseconds of processor time a round (median; wanted: {TARGET_MS:g} added at most)")
    for column in ("rewrite", "n", "words", "scoring", "added by checks", "with the verifier"):
        table.add_column(column, justify="right")
    for kind, found in report.items():
        table.add_row(kind, *(f"{found[key]:g}" for key in list(found)))
    Console(width=118).print(table)
    if out:
        out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def rounds(kind: str) -> Iterator[Round]:
    """Every topic with every argument left out."""
    for topic in json.loads(TOPICS.read_text("utf-8")):
        given = {side: [lowered(a) for a in topic[side]] for side in ("pro", "con")}
        for left_out in range(6):
            side = "pro" if left_out < 3 else "con"
            sentences = [
                (n, f"{_LEADS[s][k]} {argument}.")
                for n, (s, k, argument) in enumerate((s, k, a) for s in given for k, a in enumerate(given[s]))
            ]
            said = [text for n, text in sentences if n != left_out]
            answer = [_FILLERS[0], *said, *_FILLERS[1:]]
            sides = {s: topic[s] for s in ("pro", "con")}
            item = Item(
                id=f"{topic['id']}-{left_out}-{kind}", question=topic["question"], answer=" ".join(answer),
                perspectives=sides,
            )  # fmt: skip
            added = [_FILLERS[0], *(text for _, text in sentences), *_FILLERS[1:]]
            if kind == "mixed":
                # One sentence is not touched by what the other kind writes: no text is known from there.
                added[1 if side == "con" else 5] = added[1 if side == "con" else 5].replace(" that ", " that not ")
                added.append(f"This was found in {37 + left_out} of {90 + len(topic['id'])} towns.")
            yield Round(item, " ".join(added))


def lowered(text: str) -> str:
    """A sentence to follow "that"."""
    return text[:1].lower() + text[1:].rstrip(".")


def measured(found: list[Round]) -> dict[str, Any]:
    """The medians in milliseconds; rounds are measured in turn in three ways."""
    parts = resolve_backend("embedded")
    score(parts, found[0].item, found[0].item.answer)
    times: tuple[list[float], ...] = ([], [], [])
    for n, one in enumerate(found):
        score(parts, one.item, one.item.answer)
        began = time.process_time()
        text = one.written
        if n % 3:
            given = grounding_for(one.item)
            rewrite = Rewrite(one.item.question, one.item.answer, one.written, given)
            text = check_edits(rewrite, parts.checks, parts.encoder, parts.verifier if n % 3 == 2 else None).text
        score(parts, one.item, text)
        times[n % 3].append(time.process_time() - began)
    plain, checked, read = (1000 * statistics.median(values) for values in times)
    return {
        "n": len(found),
        "words": statistics.median(one.words for one in found),
        "scoring": round(plain, 2),
        "checks": round(checked - plain, 2),
        "verifier": round(read - plain, 2),
    }


def score(parts: Parts, item: Item, text: str) -> None:
    """Every detector's scores of a text."""
    asyncio.run(Scorer(parts.detectors).score(case_of(item, answer=text)))


if __name__ == "__main__":
    main()
