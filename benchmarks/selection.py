"""How much faster selection is than equations 1 and 2 written as they read.

    python benchmarks/selection.py            # about a minute or two: the naive form of n = 1,000 is slow
    python benchmarks/selection.py --quick    # the naive form of n = 1,000 from a part of it, and said so

Prints the median processor time of `select` for n = 20 and n = 1,000 samples of 80 words, 8 sentences, four
tag sequences; the time of the naive form; and their ratio. Both must choose the same sample, or the run fails.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

from eirene.core.critique import Sample, Tag
from eirene.feedback_model.vote import select
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.words import lower_words

WORDS_PER_SAMPLE = 80
N_SENTENCES = 8
TARGET_MS = {20: 1.0, 1000: 50.0}


def make_samples(n: int, seed: int) -> list[Sample]:
    """Samples with two of eight sentences incomplete; words as frequent as in a language (Zipf) from 2,000."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, 2001)
    samples = []
    for _ in range(n):
        first = int(rng.choice(4, p=[0.7, 0.1, 0.1, 0.1]))
        words = rng.choice(2000, size=WORDS_PER_SAMPLE, p=weights / weights.sum())
        halves = [" ".join(f"Word{w}," for w in half) for half in np.split(words, 2)]
        tags: list[Tag] = ["Complete"] * N_SENTENCES
        reasons: list[str | None] = [None] * N_SENTENCES
        for at, half in zip((first, first + 4), halves, strict=True):
            tags[at], reasons[at] = "Incomplete", half
        samples.append(Sample(tags=tuple(tags), reasons=tuple(reasons)))
    return samples


def naive_scores(samples: Sequence[Sample], *, rows: int | None = None) -> tuple[list[int], list[float]]:
    """The survivors and equation 2 of the first `rows` of them (all by default), as the equations read."""
    n = len(samples)
    by_tags = [sum(a.tags == b.tags for b in samples) / n for a in samples]
    survivors = [i for i, share in enumerate(by_tags) if share == max(by_tags)]
    said = {i: [w for reason in samples[i].reasons if reason for w in lower_words(reason)] for i in survivors}
    scores = []
    for i in survivors[:rows]:
        total = 0
        for word in said[i]:
            for s in survivors:
                total += word in said[s]
        scores.append(total / len(said[i]))
    return survivors, scores


def seconds(job: Callable[[], object], repeats: int) -> float:
    """Median processor time of a job: what other processes on the machine take is left out."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        job()
        times.append(time.process_time() - began)
    return statistics.median(times)


def measure(n: int, sentences: Sequence[Sentence], *, seed: int, rows: int | None) -> None:
    """Prints one line; `rows` limits how many survivors the naive form scores."""
    samples = make_samples(n, seed)
    chosen = select(samples, sentences, n_requested=n)
    ours = seconds(lambda: select(samples, sentences, n_requested=n), repeats=200 if n <= 100 else 30)
    began = time.process_time()
    survivors, scores = naive_scores(samples, rows=rows)
    naive = time.process_time() - began
    note = ""
    if len(scores) < len(survivors):
        naive *= len(survivors) / len(scores)
        note = f"  (naive extrapolated from {len(scores)} of {len(survivors)} survivors; choice not compared)"
    elif survivors[scores.index(max(scores))] != chosen.winner:
        raise SystemExit(f"n = {n}: the naive form chooses another sample")
    verdict = "met" if ours * 1e3 <= TARGET_MS[n] else "missed"
    print(
        f"n = {n:5,}: select {ours * 1e3:7.2f} ms (target {TARGET_MS[n]:g} ms: {verdict}), "
        f"naive {naive * 1e3:10.1f} ms, {naive / ours:7.0f} times faster{note}"
    )


def main() -> None:
    """Reads the arguments and measures both sizes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="extrapolate the naive form of n = 1,000")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sentences = split_sentences(" ".join(f"Sentence number {i} is here." for i in range(N_SENTENCES)))
    measure(20, sentences, seed=arguments.seed, rows=None)
    measure(1000, sentences, seed=arguments.seed, rows=20 if arguments.quick else None)


if __name__ == "__main__":
    main()
