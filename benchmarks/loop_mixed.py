"""The whole loop on answers whose errors are known by construction: what it mends, and what it breaks.

    python benchmarks/loop_mixed.py DATA_DIR [--split dev] [--encoder FOLDER] [--claims FILE] [--no-gate] [--json OUT]
        [--verifier off|gate|detector]
    python benchmarks/loop_mixed.py DATA_DIR --curves OUT.csv

DATA_DIR holds `mixed_*.jsonl`. The first form runs the loop (`eirene.arefine`) at the shipped operating point on every
row and prints each measure with its 95 % interval (bootstrap over claims), overall and by error type. `--curves` varies
one threshold at a time, critic and refiner alone. The operating point is chosen by `fit_critic.py`, on training claims.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from loop_parts import Outcomes, item_of, prepare, read_rows
from loop_truth import MEASURES, Outcome, Row, interval, measure, rate
from rich.console import Console
from rich.table import Table

from eirene.agent.backends import resolve_backend
from eirene.agent.run import arefine
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.records import Record
from eirene.eval.detectors.alignment import AlignmentDetector, ArrangementDetector
from eirene.eval.detectors.rouge import RougeDetector
from eirene.eval.detectors.verifier import VerifierDetector
from eirene.feedback_model.embedded.critic import EmbeddedFeedback
from eirene.feedback_model.embedded.evidence import OperatingPoint, load_critic
from eirene.models.encoder import Encoder, load_encoder
from eirene.refiners.embedded.refiner import EmbeddedRefiner

console = Console(width=118)
CURVE = [0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]


def main() -> None:
    args = parse_arguments()
    encoder = load_encoder(args.encoder, threads=args.threads)
    rows = read_rows(args.data / f"mixed_{args.split}.jsonl", args.claims)
    if args.curves:
        write_curves(args.curves, rows, encoder)
        return
    start = time.perf_counter()
    if args.no_gate:
        outcomes, told = Outcomes(prepare(rows, encoder)).under(load_critic()), {}
    else:
        settings = Settings.of(samples=args.samples, seed=args.seed)
        parts = asked_by(parts_with(encoder, shipped=args.encoder is None), args.verifier)
        records = asyncio.run(run_loop(rows, parts, settings))
        outcomes = [measure(row, record.answer) for row, record in zip(rows, records, strict=True)]
        told = about(records)
    seconds = time.perf_counter() - start
    report = summary(outcomes) | told | {"seconds": round(seconds, 1), "encoder": encoder.digest}
    show(report, f"mixed_{args.split}")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--split", default="dev", choices=["dev", "train"])
    parser.add_argument("--encoder", type=Path, help="folder of an encoder (default: the shipped one)")
    parser.add_argument("--claims", type=Path, help="JSON list of the ids of the claims to use")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument(
        "--verifier", default="gate", choices=["off", "gate", "detector"],
        help="not asked; in the gate's check, as it ships; or there and as a detector that gates",
    )  # fmt: skip
    parser.add_argument("--no-gate", action="store_true", help="critic and refiner alone: no vote, no gate")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--curves", type=Path)
    return parser.parse_args()


def parts_with(encoder: Encoder, *, shipped: bool) -> Parts:
    """The embedded backend, around another encoder if asked."""
    if shipped:
        return resolve_backend("embedded")
    detectors = (RougeDetector(), AlignmentDetector(encoder), ArrangementDetector(encoder))
    return Parts("embedded", EmbeddedFeedback(encoder), EmbeddedRefiner(encoder), detectors, version=encoder.digest)


def asked_by(parts: Parts, verifier: str) -> Parts:
    """The parts with the verifier where it is wanted."""
    if verifier != "detector" or parts.verifier is None:
        return parts if verifier == "gate" else replace(parts, verifier=None)
    return replace(parts, detectors=[*parts.detectors, VerifierDetector(parts.verifier)])


async def run_loop(rows: Sequence[Row], parts: Parts, settings: Settings) -> list[Record]:
    return [await arefine(item_of(row), backend=parts, settings=settings) for row in rows]


def about(records: Sequence[Record]) -> dict[str, Any]:
    """What the records say of the runs: statuses, and the settings that made them."""
    statuses = {s: sum(r.status == s for r in records) for s in sorted({r.status for r in records})}
    return {"statuses": statuses, "signature": records[0].signature}


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Every measure with its interval, and by error type."""
    measures = {
        name: {
            "percent": rate(outcomes, name),
            "interval": interval(outcomes, name),
            "of": sum(o.counts[name][1] for o in outcomes),
        }
        for name in MEASURES
    }
    kinds = {kind: [o for o in outcomes if o.kind == kind] for kind in sorted({o.kind for o in outcomes})}
    return {
        "n": len(outcomes),
        "claims": len({o.claim for o in outcomes}),
        "measures": measures,
        "errors": {"before": sum(o.before for o in outcomes), "after": sum(o.after for o in outcomes)},
        "by_error_type": {kind: {m: rate(found, m) for m in MEASURES} for kind, found in kinds.items()},
    }


