"""10,000 bootstrap draws over 5,000 rows: ten means, and the ranking metrics of a feedback model.

python benchmarks/bootstrap.py
"""

from __future__ import annotations

import time

import numpy as np

from eirene.eval.metrics.bootstrap import Metric, Resamples, means
from eirene.eval.metrics.ranking import auc_and_ap, spearman

ROWS, SENTENCES = 5_000, 30_000


def main() -> None:
    """Times each metric alone, resamples drawn anew, and prints."""
    rng = np.random.default_rng(0)
    row_of = rng.integers(0, ROWS, SENTENCES).tolist()
    shares, labels = np.round(rng.random(SENTENCES) * 20) / 20, rng.random(SENTENCES) < 0.3
    x, y = np.round(rng.random((2, ROWS)), 2)
    metrics: dict[str, Metric] = {
        "10 means": means(rng.random((ROWS, 10))),
        f"ROC AUC and AP of {SENTENCES:,} sentences": auc_and_ap(ROWS, row_of, shares.tolist(), labels.tolist()),
        "rank correlation": spearman(x, y),
    }
    for name, metric in metrics.items():
        started = time.perf_counter()
        Resamples(draws=10_000).estimate(ROWS, metric)
        print(f"{name:42} {time.perf_counter() - started:6.2f} s")


if __name__ == "__main__":
    main()
