"""The whole loop on answers whose errors are known by construction: what it mends, what it breaks, in each mode.

    python benchmarks/loop_mixed.py DATA [--modes fine-grained,generic,improve] [--verifier off] [--out DIR]

DATA holds `npov_perspectrum`: the loop runs at the shipped operating point on every row of `mixed_dev.jsonl`; records
are kept in DIR, where one is named, and the command goes on from there. `fit_critic.py` chooses the operating point.
Intervals: 95 %, bootstrap over claims; differences between modes are paired, over the answers that have an error.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from harness import Journal, arguments, mean, show, shown, write_json
from loop_parts import item_of, read_rows
from loop_truth import MEASURES, Outcome, Row, figure, measure, rate

from eirene.agent.backends import resolve_backend
from eirene.agent.loop import Loop
from eirene.agent.settings import Settings


def main() -> None:
    """Runs the loop in each mode and prints."""
    parser = arguments(__doc__)
    parser.add_argument("--modes", default="fine-grained")
    parser.add_argument("--verifier", choices=("on", "off"), default="on", help="in the gate's check")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows = read_rows(args.data / "npov_perspectrum/mixed_dev.jsonl")[: args.limit]
    parts = resolve_backend("embedded")
    parts = parts if args.verifier == "on" else replace(parts, verifier=None)
    outcomes, report = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for mode in args.modes.split(","):
            loop = Loop(parts, Settings.of(mode=mode, seed=args.seed))
            records = asyncio.run(records_of(loop, rows, Journal((args.out or Path(folder)) / f"{mode}.jsonl")))
            outcomes[mode] = [measure(row, record["answer"]) for row, record in zip(rows, records, strict=True)]
            statuses = Counter(record["status"] for record in records)
            report[mode] = {"statuses": statuses, "encoder": parts.version, **summary(outcomes[mode])}
            show_mode(mode, report[mode])
    report |= differences(outcomes)
    write_json(args.json, report)


async def records_of(loop: Loop, rows: Sequence[Row], journal: Journal) -> list[dict[str, Any]]:
    """Status and answer of each row, in order: those of the journal, or made and put there."""
    for row in rows:
        if row["id"] not in journal.rows:
            record = await loop.arun(item_of(row))
            journal.add(row["id"], status=record.status, answer=record.answer)
    return [journal.rows[row["id"]] for row in rows]


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Every measure with its interval and by error type, and the errors left of the answers that have one."""
    kinds = {kind: [o for o in outcomes if o.kind == kind] for kind in sorted({o.kind for o in outcomes})}
    wrong = [o for o in outcomes if o.before]
    return {
        "n": len(outcomes), "claims": len({o.claim for o in outcomes}),
        "measures": {name: figure(outcomes, name).to_json() for name in MEASURES},
        "errors before": mean([o.before for o in wrong], [o.claim for o in wrong]).to_json(),
        "errors left": mean([o.after for o in wrong], [o.claim for o in wrong]).to_json(),
        "by_error_type": {kind: {m: rate(found, m) for m in MEASURES} for kind, found in kinds.items()},
    }  # fmt: skip


def show_mode(mode: str, report: dict[str, Any]) -> None:
    """Prints the measures of a mode."""
    kinds = report["by_error_type"]
    table = []
    for name, (label, target, bound) in MEASURES.items():
        found = report["measures"][name]
        by_kind = ("-" if kinds[kind][name] is None else f"{kinds[kind][name]:.1f}" for kind in kinds)
        wanted = "" if target is None else f"{bound} {target}"
        table.append((label, shown(found, 1), str(found["n"]), wanted, *by_kind))
    title = f"{mode}: {report['n']} answers, {report['claims']} claims, {dict(report['statuses'])}"
    show(title, ("measure", "% [95 %]", "of", "wanted", *(kind.replace("_", "\n") for kind in kinds)), table)
    print(f"errors left {shown(report['errors left'])} an answer with one, before {shown(report['errors before'])}")


def differences(outcomes: dict[str, list[Outcome]]) -> dict[str, Any]:
    """The errors that one mode leaves less those of another, answer by answer."""
    found = {}
    for a, b in combinations(outcomes, 2):
        pairs = [(x, y) for x, y in zip(outcomes[a], outcomes[b], strict=True) if x.before]
        less = mean([x.after - y.after for x, y in pairs], [x.claim for x, _ in pairs])
        found[f"{a} minus {b}"] = less.to_json()
        print(f"{a} minus {b}: {shown(less)} errors left an answer")
    return found


if __name__ == "__main__":
    main()
