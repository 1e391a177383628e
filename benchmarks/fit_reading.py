"""Fits the risk of a sentence (`eirene.verification.judging`): verifier and words against what people marked.

    python benchmarks/fit_reading.py SHARED_DATA

SHARED_DATA holds `qa_feedback` and `ragtruth_subset`: of both the part is read that `recipes.verifier` leaves for
fitting. Prints the constants, the AUC with and without words, and for thresholds of risk (`FAULTED` of
`eirene.feedback_model.embedded.reading`) and of support (those of `removals`) how many sentences beyond them are faulty
(precision), of how many (recall), and how many of the sound ones are beyond them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from harness import arguments
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from eirene.agent.backends import shipped_verifier
from eirene.eval.datasets.annotated import Annotated
from eirene.models.verifier.runtime import Verifier
from eirene.verification.claims import claim_of, claims_nothing
from eirene.verification.context import ClaimReading, ContextReader
from recipes.verifier.splits import ANSWERS, label_of, parts

Row = tuple[ClaimReading, bool]
"""A reading, and whether people marked the sentence."""
Floats = NDArray[np.float64]


def rows_of(cases: Sequence[Annotated], verifier: Verifier) -> Iterator[Row]:
    """A row for every sentence that claims something."""
    for case in cases:
        sentences = [s for s in case.sentences if s.text and claims_nothing(s.text) is None]
        readings = ContextReader(verifier, case.item.context or ()).read([claim_of(s.text) for s in sentences])
        for sentence, reading in zip(sentences, readings, strict=True):
            yield reading, label_of(case, sentence) != "supported"


def features(rows: Sequence[Row]) -> Floats:
    """The log odds against support, and what was seen without reading, [n, 4]."""
    support = np.clip([r.supported for r, _ in rows], 1e-4, 1 - 1e-4)
    return np.stack(
        [
            np.log((1 - support) / support),
            *(np.array([getattr(r, name) for r, _ in rows]) for name in ("cosine", "words", "words_anywhere")),
        ],
        axis=1,
    )


def report(name: str, values: Floats, truth: NDArray[np.bool_], thresholds: Sequence[float]) -> None:
    """Sentences at or above thresholds."""
    for least in thresholds:
        above = values >= least
        found, sound = (above & truth).sum(), (above & ~truth).sum()
        print(f"   {name} >= {least:g}: {above.sum()}, precision {found / max(above.sum(), 1):.2f}, "
              f"recall {found / truth.sum():.2f}, of the sound {sound / (~truth).sum():.3f}")  # fmt: skip


def main() -> None:
    parser = arguments(__doc__)
    args = parser.parse_args()
    verifier = shipped_verifier()
    by_set = {name: list(rows_of(parts(args.data, name)["fit"], verifier)) for name in ANSWERS}
    everything = [row for rows in by_set.values() for row in rows]
    fit = LogisticRegression(C=10).fit(features(everything), [marked for _, marked in everything])
    print("support, cosine, words, words anywhere, bias:", *np.round([*fit.coef_[0], fit.intercept_[0]], 3))
    for name, rows in by_set.items():
        truth = np.array([marked for _, marked in rows])
        risk = fit.predict_proba(features(rows))[:, 1]
        unsupported = 1.0 - np.array([r.supported for r, _ in rows])
        areas = (roc_auc_score(truth, values) for values in (unsupported, risk))
        print(name, f"n {len(rows)}, faulty {truth.sum()}, AUC of support {{:.3f}}, of risk {{:.3f}}".format(*areas))
        report("risk", risk, truth, (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8))
        report("1 - support", unsupported, truth, (0.65, 0.75, 0.85, 0.92, 0.95, 0.97))


if __name__ == "__main__":
    main()
