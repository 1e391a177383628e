"""The whole loop on answers whose errors are known by construction: what it mends, and what it breaks.

    python benchmarks/loop_mixed.py DATA [--split dev] [--encoder FOLDER] [--no-gate] [--json OUT] [--curves OUT.csv]
    python benchmarks/loop_mixed.py DATA --tune [--encoder FOLDER] [--claims FILE] [--write]

DATA is the folder with `mixed_*.jsonl`. The first form runs `eirene.refine` at the shipped operating point on every row and prints
each measure with its 95 % interval (bootstrap over claims), overall and by error type. `--curves` varies one threshold at
a time, critic and refiner alone. `--tune` chooses the thresholds on training claims; `--claims` names a file with
one claim id a line (those held out from the encoder's training), `--write` freezes the result in the package.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import itertools
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from loop_truth import MEASURES, Outcome, Row, arguments_of, interval, measure, rate
from rich.console import Console
from rich.table import Table

from eirene.agent.backends import ADVISORY, resolve_backend
from eirene.agent.run import arefine
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.alignment import comparison as comparing
from eirene.critique import Critique, TaggedSentence
from eirene.encoder import load_encoder
from eirene.eval.alignment import AlignmentDetector
from eirene.eval.rouge import RougeDetector
from eirene.feedback_model import judgement
from eirene.feedback_model.embedded import EmbeddedFeedback
from eirene.records import Item, Record
from eirene.refiners.base import RefineTask
from eirene.refiners.embedded import EmbeddedRefiner
from eirene.sentences import split_sentences
from eirene.usage import Meter

console = Console(width=110)
CURVE = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98]


def main() -> None:
    args = parse_arguments()
    encoder = load_encoder(args.encoder, threads=args.threads)
    if args.tune:
        tune(read_rows(args.data / "mixed_train.jsonl", args.claims), encoder, write=args.write)
        return
    rows = read_rows(args.data / f"mixed_{args.split}.jsonl", args.claims)
    if args.curves:
        write_curves(args.curves, rows, encoder)
        return
    settings = Settings.of(samples=args.samples, seed=args.seed)
    start = time.perf_counter()
    if args.no_gate:
        point = judgement.load_operating_point()
        outcomes, statuses = [critic_alone(row, compared(row, encoder), point, encoder) for row in rows], {}
    else:
        records = asyncio.run(run_loop(rows, parts_with(encoder, args.encoder is None), settings))
        outcomes = [measure(row, record.answer) for row, record in zip(rows, records, strict=True)]
        statuses = {s: sum(r.status == s for r in records) for s in sorted({r.status for r in records})}
    seconds = time.perf_counter() - start
    report = summary(outcomes) | {"statuses": statuses, "seconds": round(seconds, 1), "encoder": encoder.digest}
    show(report, f"mixed_{args.split}")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--split", default="dev", choices=["dev", "train"])
    parser.add_argument("--encoder", type=Path, help="folder of an encoder (default: the shipped one)")
    parser.add_argument("--claims", type=Path, help="file with the ids of the claims to use, one a line")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--no-gate", action="store_true", help="critic and refiner alone: no vote, no gate")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--curves", type=Path)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--write", action="store_true", help="with --tune: freeze the choice in the package")
    return parser.parse_args()


def read_rows(file: Path, claims: Path | None) -> list[Row]:
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    wanted = None if claims is None else {int(line) for line in claims.read_text().split()}
    return [row for row in rows if wanted is None or row["claim_id"] in wanted]


def item_of(row: Row) -> Item:
    given = [{"name": s, "arguments": [a["text"] for a in row[f"{s}_arguments"]]} for s in ("pro", "con")]
    return Item(id=row["id"], question=row["query"], answer=row["response"], perspectives=given)


def parts_with(encoder: Any, shipped: bool) -> Parts:
    if shipped:
        return resolve_backend("embedded")
    detectors = (RougeDetector(), AlignmentDetector(encoder))
    return Parts(
        backend="embedded",
        feedback_model=EmbeddedFeedback(encoder),
        refiner=EmbeddedRefiner(encoder),
        detectors=detectors,
        advisory=ADVISORY,
        version=encoder.digest,
    )


async def run_loop(rows: Sequence[Row], parts: Parts, settings: Settings) -> list[Record]:
    return [await arefine(item_of(row), backend=parts, settings=settings) for row in rows]


def compared(row: Row, encoder: Any) -> comparing.Comparison:
    found = comparing.compare(item_of(row), row["response"], encoder)
    assert found is not None
    return found


def critic_alone(row: Row, comparison: comparing.Comparison, point: judgement.OperatingPoint, encoder: Any) -> Outcome:
    """The outcome where every fault above its threshold is acted on, with no vote and no gate."""
    return measure(row, rewritten(row, comparison, point, encoder))


def rewritten(row: Row, comparison: comparing.Comparison, point: judgement.OperatingPoint, encoder: Any) -> str:
    faults = [f for f in judgement.faults_of(comparison, point) if f.margin > 0]
    tagged = []
    for i, s in enumerate(comparison.alignment.sentences):
        here = [f for f in faults if f.sentence == i]
        tagged.append(TaggedSentence(
            n=s.n, text=s.text, start=s.text_start, end=s.text_end, tag="Incomplete" if here else "Complete",
            reason=" ".join(f.reason for f in here) or None, findings=tuple(x for f in here for x in f.findings),
        ))  # fmt: skip
    critique = Critique(sentences=tuple(tagged), tag_consistency=None, reason_consistency=None,
                        n_drawn=0, n_valid=0, n_requested=0)  # fmt: skip
    task = RefineTask(item_of(row), row["response"], "fine-grained", critique, (), 0)
    return asyncio.run(EmbeddedRefiner(encoder).refine(task, meter=Meter()))


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Every measure with its interval, and by error type."""
    return {
        "n": len(outcomes),
        "claims": len({o.claim for o in outcomes}),
        "measures": {m: {"percent": rate(outcomes, m), "interval": interval(outcomes, m),
                         "of": sum(o.counts[m][1] for o in outcomes)} for m in MEASURES},
        "errors": {"before": sum(o.before for o in outcomes), "after": sum(o.after for o in outcomes)},
        "by_error_type": {kind: {m: rate([o for o in outcomes if o.kind == kind], m) for m in MEASURES}
                          for kind in sorted({o.kind for o in outcomes})},
    }  # fmt: skip


