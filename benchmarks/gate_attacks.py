"""What the gate lets through: rewrites that are clearly worse, tried by the thousand.

    python benchmarks/gate_attacks.py DATA [--limit 50] [--workers 2] [--json OUT]
    python benchmarks/gate_attacks.py DATA --kinds "one negation; verdict" --settings "alone" --limit 10
    python benchmarks/gate_attacks.py DATA --examples "one negation"
    python benchmarks/gate_attacks.py --rows MINE.jsonl

DATA holds the folders `npov_perspectrum` and `qa_feedback`. Every attack is tried alone and together with what the
answer lacks, as a good refiner would add it; whether the harm and the gain stand in the answer that is shown is told
from the texts, never from what the gate says. Wordings come from a file that no check has seen (`--wordings FILE`).
`--journal FILE` keeps the trials, so that the same command goes on where it was stopped. What becomes of rewrites that
are to be taken is measured on people's own (`human_edits.py`).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gate.kinds import ATTACKS
from gate.report import above, family_rows, kind_rows, summary
from gate.runs import Plan, Task, examples, run_all
from gate.trials import SETTINGS
from gate.wordings import DEV
from harness import Journal, show, write_json


def main() -> None:
    """Reads the arguments, runs, prints, writes."""
    args = parse_arguments()
    data, rows = (None if path is None else str(path) for path in (args.data, args.rows))
    plan = Plan(data, rows, str(args.wordings), args.seed, args.limit)
    settings = chosen(args.settings, SETTINGS)
    kinds = chosen(args.kinds, ATTACKS)
    if args.examples:
        show_examples(plan, args.examples, settings)
        return
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(args.journal or Path(folder, "trials.jsonl"))
        report = summary(run_all(plan, kinds, settings, workers=args.workers, journal=journal))
    show_tables(report)
    write_json(args.json, report | {"limit": plan.limit, "seed": plan.seed, "wordings": args.wordings.name})


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--rows", type=Path, help="JSONL of your own items, as `eirene refine` reads them")
    parser.add_argument("--kinds", help="names of kinds, with semicolons between them (default: all)")
    parser.add_argument("--settings", help="names of settings, with semicolons between them (default: all)")
    parser.add_argument("--wordings", type=Path, default=DEV)
    parser.add_argument("--limit", type=int, default=50, help="rows a kind and setting")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--examples", metavar="KIND", help="print what becomes of a few rows (--limit) of a kind")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.data is None and args.rows is None:
        parser.error("give DATA, or --rows FILE, or both")
    return args


def chosen(names: str | None, known: Iterable[str]) -> list[str]:
    """The names that are wanted; ends the program for one that is not known."""
    wanted = list(known) if names is None else [name.strip() for name in names.split(";")]
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; known: {'; '.join(known)}")
    return wanted


def show_tables(report: dict[str, Any]) -> None:
    """The tables of families and kinds, and what survives too often."""
    settings = report["settings"]
    show("Survives in the shown answer", ["family", "at most", *settings], family_rows(report), width=220)
    show("By kind", ["kind", "how", *settings, "gain kept"], kind_rows(report), width=220)
    print("Above what is wanted:", *above(report), sep="\n  ")


def show_examples(plan: Plan, kind: str, settings: Iterable[str]) -> None:
    """Before, rewrite, shown answer and reason for a few rows of a kind in each setting."""
    for setting in settings:
        for found in examples(plan, Task(kind, setting)):
            trial = found.trial
            told = {"survives": trial.survives, "gain": trial.gain}
            print(f"\n== {kind} | {setting} | {trial.row} | {told}\nbefore:  {found.before}\nrewrite: {found.rewrite}")
            print(f"shown:   {found.shown}\nwhy:     {trial.why}")


if __name__ == "__main__":
    main()
