"""Fits how fast a sentence's log odds of being faulty rise as the verifier supports it less, for the critic's draws.

    python benchmarks/fit_reading.py SHARED_DATA [--verifier FOLDER]

SHARED_DATA holds `qa_feedback`, of which the half that constants may be fitted on is read, and `ragtruth_subset`, whose
answers to questions are shown beside it. Prints the slope (`SPREAD` of `eirene.feedback_model.embedded.reading`), the
AUC, and for thresholds of support how many sentences below them are faulty (precision) of how many (recall).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from qa_cases import fitted_on, is_faulty, item_of_qa, read_qa
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from eirene.models.encoder import load_encoder
from eirene.models.verifier.runtime import Verifier, load_verifier
from eirene.text.sentences import split_sentences
from eirene.verification.claims import claim_of, claims_nothing
from eirene.verification.context import ContextReader

Row = tuple[float, float, bool]
"""Support, contradiction, and whether people marked the sentence."""


def of_qa_feedback(folder: Path, verifier: Verifier) -> Iterator[Row]:
    for row in filter(fitted_on, read_qa(folder)):
        item = item_of_qa(row)
        yield from rows_of(item.answer, item.context or [], lambda a, b, r=row: is_faulty(r, a, b), verifier)


def of_ragtruth(folder: Path, verifier: Verifier, task: str) -> Iterator[Row]:
    sources = {r["source_id"]: r for r in map(json.loads, (folder / "sources.jsonl").read_text("utf-8").splitlines())}
    for row in map(json.loads, (folder / "responses.jsonl").read_text("utf-8").splitlines()):
        if row["task"] == task:
            source = sources[row["source_id"]]["source"]
            text = source["passages"] if isinstance(source, dict) else source
            passages = [re.sub(r"^passage \d+:", "", p).strip() for p in text.split("\n\n")]
            marked = [(m["start"], m["end"]) for m in row["labels"]]
            yield from rows_of(
                row["response"],
                [p for p in passages if p],
                lambda a, b, m=marked: any(s < b and a < e for s, e in m),
                verifier,
            )


def rows_of(answer: str, passages: list[str], faulty, verifier: Verifier) -> Iterator[Row]:  # type: ignore[no-untyped-def]
    sentences = [s for s in split_sentences(answer) if s.text and claims_nothing(s.text) is None]
    readings = ContextReader(verifier, passages).read([claim_of(s.text) for s in sentences])
    for sentence, reading in zip(sentences, readings, strict=True):
        yield reading.supported, reading.contradicted, faulty(sentence.text_start, sentence.text_end)


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
    report("QA-Feedback", list(of_qa_feedback(args.data / "qa_feedback", verifier)))
    report("RAGTruth, questions", list(of_ragtruth(args.data / "ragtruth_subset", verifier, "qa")))


if __name__ == "__main__":
    main()