def show(report: dict[str, Any], title: str) -> None:
    table = Table(title=f"The whole loop on {title}: {report['n']} answers, {report['claims']} claims")
    for column in ("measure", "%", "95 % interval", "of", "wanted", ""):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for name, (label, target, bound) in MEASURES.items():
        found = report["measures"][name]
        value, limits = found["percent"], found["interval"]
        met = "" if target is None or value is None else (value >= target if bound == "at least" else value <= target)
        table.add_row(label, shown(value), "-" if limits is None else f"{limits[0]:.1f} to {limits[1]:.1f}",
                      str(found["of"]), f"{bound} {target}" if target else "", {True: "met", False: "missed"}.get(met, ""))  # fmt: skip
    console.print(table)
    kinds = Table(title="By error type (%)")
    kinds.add_column("")
    for kind in report["by_error_type"]:
        kinds.add_column(kind.replace("_", " "), justify="right")
    for name in MEASURES:
        kinds.add_row(MEASURES[name][0], *(shown(v[name]) for v in report["by_error_type"].values()))
    console.print(kinds)
    console.print({k: report[k] for k in ("errors", "statuses", "seconds", "encoder")})


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def sweep(
    rows: Sequence[Row],
    compared_rows: Sequence[comparing.Comparison],
    points: Iterable[judgement.OperatingPoint],
    encoder: Any,
) -> Iterable[tuple[judgement.OperatingPoint, list[Outcome]]]:
    known: dict[tuple[str, str], Outcome] = {}
    for point in points:
        outcomes = []
        for row, comparison in zip(rows, compared_rows, strict=True):
            final = rewritten(row, comparison, point, encoder)
            key = (row["id"], final)
            if key not in known:
                known[key] = measure(row, final)
            outcomes.append(known[key])
        yield point, outcomes


def write_curves(out: Path, rows: Sequence[Row], encoder: Any) -> None:
    """One line a threshold, one threshold varied at a time, to CSV and (with matplotlib) to PNG."""
    base = judgement.load_operating_point()
    found = [compared(row, encoder) for row in rows]
    lines = []
    for name in ("missing", "unsupported"):
        for point, outcomes in sweep(rows, found, (replace(base, **{name: t}) for t in CURVE), encoder):
            lines.append({"varied": name, "threshold": getattr(point, name),
                          **{m: rate(outcomes, m) for m in MEASURES}})  # fmt: skip
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    draw(out.with_suffix(".png"), lines, base)


def draw(out: Path, lines: Sequence[dict[str, Any]], base: judgement.OperatingPoint) -> None:
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
        axis.set(xlabel=f"{MEASURES[wrong][0]} (%)", ylabel="%", ylim=(0, 100), xlim=(0, 30),
                 title=f"threshold for `{varied}` from {CURVE[0]} to {CURVE[-1]}; shipped {getattr(base, varied):g}")  # fmt: skip
        axis.legend()
    figure.tight_layout()
    figure.savefig(out, dpi=120)


def tune(rows: Sequence[Row], encoder: Any, *, write: bool) -> None:
    """Chooses the thresholds with the fewest errors left, among those that harm little on these (training) claims."""
    found = [compared(row, encoder) for row in rows]
    base = judgement.load_operating_point()
    grid = itertools.product(
        [0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7], [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8]
    )
    points = [replace(base, missing=m, unsupported=u) for m, u in grid]
    table = Table(title=f"{len(rows)} training answers, {len({r['claim_id'] for r in rows})} claims")
    for column in ("missing", "unsupported", "errors after", *MEASURES):
        table.add_column(column, justify="right")
    best: tuple[float, judgement.OperatingPoint] | None = None
    for point, outcomes in sweep(rows, found, points, encoder):
        rates = {m: rate(outcomes, m) or 0.0 for m in MEASURES}
        left = sum(o.after for o in outcomes)
        harmless = rates["lost"] <= 4 and rates["added_present"] <= 4 and rates["worse"] <= 4
        mark = "*" if harmless else ""
        table.add_row(
            f"{point.missing:g}", f"{point.unsupported:g}", f"{left}{mark}", *(shown(r) for r in rates.values())
        )
        if harmless and (best is None or left < best[0]):
            best = left, point
    console.print(table)
    console.print(best)
    if write and best is not None:
        source = f"fewest errors left on {len(rows)} training answers with encoder {encoder.digest}, harm at most 4 %"
        data = asdict(best[1]) | {"source": source}
        Path(judgement.__file__).with_name("operating_point.json").write_text(json.dumps(data, indent=2) + "\n")


if __name__ == "__main__":
    main()
