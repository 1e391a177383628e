"""How much faster the `rouge` detector is than pairwise calls of `rouge-score`, and that both say the same.

    python benchmarks/rouge_speed.py DATA/npov_perspectrum

For each of 1,000 answers (`mixed_train`, then `mixed_dev`) the package is called once for every pair that the
detector's figures need: the answer against all arguments, each side and each argument, each sentence against all
arguments. It gets our words (split, stop words, Porter stems), made anew in each call as its own tokeniser does; the
last line lets it keep the stems of words between calls. Every figure must agree to 1e-12, or the run fails. Processor
time, the median of three passes each.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import snowballstemmer
from npov_cases import read_cases
from rouge_score import rouge_scorer

from eirene.core.scores import Score, number
from eirene.eval.base import Case
from eirene.eval.detectors.rouge import score_rouge
from eirene.text.sentences import split_sentences
from eirene.text.words import STOP_WORDS, stems, word_spans

ANSWERS = 1000
TOLERANCE = 1e-12


class Anew:
    """Our words, each stemmed when it is met."""

    def __init__(self) -> None:
        self._stem = snowballstemmer.stemmer("porter").stemWord

    def tokenize(self, text: str) -> list[str]:
        words = (text[start:end].lower() for start, end in word_spans(text))
        return [self._stem(w) if w.isascii() and w.isalpha() else w for w in words if w not in STOP_WORDS]


class Kept:
    """Our words with the stems that are known already."""

    def tokenize(self, text: str) -> list[str]:
        return list(stems(text))


def pairwise(case: Case, scorer: rouge_scorer.RougeScorer) -> list[float]:
    """1 - precision against all, 1 - least recall of a side, then of each argument, then of each sentence."""
    groups = [group.arguments for group in case.given.groups]
    everything = " ".join(text for texts in groups for text in texts)
    found = [1 - scorer.score(everything, case.answer)["rouge1"].precision]
    found.append(1 - min(scorer.score(" ".join(texts), case.answer)["rouge1"].recall for texts in groups))
    found += [1 - scorer.score(text, case.answer)["rouge1"].recall for texts in groups for text in texts]
    sentences = (s.raw for s in split_sentences(case.answer))
    return found + [1 - scorer.score(everything, s)["rouge1"].precision for s in sentences]


def ours(case: Case) -> list[Score]:
    """The same figures of the detector."""
    scores = score_rouge(case)
    arguments = [a.coverage for a in scores.arguments]
    return [scores.hallucination, scores.coverage, *arguments, *(s.hallucination for s in scores.sentences)]


def disagreement(cases: list[Case], scorer: rouge_scorer.RougeScorer) -> float:
    """The greatest difference; a figure that is unscored (no content words) is 1 - 0 in the package."""
    worst = 0.0
    for case in cases:
        for theirs, score in zip(pairwise(case, scorer), ours(case), strict=True):
            value = number(score)
            worst = max(worst, abs(theirs - (1.0 if value is None else value)))
    return worst


def seconds(work: Callable[[], object]) -> float:
    """The median processor time of three runs."""
    found = []
    for _ in range(3):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return statistics.median(found)


def main() -> None:
    """Prints the times and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    folder = parser.parse_args().data
    answers = [c.case for name in ("mixed_train.jsonl", "mixed_dev.jsonl") for c in read_cases(folder / name)]
    cases = answers[:ANSWERS]
    peers = {"stems anew": Anew(), "stems kept": Kept()}
    scorers = {name: rouge_scorer.RougeScorer(["rouge1"], tokenizer=t) for name, t in peers.items()}
    worst = max(disagreement(cases, scorer) for scorer in scorers.values())
    print(f"{len(cases)} answers; greatest difference {worst:.1e}")
    if worst > TOLERANCE:
        raise SystemExit(f"the figures differ by more than {TOLERANCE}")
    own = seconds(lambda: [score_rouge(case) for case in cases])
    print(f"detector: {own:.3f} s, {1000 * own / len(cases):.3f} ms an answer")
    for name, scorer in scorers.items():
        theirs = seconds(lambda scorer=scorer: [pairwise(case, scorer) for case in cases])  # type: ignore[misc]
        print(f"rouge-score, {name}: {theirs:.3f} s, {theirs / own:.1f} times as long")


if __name__ == "__main__":
    main()
