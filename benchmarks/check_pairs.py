"""How often a check calls an answer worse: pairs of answers to the same question and given text, marked by people.

    python benchmarks/check_pairs.py SHARED_DATA [--tolerances 0.02,0.1,0.2,0.3]

Of two sound answers neither is worse: what is called so is noise, the like of which a model's next run brings. From a
sound answer to a faulty one every row is worse. RAGTruth's part for figures (the verifier was trained on another), and
answers to claims of Perspectrum with constructed errors; the detector that a check takes for each, and the other one.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path

from eirene.agent.check.baseline import compare
from eirene.agent.check.rows import RowMeasure
from eirene.core.quality import QualityRow
from eirene.eval.datasets.base import Labelled
from eirene.eval.registry import build_detectors
from eirene.eval.resources import Resources
from recipes.labelled import read_set
from recipes.verifier.splits import ANSWERS, parts

Marked = tuple[QualityRow, bool]


async def measured(cases: Sequence[Labelled], detector: str) -> list[Marked]:
    """A row for each case, and whether it is marked as faulty."""
    measure = RowMeasure(build_detectors([detector], Resources()))
    return [(await measure.measure(c.item), bool(c.hallucination or c.coverage)) for c in cases]


def pairs(rows: Sequence[Marked]) -> Iterator[tuple[str, QualityRow, QualityRow]]:
    """All ordered pairs of answers to the same, with what they are: `sound -> faulty` and so on."""
    groups: dict[str, list[Marked]] = defaultdict(list)
    for row, faulty in rows:
        groups[row.given].append((row, faulty))
    words = {False: "sound", True: "faulty"}
    for group in groups.values():
        for (old, was), (new, now) in permutations(group, 2):
            if not (was and now):
                yield f"{words[was]} -> {words[now]}", old, new


def main() -> None:
    """Prints the share of pairs called worse, by set, detector, tolerance and kind of pair."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--tolerances", default="0.02,0.1,0.2,0.3")
    told = arguments.parse_args()
    aside = {case.cluster for case in parts(told.data, "ragtruth")["report"]}
    ragtruth = read_set(str(told.data / ANSWERS["ragtruth"]))
    sets = {
        "RAGTruth": [case for case in ragtruth.cases if case.item.context and case.cluster in aside],
        "Perspectrum": list(read_set(str(told.data / "npov_perspectrum/cases_dev.jsonl")).cases),
    }
    for name, cases in sets.items():
        for detector in ("verifier", "alignment"):
            found = list(pairs(asyncio.run(measured(cases, detector))))
            for tolerance in map(float, told.tolerances.split(",")):
                print(f"| {name}, {len(cases)} answers | {detector} | {tolerance:g} |", end="")
                for kind in ("sound -> sound", "sound -> faulty", "faulty -> sound"):
                    own = [next(compare([new.model_copy(update={"id": old.id})], {old.id: old}, tolerance=tolerance))
                           for what, old, new in found if what == kind]  # fmt: skip
                    worse = sum(change.kind == "worse" for change in own)
                    known = sum(change.kind in ("worse", "better", "same") for change in own)
                    print(f" {100 * worse / known:.1f} % of {known} |" if known else " - |", end="")
                print(flush=True)


if __name__ == "__main__":
    main()