def show(report: dict[str, Any], title: str) -> None:
    table = Table(title=f"The whole loop on {title}: {report['n']} answers, {report['claims']} claims")
    for column in ("measure", "%", "95 % interval", "of", "wanted", ""):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for name, (label, target, bound) in MEASURES.items():
        found = report["measures"][name]
        limits = found["interval"]
        between = "-" if limits is None else f"{limits[0]:.1f} to {limits[1]:.1f}"
        wanted = "" if target is None else f"{bound} {target}"
        table.add_row(
            label, shown(found["percent"]), between, str(found["of"]), wanted, verdict(name, found["percent"])
        )
    console.print(table)
    kinds = Table(title="By error type (%)")
    kinds.add_column("")
    for kind in report["by_error_type"]:
        kinds.add_column(kind.replace("_", "\n"), justify="right")
    for name in MEASURES:
        kinds.add_row(name, *(shown(values[name]) for values in report["by_error_type"].values()))
    console.print(kinds)
    more = ("errors", "statuses", "seconds", "encoder", "signature")
    console.print({key: report[key] for key in more if key in report})


def verdict(name: str, value: float | None) -> str:
    _, target, bound = MEASURES[name]
    if target is None or value is None:
        return ""
    return "met" if (value >= target if bound == "at least" else value <= target) else "missed"


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def write_curves(out: Path, rows: Sequence[Row], encoder: Encoder) -> None:
    """One line a threshold, one threshold varied at a time, to CSV and (with matplotlib) to PNG."""
    critic, outcomes = load_critic(), Outcomes(prepare(rows, encoder))
    lines: list[dict[str, Any]] = []
    for name in ("missing", "unsupported"):
        for threshold in CURVE:
            found = outcomes.under(replace(critic, point=replace(critic.point, **{name: threshold})))
            lines.append({"varied": name, "threshold": threshold, **{m: rate(found, m) for m in MEASURES}})
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    draw(out.with_suffix(".png"), lines, critic.point)


def draw(out: Path, lines: Sequence[dict[str, Any]], point: OperatingPoint) -> None:
    try:
        import matplotlib
    except ImportError:
        print(f"no matplotlib: {out} is not drawn", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.5))
    plans = (("missing", "added_present", ("restored",)), ("unsupported", "lost", ("removed_other", "removed_same")))
    for axis, (varied, wrong, rights) in zip(axes, plans, strict=True):
        here = [line for line in lines if line["varied"] == varied]
        for right in rights:
            axis.plot([h[wrong] for h in here], [h[right] for h in here], marker=".", label=MEASURES[right][0])
        axis.axvline(MEASURES[wrong][1], color="grey", linestyle=":")
        title = f"threshold `{varied}` from {CURVE[0]:g} to {CURVE[-1]:g}; shipped: {getattr(point, varied):g}"
        axis.set(xlabel=f"{MEASURES[wrong][0]} (%)", ylabel="%", ylim=(0, 100), xlim=(0, 20), title=title)
        axis.legend()
    figure.tight_layout()
    figure.savefig(out, dpi=120)


if __name__ == "__main__":
    main()
