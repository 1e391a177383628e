"""Thresholds and weights fitted on labels, beside the default threshold 0.5: `benchmarks/results/calibrate.md`.

    python benchmarks/calibrate.py DATA_DIR --rows FOLDER [--seed 0] [--draws 2000] [--write]

DATA_DIR holds `ragtruth_subset`, `qa_feedback` and `npov_perspectrum`; FOLDER keeps the scores, so that a rerun scores
nothing. QA-Feedback and the NPOV answers are what the code was developed on, RAGTruth was run once, at the end. Half of
RAGTruth's sources (and of QA-Feedback's questions) trained the verifier: with it, the others alone are measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import arguments, write_page
from rich.console import Console
from verifier_data import parts

from eirene.agent.experiments.detectors import acalibrate
from eirene.core.signature import signature
from eirene.eval.calibration_fit import CalibrationPlan
from eirene.eval.datasets import Labelled
from eirene.eval.registry import build_detectors
from eirene.eval.resources import Resources
from eirene.views.detectors import fit_verdict, fitted_on, loss_rows
from recipes.labelled import read_set

SETS = {
    "ragtruth": ("RAGTruth (kept aside, run once)", "ragtruth_subset/responses.jsonl"),
    "qa_feedback": ("QA-Feedback (developed on)", "qa_feedback/feedback.jsonl"),
    "npov": ("NPOV answers, mixed_dev (developed on)", "npov_perspectrum/mixed_dev.jsonl"),
}
PLAIN, WITH_VERIFIER = ("rouge", "alignment"), ("rouge", "alignment", "verifier")


def main() -> None:
    """Reads the arguments, fits, writes."""
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    options = parser.parse_args()
    plan = CalibrationPlan(seed=options.seed, draws=options.draws)
    lines = [line for name in SETS for line in section(options.data, name, options.rows, plan)]
    text = "\n".join(lines).rstrip()
    if options.write:
        write_page(Path(__file__).parent / "results" / "calibrate.md", "calibrate.py", text)
    Console().print(text, markup=False)


def section(data: Path, name: str, rows: Path, plan: CalibrationPlan) -> Iterator[str]:
    """The tables of one set: all answers without the verifier, and those that it was not trained on with it."""
    title, file = SETS[name]
    cases = read_set(str(data / file)).cases
    yield from tables(title, cases, PLAIN, rows / name, plan)
    if name != "npov":
        trained = {case.cluster for case in parts(data, name)["train"]}
        unseen = tuple(case for case in cases if case.cluster not in trained)
        yield from tables(f"{title}, what the verifier was not trained on", unseen, WITH_VERIFIER, rows / name, plan)


def tables(
    title: str, cases: tuple[Labelled, ...], detectors: tuple[str, ...], rows: Path, plan: CalibrationPlan
) -> Iterator[str]:
    """A table for each error that was fitted."""
    built = build_detectors(detectors, Resources())
    made = asyncio.run(acalibrate(cases, built, out=rows, plan=plan)).calibration
    versions = ",".join(dict.fromkeys(v for v in made.detectors.values() if v))
    settings = signature(n=len(cases), settings=made.figures["settings"].replace("|", " "), model=versions)
    for error, found in made.figures["errors"].items():
        yield from (f"## {title}: {error}", "", f"{fitted_on(found)}. {fit_verdict(found)}", "")
        yield from table(found, made.errors[error].model_dump(mode="json"), settings)
    for error, why in made.figures["not_fitted"].items():
        yield from (f"{title}: {error} not fitted: {why}.", "")


def table(found: dict[str, Any], fitted: dict[str, Any], settings: str) -> Iterator[str]:
    """The losses, the weights, the settings."""
    yield "| | loss | called wrongly | fit minus this |"
    yield "| --- | --- | --- | --- |"
    yield from (f"| {' | '.join(row)} |" for row in loss_rows(found))
    weights = ", ".join(f"{i['detector']} {i['weight']:.2f}" for i in fitted["inputs"])
    left = "".join(f"; {name} left out: {why}" for name, why in found["left_out"].items())
    yield from ("", f"Weights: {weights}; threshold {fitted['threshold']:.2f} in log odds{left}. `{settings}`", "")


if __name__ == "__main__":
    main()
