"""How well the SelfCheck metrics find faulty sentences: ROC AUC and average precision, with intervals by answer.

    python benchmarks/selfcheck_data.py [--wikibio DIR] [--qa DIR] [--bertscore ENCODER] [--draws N] [--json OUT]

wikibio: `passages.jsonl` of WikiBio GPT-3. With a `samples` list in a row (the 20 sampled passages of the original
release) these are the samples, and the figures compare with the published ones. Without it the Wikipedia text stands in
as the only sample: an oracle that no user has, named so, and no comparison.
qa: `feedback.jsonl` of QA-Feedback. Predictions 2 to 4 are three samples of the model that wrote prediction 1; a
sentence is faulty if it shares a third of itself, or of the mark, with a span marked Wrong-Grounding or Unverifiable.
bertscore: a folder or hub name of an encoder; `minilm` is the base model of Eirene's own (extra `train`).
Controls, which read nothing: a sentence's length in characters, its place in the answer.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from eirene.eval.detectors.selfcheck import compared_sentences, disagreement, embedding_scores, ngram_scores
from eirene.eval.detectors.selfcheck_bertscore import TokenEncoder, bertscore_f1, load_token_encoder
from eirene.eval.metrics.bootstrap import Resamples
from eirene.eval.metrics.ranking import auc_and_ap
from eirene.models.encoder import load_encoder
from eirene.text.sentences import split_sentences

PUBLISHED = {
    "AP of faulty sentences, WikiBio GPT-3 with 20 samples (README of potsawee/selfcheckgpt)": {
        "random": 0.7296, "BERTScore": 0.8196, "unigram": 0.8563,
    },
    "AUROC of answers, mean of RealHall Open (ChainPoll, table 3)": {
        "SelfCheck-BERTScore": 0.670, "SelfCheck-NGram": 0.636,
    },
}  # fmt: skip
FAULTY = ("Wrong-Grounding", "Unverifiable")


@dataclass(frozen=True)
class Answer:
    """An answer, its sentences as (start, end), which of them are faulty, and its samples."""

    text: str
    spans: tuple[tuple[int, int], ...]
    faulty: tuple[bool, ...]
    samples: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """The sentences' texts."""
        return [self.text[start:end] for start, end in self.spans]


Metric = Callable[[Answer], Sequence[float]]


