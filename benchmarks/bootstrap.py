"""How long intervals take: paired differences, 10,000 draws over 5,000 rows and 10 metrics, and the loop replaced.

python benchmarks/bootstrap.py [--rows 5000] [--metrics 10] [--draws 10000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from eirene.eval.bootstrap import Resamples
from eirene.eval.statistics import paired_differences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--metrics", type=int, default=10)
    parser.add_argument("--draws", type=int, default=10_000)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    a, b = rng.random((args.rows, args.metrics)), rng.random((args.rows, args.metrics))
    holes = a.copy()
    holes[rng.random(a.shape) < 0.1] = np.nan
    for name, left in (("every row scored", a), ("a tenth unscored, other rows in each metric", holes)):
        start = time.perf_counter()
        paired_differences(left, b, range(args.rows), Resamples(draws=args.draws))
        print(f"{name}: {time.perf_counter() - start:.2f} s")
    start, loops = time.perf_counter(), 50
    for _ in range(loops):
        (a - b)[rng.integers(0, args.rows, size=args.rows)].mean(axis=0)
    print(f"a loop of {args.draws:,} draws would take {(time.perf_counter() - start) / loops * args.draws:.1f} s")


if __name__ == "__main__":
    main()
