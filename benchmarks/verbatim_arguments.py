"""Arguments said word for word, alone or two to a sentence: are they found, and are complete answers left alone?

    python benchmarks/verbatim_arguments.py [--part chosen|aside] [--json OUT]

Made-up topics (`verbatim_topics.json`). Printed for each joint: arguments called missing by the detector, perfect
rewrites that the gate refuses, and complete answers that the whole loop changes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from pathlib import Path

from verbatim_cases import JOINTS, Case, cases

from eirene.agent.backends import resolve_backend
from eirene.agent.gate import judge
from eirene.agent.run import arefine
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.scores import Scores, number
from eirene.eval.base import case_of
from eirene.eval.scoring import Scorer

FOUND = ("arguments", "called_missing", "rewrites", "refused", "changed")


def main() -> None:
    """Reads the arguments, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=[*JOINTS], help="default: both")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--verbose", action="store_true", help="say why a rewrite was refused or an answer changed")
    options = parser.parse_args()
    parts = resolve_backend("embedded")
    table = {}
    for part in [options.part] if options.part else [*JOINTS]:
        for case in cases(part):
            found, why = asyncio.run(outcome(case, parts))
            table.setdefault(f"{part}: {case.joint}", Counter(dict.fromkeys(FOUND, 0))).update(found)
            if options.verbose and why:
                print(case.item.id, "|", case.complete, "|", why)
    table["all"] = sum(table.values(), Counter())
    for joint, row in table.items():
        print(f"{joint:28}", "  ".join(f"{name} {row[name]}" for name in FOUND))
    if options.json:
        options.json.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


async def outcome(case: Case, parts: Parts) -> tuple[Counter[str], str]:
    """What became of one case, counted; and why, where something went wrong."""
    before, after = await scored(case, case.item.answer, parts), await scored(case, case.complete, parts)
    verdict = judge(
        {name: s for name, s in before.items() if name not in parts.advisory},
        after,
        gain_measurable=True,
        settings=Settings(),
    )
    record = await arefine(case.item.model_copy(update={"answer": case.complete}), backend=parts)
    missing = [a for a in after["alignment"].arguments if (number(a.coverage) or 0.0) >= 0.5]
    changed = record.answer != case.complete
    why = ("" if verdict.accept else verdict.why) + (f" -> {record.answer}" if changed else "")
    counts = (len(after["alignment"].arguments), len(missing), 1, not verdict.accept, changed)
    return Counter(dict(zip(FOUND, map(int, counts), strict=True))), why


async def scored(case: Case, text: str, parts: Parts) -> dict[str, Scores]:
    """Every detector's scores of a text."""
    found = await Scorer(parts.detectors).score(case_of(case.item, answer=text))
    return {name: outcome.scores for name, outcome in found.items()}


if __name__ == "__main__":
    main()
