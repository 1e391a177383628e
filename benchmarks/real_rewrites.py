"""What the gate makes of a real model's rewrites that two blind readers marked.

    python benchmarks/real_rewrites.py DATA [--risk 0.05]

DATA has `human_edits`, whose rows the marked rewrites of QA-Feedback are of (benchmarks/results/real_rewrites.jsonl:
Qwen2.5-Coder-1.5B in Eirene's modes, and in two ways without Eirene). Each is judged as the only rewrite of its answer,
with a critique that names nothing. A reader's mark counts half; intervals are Wilson's, over rewrites.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness import arguments, read_rows, share, show, write_json

from eirene.core.grounding import grounding_for
from eirene.core.records import Item
from eirene.gate.checks.registry import CHECKS
from eirene.gate.edits import Rewrite, check_edits, comparer_for
from eirene.models.verifier.runtime import Verifier, shipped_verifier

MARKED = Path(__file__).parent / "results" / "real_rewrites.jsonl"
WORTH = {"better": 1, "same": 0, "worse": -1}


def outcome(row: Mapping[str, Any], written: str, verifier: Verifier, risk: float) -> str:
    """`whole`, `part` or `refused`."""
    item = Item(question=row["question"], answer=row["before"], context=row["context"])
    rewrite = Rewrite(row["question"], item.answer, written, grounding_for(item))
    found = check_edits(rewrite, CHECKS, verifier.encoder, comparer_for(rewrite, verifier, risk=risk))
    if found.comparison is None or not found.comparison.accepts or found.text.split() == item.answer.split():
        return "refused"
    return "whole" if found.text.split() == written.split() else "part"


def main() -> None:
    """Prints, by mode, how many better, same and worse rewrites are shown whole, in part, and not."""
    parser = arguments(__doc__, data="the folder that holds human_edits")
    parser.add_argument("--risk", type=float, default=0.05)
    options = parser.parse_args()
    rows = {row["id"]: row for p in ("train", "dev") for row in read_rows(options.data / f"human_edits/{p}.jsonl")}
    verifier, found = shipped_verifier(), dict[str, Counter[tuple[str, str]]]()
    for marked in read_rows(MARKED):
        if marked["id"] in rows and len(marked["marks"]) == 2:
            worth = sum(WORTH[mark] for mark in marked["marks"])
            mark = "better" if worth > 0 else "worse" if worth else "same"
            shown = outcome(rows[marked["id"]], marked["rewrite"], verifier, options.risk)
            for mode in (marked["mode"], "all"):
                found.setdefault(mode, Counter())[shown, mark] += 1
    table = []
    for mode, counts in found.items():
        cells = [" : ".join(str(counts[o, m]) for m in WORTH) for o in ("whole", "part", "refused")]
        whole = sum(counts["whole", m] for m in WORTH)
        table.append([mode, str(counts.total()), *cells, share(counts["whole", "worse"], whole) if whole else "-"])
    show(
        f"better : same : worse, risk {options.risk:g}",
        ["", "n", "whole", "part", "refused", "worse of those whole"],
        table,
    )
    write_json(options.json, {mode: {" ".join(k): n for k, n in counts.items()} for mode, counts in found.items()})


if __name__ == "__main__":
    main()
