"""What early stopping saves and what it costs, on simulated votes: mean draws of 20, agreement with all 20.

    python benchmarks/stopping.py [--runs 10000] [--seed 0]

Each run draws 20 tag sequences: the likeliest with the given share, the rest spread evenly over one or three rivals; no
reply is invalid. "same tags": the rule's choice is the one of all 20 (a tie goes to the first drawn).
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from eirene.core.critique import Tag
from eirene.feedback_model.sampling import StopRule, next_round, should_stop

N = 20
SEQUENCES: tuple[tuple[Tag, ...], ...] = (
    ("Incomplete", "Complete"), ("Complete", "Incomplete"), ("Complete", "Complete"), ("Incomplete", "Incomplete")
)  # fmt: skip


def drawn(votes: list[tuple[Tag, ...]], rule: StopRule) -> int:
    """How many of the votes the rule draws, in rounds as the sampler does."""
    k = 0
    while not should_stop(votes[:k], n_total=N, rule=rule):
        k += next_round(votes[:k], n_total=N, rule=rule)
    return k


def main() -> None:
    """Prints one line for each share and rule."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"{arguments.runs:,} runs of {N} draws, seed {arguments.seed}")
    rules: tuple[StopRule, ...] = ("exact", "beta")
    for rivals in (1, 3):
        for share in (0.9, 0.8, 0.7, 0.6):
            rng = np.random.default_rng(arguments.seed)
            picks = rng.choice(rivals + 1, size=(arguments.runs, N), p=[share, *[(1.0 - share) / rivals] * rivals])
            for rule in rules:
                calls, same = 0, 0
                for row in picks:
                    votes = [SEQUENCES[i] for i in row]
                    k = drawn(votes, rule)
                    calls += k
                    same += Counter(votes[:k]).most_common(1)[0][0] == Counter(votes).most_common(1)[0][0]
                mean, agree = calls / arguments.runs, 100 * same / arguments.runs
                print(f"rivals {rivals}  share {share:.2f}  {rule:5}  mean draws {mean:5.2f}  same tags {agree:6.2f} %")


if __name__ == "__main__":
    main()
