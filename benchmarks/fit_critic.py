"""Fits the embedded critic on NPOV training claims and writes `critic.json`: probabilities, then the operating point.

    python benchmarks/fit_critic.py DATA_DIR --fold ENCODER CLAIMS [--fold ...] --passages QA_DIR [--out FILE]

DATA_DIR holds `mixed_train.jsonl`. An encoder that was trained on the same claims sees them too well, so each fold is
an encoder's folder and a JSON list of claims that were kept out of its training. Development data is never read. The
operating point is the one with the fewest true errors left after critic and refiner, among those that keep every harm
under `HARM`.

QA_DIR holds QA-Feedback's `feedback.jsonl`: the function for passages is fitted on one half of its questions, with the
shipped encoder; its threshold is set by hand (START).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from harness import arguments, logistic
from loop_parts import Outcomes, Prepared, prepare, read_rows
from loop_truth import MEASURES, Outcome, rate
from npov_cases import labelled
from qa_cases import prepare_qa, read_qa
from rich.console import Console
from rich.table import Table

from eirene.feedback_model.embedded import evidence
from eirene.feedback_model.embedded.evidence import Critic, OperatingPoint, parse_critic
from eirene.models.encoder import load_encoder
from recipes.verifier.splits import fitted_on

HARM = {"lost": 4.0, "added_present": 4.0, "worse": 4.5}
"""Percent; the wanted limits are 5, and what is chosen on some claims does a little worse on others."""

START = OperatingPoint(
    missing=0.5,
    restated=0.5,
    unsupported=0.5,
    repeated=0.9,
    misplaced=0.95,
    passage_unsupported=0.65,
    temperature=0.25,
    coherence=0.5,
)
GRID = {
    "missing": [0.5, 0.55, 0.6, 0.65],
    "restated": [0.4, 0.5, 0.6],
    "unsupported": [0.35, 0.4, 0.45, 0.5],
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--fold", nargs=2, type=Path, action="append", required=True, metavar=("ENCODER", "CLAIMS"))
    parser.add_argument("--passages", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("eirene/feedback_model/embedded/critic.json"))
    options = parser.parse_args()
    prepared: list[Prepared] = []
    for folder, claims in options.fold:
        prepared += prepare(read_rows(options.data / "mixed_train.jsonl", claims), load_encoder(folder, threads=1))
    data = fitted(prepared) | fitted_to_passages(options.passages) | {"operating_point": asdict(START)}
    point, outcomes = chosen(prepared, parse_critic(data))
    data["operating_point"] = asdict(point)
    n_claims = len({p.row["claim_id"] for p in prepared})
    data["source"] = (
        f"mixed_train, {len(prepared)} answers of {n_claims} claims kept out of the encoders' training; "
        "passages: one half of QA-Feedback"
    )
    options.out.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    Console().print({m: rate(outcomes, m) for m in MEASURES}, point)


def fitted(prepared: Sequence[Prepared]) -> dict[str, Any]:
    """The three logistic functions, as the file holds them."""
    missing: list[tuple[Any, bool]] = []
    unsupported: list[tuple[Any, bool]] = []
    claimless: list[tuple[Any, bool]] = []
    for p in prepared:
        absent = {" ".join(a["text"].split()) for a in given(p) if a["id"] in p.row["missing_argument_ids"]}
        measures = p.evidence.missing(np.ones(len(p.evidence.atoms), bool))
        missing += [(m, a in absent) for m, a in zip(measures, p.comparison.alignment.arguments, strict=True)]
        for n, kind in enumerate(kinds(p)):
            if kind is not None:
                claimless.append((p.evidence.claimless[n], kind == "claimless"))
            if kind not in (None, "claimless", "repeated"):
                unsupported.append((p.evidence.unsupported[n], str(kind).startswith("unsupported")))
    return {
        "missing": logistic(missing, evidence.MISSING, strength=10.0),
        "unsupported": logistic(unsupported, evidence.UNSUPPORTED, strength=10.0),
        "claimless": logistic(claimless, evidence.CLAIMLESS, strength=10.0),
    }


def fitted_to_passages(folder: Path) -> dict[str, Any]:
    """The logistic function for passages."""
    unsupported: list[tuple[Any, bool]] = []
    for case in prepare_qa([row for row in read_qa(folder) if fitted_on(row)], load_encoder()):
        p = np.clip(case.comparison.alignment.p_unsupported[list(case.evidence.atoms)], 1e-9, 1 - 1e-9)
        unsupported += zip(np.log(p / (1 - p))[:, None], case.part_is_unsupported, strict=True)
    return {"passage_unsupported": logistic(unsupported, evidence.PASSAGE_UNSUPPORTED, strength=10.0)}


def given(p: Prepared) -> list[dict[str, Any]]:
    return [*p.row["pro_arguments"], *p.row["con_arguments"]]


def kinds(p: Prepared) -> list[str | None]:
    """For each part of the answer its kind by construction, `claimless` for fillers, None where parts are mixed."""
    case = labelled(dict(p.row))
    found: list[str | None] = []
    for u in p.evidence.atoms:
        unit = p.comparison.alignment.units[u]
        parts = case.parts_at(unit.start, unit.end)
        found.append(None if parts is None or len(parts) > 1 else parts[0].kind if parts else "claimless")
    return found


def chosen(prepared: Sequence[Prepared], critic: Critic) -> tuple[OperatingPoint, list[Outcome]]:
    """The thresholds of `GRID`; prints what each choice would have done."""
    outcomes = Outcomes(prepared)
    table = Table(title=f"{len(prepared)} training answers: * harm within limits")
    for column in (*GRID, "errors left", *MEASURES):
        table.add_column(column, justify="right")
    best: tuple[tuple[int, float], OperatingPoint, list[Outcome]] | None = None
    for values in itertools.product(*GRID.values()):
        point = replace(critic.point, **dict(zip(GRID, values, strict=True)))
        found = outcomes.under(replace(critic, point=point))
        rates = {m: rate(found, m) or 0.0 for m in MEASURES}
        left = sum(o.after for o in found)
        harmless = all(rates[m] <= limit for m, limit in HARM.items())
        shown = [f"{r:.1f}" for r in rates.values()]
        table.add_row(*(f"{v:g}" for v in values), f"{left}{'*' if harmless else ''}", *shown)
        if harmless and (best is None or (left, rates["worse"]) < best[0]):
            best = (left, rates["worse"]), point, found
    Console(width=200).print(table)
    if best is None:
        raise SystemExit("no thresholds keep the harm within its limits; nothing is written")
    return best[1], best[2]


if __name__ == "__main__":
    main()