def read_wikibio(folder: Path) -> tuple[str, list[Answer]]:
    """Sentences as the data cuts them; minor and major inaccuracies are faults, as in the paper."""
    found = []
    kinds = set()
    for line in (folder / "passages.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        spans, at = [], 0
        for sentence in row["sentences"]:
            start = row["passage"].index(sentence["text"], at)
            at = start + len(sentence["text"])
            spans.append((start, at))
        samples = row.get("samples") or [row["reference"]]
        kinds.add("20 samples" if row.get("samples") else "oracle: the Wikipedia text as the only sample")
        faulty = tuple(s["label"] != "accurate" for s in row["sentences"])
        found.append(Answer(row["passage"], tuple(spans), faulty, tuple(samples)))
    return f"WikiBio GPT-3 ({', '.join(sorted(kinds))})", found


def read_qa(folder: Path) -> tuple[str, list[Answer]]:
    """Prediction 1 against predictions 2 to 4."""
    found = []
    for line in (folder / "feedback.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        text = row["prediction 1"]
        marked = [(e["start"], e["end"]) for e in row["feedback"]["errors"] if e["error type"] in FAULTY]
        spans = tuple((s.text_start, s.text_end) for s in split_sentences(text) if s.text)
        faulty = tuple(any(_touches(span, mark) for mark in marked) for span in spans)
        found.append(Answer(text, spans, faulty, tuple(row[f"prediction {n}"] for n in (2, 3, 4))))
    return "QA-Feedback (3 samples of the same model)", found


def _touches(span: tuple[int, int], mark: tuple[int, int]) -> bool:
    common = min(span[1], mark[1]) - max(span[0], mark[0])
    return common > 0 and common >= min(span[1] - span[0], mark[1] - mark[0]) / 3


def ngram(take: Callable[[list[float]], float], n: int) -> Metric:
    """Per sentence, of the tokens that stand in it."""

    def metric(answer: Answer) -> list[float]:
        tokens = [t for s in ngram_scores(answer.text, answer.samples, n=n).sentences for t in s]
        inside = [[t.nll for t in tokens if start <= t.start < end] for start, end in answer.spans]
        return [take(values) if values else 0.0 for values in inside]

    return metric


def bertscore(encoder: TokenEncoder) -> Metric:
    """SelfCheck-BERTScore."""

    def metric(answer: Answer) -> list[float]:
        cut = [compared_sentences(sample) for sample in answer.samples]
        texts = list(dict.fromkeys(answer.sentences + [t for c in cut for t in c]))
        known = dict(zip(texts, encoder.encode(texts), strict=True))
        close = [np.array([[bertscore_f1(known[t], known[s]) for t in c] for s in answer.sentences]) for c in cut]
        return [float(v) for v in disagreement(close)]

    return metric


def metrics(named: str | None) -> Iterator[tuple[str, Metric]]:
    """Every metric, and the controls."""
    encoder = load_encoder()
    yield "selfcheck-ngram (max)", ngram(max, 1)
    yield "selfcheck-ngram (avg)", ngram(lambda values: float(np.mean(values)), 1)
    yield "selfcheck-2gram (max)", ngram(max, 2)
    yield (
        "selfcheck-embedding",
        lambda a: list(embedding_scores(a.sentences, [compared_sentences(s) for s in a.samples], encoder)),
    )
    if named is not None:
        yield f"selfcheck-bertscore ({named})", bertscore(_token_encoder(named))
    yield "control: length", lambda a: [float(end - start) for start, end in a.spans]
    yield "control: place", lambda a: [float(n) for n in range(len(a.spans))]


def _token_encoder(named: str) -> TokenEncoder:
    if named != "minilm":
        return load_token_encoder(named)
    from recipes.encoder.data import base_folder

    return load_token_encoder(str(base_folder()))


def figures(answers: list[Answer], metric: Metric, resamples: Resamples) -> dict[str, Any]:
    """AUC and AP over sentences, resampled by answer; and the same over answers, by the mean of their sentences."""
    values = [list(metric(answer)) for answer in answers]
    rows = [n for n, answer in enumerate(answers) for _ in answer.spans]
    labels = [faulty for answer in answers for faulty in answer.faulty]
    flat = [v for found in values for v in found]
    by_sentence = resamples.estimate(len(answers), auc_and_ap(len(answers), rows, flat, labels), n=len(rows))
    whole = auc_and_ap(
        len(answers), range(len(answers)), [float(np.mean(v)) for v in values], [any(a.faulty) for a in answers]
    )
    by_answer = resamples.estimate(len(answers), whole)
    names = ("sentence AUC", "sentence AP", "answer AUC", "answer AP")
    return {name: e.to_json() for name, e in zip(names, [*by_sentence, *by_answer], strict=True)}


def main() -> None:
    """Reads the arguments, scores, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wikibio", type=Path)
    parser.add_argument("--qa", type=Path)
    parser.add_argument("--bertscore")
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    sets = [reader(folder) for reader, folder in ((read_wikibio, given.wikibio), (read_qa, given.qa)) if folder]
    resamples, found = Resamples(draws=given.draws), {}
    console = Console(width=140)
    for title, answers in sets:
        faults, count = sum(sum(a.faulty) for a in answers), sum(len(a.spans) for a in answers)
        table = Table(title=f"{title}: {len(answers)} answers, {count} sentences, {faults} faulty")
        for column in ("metric", "sentence AUC", "sentence AP", "answer AUC"):
            table.add_column(column)
        found[title] = {"sentences": count, "faulty": faults}
        for name, metric in metrics(given.bertscore):
            found[title][name] = row = figures(answers, metric, resamples)
            table.add_row(name, *(_shown(row[c]) for c in ("sentence AUC", "sentence AP", "answer AUC")))
        console.print(table)
    for title, values in PUBLISHED.items():
        console.print(f"Published, {title}: " + ", ".join(f"{k} {v:.3f}" for k, v in values.items()))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def _shown(estimate: dict[str, Any]) -> str:
    if "unscored" in estimate:
        return "-"
    return f"{estimate['value']:.3f} [{estimate['low']:.3f}, {estimate['high']:.3f}]"


if __name__ == "__main__":
    main()
