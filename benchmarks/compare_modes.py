"""The three modes of the embedded default on answers whose errors are known by construction: which leaves the fewest?

    python benchmarks/compare_modes.py DATA [--split dev] [--out DIR] [--seeds 0] [--limit N] [--json OUT]

DATA is the folder with `mixed_*.jsonl`. `eirene compare` makes the rows (kept in DIR and resumed, where one is named);
the truth is told from the texts alone (`loop_truth.py`): missing arguments, foreign parts, needless additions and parts
lost. Of the answers that have an error, the errors left per answer are compared between modes, with 95 % bootstrap
intervals over claims (10,000 draws), an exact test on claims with more answers healed, and beside them what each mode
did to answers without an error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from loop_parts import item_of, read_rows
from loop_truth import Outcome, measure
from rich.console import Console
from rich.table import Table

from eirene.agent.backends import resolve_backend
from eirene.agent.experiments.compare import ComparePlan, acompare
from eirene.core.records import MODES
from eirene.eval.metrics.bootstrap import Estimate, Resamples, holm, mcnemar, paired_differences

console = Console(width=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--split", default="dev", choices=["dev", "train"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = read_rows(args.data / f"mixed_{args.split}.jsonl")[: args.limit]
    seeds = [int(s) for s in args.seeds.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        out = args.out or Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        parts = resolve_backend("embedded")
        work = acompare([item_of(row) for row in rows], plan=ComparePlan(MODES[:3], seeds=seeds), parts=parts, out=out)
        found = asyncio.run(work)
    failed = [line.record.why for line in found.rows if line.record.status == "failed"]
    if failed:
        raise SystemExit(f"{len(failed)} rows failed: {failed[0]}")
    by_id = {row["id"]: row for row in rows}
    outcomes: dict[str, list[Outcome]] = {mode: [] for mode in MODES[:3]}
    for line in found.rows:
        outcomes[line.mode].append(measure(by_id[line.id], line.record.answer))
    statuses = {mode: dict(Counter(r.record.status for r in found.rows if r.mode == mode)) for mode in outcomes}
    signatures = {line.mode: line.record.signature for line in found.rows}
    report = {"encoder": parts.version, "seeds": seeds, "signatures": signatures, **figures(outcomes, statuses)}
    show(report)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def figures(outcomes: dict[str, list[Outcome]], statuses: dict[str, Any]) -> dict[str, Any]:
    """Per mode and per pair; pairs are row by row, since every mode has the same answers in the same order."""
    resamples = Resamples()
    wrong = {mode: [o for o in found if o.before] for mode, found in outcomes.items()}
    first = next(iter(wrong.values()))
    claims = [o.claim for o in first]
    pairs = []
    for a, b in combinations(outcomes, 2):  # the later mode minus the earlier
        left, right = errors_left(wrong[b]), errors_left(wrong[a])
        (difference,) = paired_differences(left, right, claims, resamples)
        healed = mcnemar((left == 0).astype(float), (right == 0).astype(float), claims)
        pairs.append({"a": b, "b": a, "errors_left": difference.to_json(), "healed_only_a": healed.only_a,
                      "healed_only_b": healed.only_b, "p": healed.p})  # fmt: skip
    for pair, p in zip(pairs, holm([pair["p"] for pair in pairs]), strict=True):
        pair["p_holm"] = p
    return {
        "answers_with_an_error": len(first),
        "claims": len(set(claims)),
        "per_mode": {mode: per_mode(outcomes[mode], wrong[mode], statuses[mode], resamples) for mode in outcomes},
        "pairs": pairs,
    }


def per_mode(found: Sequence[Outcome], wrong: Sequence[Outcome], statuses: Any, resamples: Resamples) -> dict[str, Any]:
    clean = [o for o in found if not o.before]
    added = np.array([o.after for o in clean], float)
    return {
        "statuses": statuses,
        "errors_before": mean(np.array([o.before for o in wrong], float), wrong, resamples).to_json(),
        "errors_left": mean(errors_left(wrong), wrong, resamples).to_json(),
        "healed": mean((errors_left(wrong) == 0).astype(float), wrong, resamples).to_json(),
        "worse": mean(np.array([o.after > o.before for o in found], float), found, resamples).to_json(),
        "errors_in_answers_without_one_before": mean(added, clean, resamples).to_json(),
    }


def errors_left(found: Sequence[Outcome]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([o.after for o in found], dtype=np.float64)


def mean(values: Any, found: Sequence[Outcome], resamples: Resamples) -> Estimate:
    (estimate,) = paired_differences(values, np.zeros_like(values), [o.claim for o in found], resamples)
    return estimate


def show(report: dict[str, Any]) -> None:
    n, claims = report["answers_with_an_error"], report["claims"]
    table = Table(title=f"{n} answers with an error, {claims} claims, encoder {report['encoder']}")
    columns = ("errors_before", "errors_left", "healed", "worse", "errors_in_answers_without_one_before")
    table.add_column("mode")
    for column in columns:
        table.add_column(column.replace("_", " "), justify="right")
    table.add_column("statuses")
    for mode, found in report["per_mode"].items():
        table.add_row(mode, *(shown(found[c]) for c in columns), str(found["statuses"]))
    console.print(table)
    pairs = Table(title="True errors left per answer, difference by pair (95 % interval, bootstrap over claims)")
    for column in (
        "pair",
        "difference",
        "claims with more healed by the first",
        "by the second",
        "p (McNemar)",
        "p (Holm)",
    ):
        pairs.add_column(column)
    for pair in report["pairs"]:
        pairs.add_row(f"{pair['a']} minus {pair['b']}", shown(pair["errors_left"]), str(pair["healed_only_a"]),
                      str(pair["healed_only_b"]), f"{pair['p']:.2g}", f"{pair['p_holm']:.2g}")  # fmt: skip
    console.print(pairs)
    for signature in report["signatures"].values():
        console.print(signature)


def shown(found: dict[str, Any]) -> str:
    return found.get("unscored") or f"{found['value']:.3f} [{found['low']:.3f}, {found['high']:.3f}]"


if __name__ == "__main__":
    main()
