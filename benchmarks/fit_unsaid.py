"""Fits what an answer leaves out (`eirene.verification.unsaid`) on passage sentences that people missed.

    python benchmarks/fit_unsaid.py SHARED_DATA [--out FILE]

SHARED_DATA holds `qa_feedback`. The logistic regression is fitted on the parts `train` and `fit` of `recipes.verifier`.
Printed are its AUC there (ten folds by question) and on the part `report`: of all sentences of the passages, of those
that `alignment` takes to bear on the question, and for each question by itself; and for thresholds how many of the
sentences named were missed. Intervals: 95 %, bootstrap over questions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness import Row, area, arguments, logistic, show, shown
from loop_truth import words
from numpy.typing import NDArray
from qa_cases import item_of_qa, missing_sentences, read_qa
from sklearn.metrics import roc_auc_score

from eirene.alignment.align import Logistic
from eirene.alignment.comparison import bearing_sentences
from eirene.models.verifier.runtime import shipped_verifier
from eirene.verification.context import ContextReader
from eirene.verification.unsaid import MEASURES, MOST, unsaid_measures
from recipes.verifier.splits import parts

FOLDS, STRENGTH = 10, 10.0
Floats = NDArray[np.float64]
Measures = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Sentences:
    """Passage sentences with their measures, whether people missed them, whether they bear on the question, and which
    question that is."""

    measures: Measures
    missed: Flags
    bears: Flags
    question: NDArray[np.int64]

    def of(self, rows: Flags) -> Sentences:
        """Some of them."""
        return Sentences(self.measures[rows], self.missed[rows], self.bears[rows], self.question[rows])


def sentences_of(rows: list[Row]) -> Sentences:
    """All sentences of the passages of some rows."""
    measures, missed, bears, question = [], [], [], []
    for n, row in enumerate(rows):
        item = item_of_qa(row)
        reader = ContextReader(shipped_verifier(), item.context or ())
        texts, wanted = [piece.text for piece in reader.pieces], [words(text) for text in missing_sentences(row)]
        near = set(bearing_sentences(item.context or (), item.question, reader.encoder))
        measures.append(unsaid_measures(item.question, item.answer, reader))
        missed += [any(words(t) in m or m in words(t) for m in wanted) for t in texts]
        bears += [text in near for text in texts]
        question += [n] * len(texts)
    return Sentences(np.concatenate(measures), np.array(missed), np.array(bears), np.array(question))


def fitted(data: Sentences) -> tuple[Logistic, dict[str, object]]:
    """The function, and as the file holds it."""
    found = logistic(list(zip(data.measures, data.missed, strict=True)), MEASURES, strength=STRENGTH)
    return Logistic.read({"unsaid": found}, "unsaid", MEASURES, file="this fit"), {"unsaid": found}


def row_of(name: str, data: Sentences, scores: Floats) -> tuple[str, ...]:
    """AUC of all, of those that bear on the question, and the mean over questions."""
    every = area(data.missed.tolist(), scores.tolist(), data.question.tolist())
    near = area(data.missed[data.bears].tolist(), scores[data.bears].tolist(), data.question[data.bears].tolist())
    own = [data.question == n for n in np.unique(data.question[data.missed])]
    each = [roc_auc_score(data.missed[q], scores[q]) for q in own if not data.missed[q].all()]
    return name, shown(every), str(every.n), shown(near), str(near.n), f"{np.mean(each):.3f}"


def named(data: Sentences, p: Floats, least: float) -> tuple[str, ...]:
    """How many would be named at a threshold, and how many of these people had missed."""
    kept = np.zeros(len(p), bool)
    for n in np.unique(data.question):
        rows = np.flatnonzero(data.question == n)
        best = rows[np.argsort(-p[rows])[:MOST]]
        kept[best[p[best] >= least]] = True
    answers, hits = (len(np.unique(data.question[rows])) for rows in (kept, kept & data.missed))
    right = int((kept & data.missed).sum())
    share = f"{right / max(kept.sum(), 1):.2f}"
    return f"{least:g}", str(kept.sum()), str(answers), share, f"{right / data.missed.sum():.2f}", str(hits)


def main() -> None:
    """Fits, writes and prints."""
    parser = arguments(__doc__)
    parser.add_argument("--out", type=Path, default=Path("eirene/verification/unsaid.json"))
    args = parser.parse_args()
    report = {case.item.id for case in parts(args.data, "qa_feedback")["report"]}
    rows = read_qa(args.data / "qa_feedback")
    known = sentences_of([row for row in rows if str(row["id"]) not in report])
    apart = sentences_of([row for row in rows if str(row["id"]) in report])
    folds = np.random.default_rng(0).integers(FOLDS, size=known.question.max() + 1)[known.question]
    p = np.zeros(len(folds))
    for k in range(FOLDS):
        fold = folds == k
        p[fold] = fitted(known.of(~fold))[0](known.measures[fold])
    fit, content = fitted(known)
    args.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    of_report = fit(apart.measures)
    show("AUC: a passage sentence that people missed", ("", "all", "of", "bearing", "of", "by question"), [
        row_of("folds", known, p), row_of("report", apart, of_report),
    ])  # fmt: skip
    for name, data, chances in (("folds", known, p), ("report", apart, of_report)):
        title = f"named, {name}: {data.question.max() + 1} answers, {data.missed.sum()} missed"
        columns = ("least P", "named", "in answers", "precision", "recall", "answers with a missed one")
        show(title, columns, [named(data, chances, least) for least in (0.1, 0.15, 0.2, 0.25, 0.3, 0.35)])


if __name__ == "__main__":
    main()
