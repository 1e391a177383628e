"""Fits the constants of the alignment on NPOV training data and writes `constants.json`.

    python benchmarks/fit_alignment.py DATA_DIR [--encoder FOLDER] [--claims FILE] [--out FILE]

DATA_DIR holds `mixed_train.jsonl`. An encoder that was trained on the same claims sees them too well: give one trained
without the claims listed in FILE (a JSON list), and only those are fitted on. Development data is never read.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from npov_cases import Labelled, read_cases
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from eirene.alignment import features
from eirene.alignment.features import Blend, Features, measure
from eirene.clauses import Unit, units_of
from eirene.encoder import Encoder, load_encoder
from eirene.sentences import split_sentences

Rows = list[tuple[NDArray[np.float32], bool]]


def main() -> None:
    """Reads the arguments, fits, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--claims", type=Path)
    parser.add_argument("--temperature", type=float, default=0.07)
    parser.add_argument("--words", type=float, default=0.3)
    parser.add_argument("--out", type=Path, default=Path("eirene/alignment/constants.json"))
    options = parser.parse_args()
    encoder = load_encoder(options.encoder)
    wanted = set(json.loads(options.claims.read_text("utf-8"))) if options.claims else None
    cases = [c for c in read_cases(options.data / "mixed_train.jsonl") if wanted is None or c.claim in wanted]
    constants = fit(cases, encoder, blend=Blend(words=options.words, temperature=options.temperature))
    options.out.write_text(json.dumps(constants, indent=2) + "\n", "utf-8")
    print(f"{options.out}: fitted on {len(cases)} answers, {len({c.claim for c in cases})} claims")


def fit(cases: list[Labelled], encoder: Encoder, *, blend: Blend) -> dict[str, object]:
    """All constants, as the file holds them."""
    says: Rows = []
    missing: Rows = []
    unsupported: Rows = []
    claimless: Rows = []
    for case in cases:
        units, found = measured(case, encoder, blend)
        missing += zip(found.missing(), case.missing, strict=True)
        for u, (unit, labels) in enumerate(zip(units, atom_labels(case, units), strict=True)):
            if labels is None:
                continue
            argument, is_unsupported, is_claimless = labels
            claimless.append((found.claimless()[u], is_claimless))
            if is_claimless:
                continue
            unsupported.append((found.unsupported()[u], is_unsupported))
            says += [(found.says()[a, u], a == argument) for a in range(len(case.missing))]
    return {
        "encoder": encoder.digest,
        "temperature": blend.temperature,
        "words": blend.words,
        "bearing": 0.35,
        "says": logistic(says, features.SAYS),
        "missing": logistic(missing, features.MISSING),
        "unsupported": logistic(unsupported, features.UNSUPPORTED),
        "claimless": logistic(claimless, features.CLAIMLESS, strength=1.0),
    }


def measured(case: Labelled, encoder: Encoder, blend: Blend) -> tuple[tuple[Unit, ...], Features]:
    """Units and measures of a case's answer."""
    given = case.case.given.arguments
    units = units_of(case.case.answer, split_sentences(case.case.answer))
    found = measure(
        given, [unit.text for unit in units], encoder, question=case.case.question, evidence=None, blend=blend
    )
    return units, found


def atom_labels(case: Labelled, units: tuple[Unit, ...]) -> list[tuple[int | None, bool, bool] | None]:
    """For each unit: the argument it says, whether it is unsupported, whether it claims nothing; None for what is mixed."""
    cut = {unit.sentence for unit in units if unit.is_clause}
    labels: list[tuple[int | None, bool, bool] | None] = []
    for unit in units:
        parts = case.parts_at(unit.start, unit.end)
        if (unit.sentence in cut and not unit.is_clause) or parts is None or len(parts) > 1:
            labels.append(None)
        elif not parts:
            labels.append((None, False, True))
        else:
            labels.append((parts[0].argument, parts[0].unsupported, False))
    return labels


def logistic(rows: Rows, names: tuple[str, ...], *, strength: float = 10.0) -> dict[str, object]:
    """A logistic regression as the constants file holds it; `strength` is the inverse of the regularisation."""
    model = LogisticRegression(C=strength).fit(np.array([x for x, _ in rows]), [y for _, y in rows])
    weights = {name: round(float(w), 4) for name, w in zip(names, model.coef_[0], strict=True)}
    return {"weights": weights, "bias": round(float(model.intercept_[0]), 4)}


if __name__ == "__main__":
    main()
