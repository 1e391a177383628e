"""Fits how fast a sentence's log odds of being faulty rise as the verifier supports it less, for the critic's draws.

    python benchmarks/fit_reading.py SHARED_DATA [--verifier FOLDER]

SHARED_DATA holds `qa_feedback` and `ragtruth_subset`: of both the part is read that `verifier_data.py` leaves for
fitting. Prints the slope (`SPREAD` of `eirene.feedback_model.embedded.reading`), the AUC, and for thresholds of support
how many sentences below them are faulty (precision) of how many (recall).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from verifier_data import ANSWERS, label_of, parts

from eirene.eval.datasets.annotated import Annotated
from eirene.models.encoder import load_encoder
from eirene.models.verifier.runtime import Verifier, load_verifier
from eirene.verification.claims import claim_of, claims_nothing
from eirene.verification.context import ContextReader

Row = tuple[float, float, bool]
"""Support, contradiction, and whether people marked the sentence."""


def rows_of(cases: Sequence[Annotated], verifier: Verifier) -> Iterator[Row]:
    """A row for every sentence that claims something."""
    for case in cases:
        sentences = [s for s in case.sentences if s.text and claims_nothing(s.text) is None]
        readings = ContextReader(verifier, case.item.context or ()).read([claim_of(s.text) for s in sentences])
        for sentence, reading in zip(sentences, readings, strict=True):
            yield reading.supported, reading.contradicted, label_of(case, sentence) != "supported"


def report(name: str, rows: list[Row]) -> None:
    support, contradicted = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    truth = np.array([r[2] for r in rows])
    odds = np.log(np.clip(1 - support, 1e-6, 1) / np.clip(support, 1e-6, 1))
    fit = LogisticRegression(C=1e6).fit(odds[:, None], truth)
    auc = roc_auc_score(truth, 1 - support)
    print(f"{name}: n {len(rows)}, faulty {truth.sum()}, AUC {auc:.3f}, slope {fit.coef_[0][0]:.3f}, "
          f"half at support {1 / (1 + np.exp(-fit.intercept_[0] / fit.coef_[0][0])):.3f}")  # fmt: skip
    for most in (0.02, 0.05, 0.08, 0.12, 0.2, 0.25, 0.35, 0.5):
        for least in (0.0, 0.5):
            below = (support <= most) & (contradicted >= least)
            print(f"   support <= {most}, contradicted >= {least}: {below.sum()}, "
                  f"precision {truth[below].mean():.2f}, recall {truth[below].sum() / truth.sum():.2f}, "
                  f"of the sound {(below & ~truth).sum() / (~truth).sum():.3f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--verifier", type=Path)
    args = parser.parse_args()
    verifier = load_verifier(load_encoder(), args.verifier)
    for name in ANSWERS:
        report(name, list(rows_of(parts(args.data, name)["fit"], verifier)))


if __name__ == "__main__":
    main()
