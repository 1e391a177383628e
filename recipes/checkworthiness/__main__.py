"""`python -m recipes.checkworthiness`: fits check-worthiness (`eirene.verification.claims`), what claims nothing.

    python -m recipes.checkworthiness SHARED_DATA [--write]

SHARED_DATA holds `begin`, `claim_verification`, `expertqa`, `factool_kbqa`, `halueval_general`, `haluquestqa`,
`qa_feedback` and `ragtruth_subset`; their texts are not copied here. `labels.jsonl` names sentences of their answers
(set, row, where the sentence begins) with 1 where it claims nothing, 0 for a claim: picked by patterns, at random, and
where an earlier fit was unsure, then labelled by reading; fiction and verse were left out. So the claims among them are
harder than most. Of `claim_verification` they are claims that a passage carries or contradicts by people's word, most
in the first person ("I was born in Richmond"); of RAGTruth also sentences that people marked, in the half that the
verifier was trained on. `written.jsonl` holds sentences written for kinds that are rare there (greetings,
closings, cautions, what is unknown) and claims that look like them.

A third is kept aside, of the sets by source document, of what was written by position. Prints what a fit on the rest
spares of it, and what of the claims; on the kept documents of RAGTruth, how many of all sentences, and of those that
people marked as faulty, would not be checked. `--write` then ships a fit on everything.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from eirene.cli.terminal import say
from eirene.models.encoder.runtime import shipped_encoder
from eirene.text.sentences import Sentence, split_sentences
from eirene.verification.claims import (
    FIT,
    MAY_BE_TALK,
    NO_CLAIM,
    VECTOR_SCALE,
    claim_of,
    claims_nothing,
    form_of,
    words_of,
)

HERE = Path(__file__).parent
LEAST = 4
"""Sentences that a word stands in, for it to have a weight."""
STRENGTH = 0.5
SETS = {
    "begin": ("begin_dev.jsonl", "knowledge", ["response"]),
    "claim_verification": ("train.jsonl", "group", ["claim"]),
    "expertqa": ("answers.jsonl", "question", ["answer"]),
    "factool_kbqa": ("knowledge_qa.jsonl", "prompt", ["response"]),
    "halueval_general": ("general.jsonl", "query", ["response"]),
    "haluquestqa": ("annotations.jsonl", "question", ["answer1", "answer2"]),
    "qa_feedback": ("feedback.jsonl", "question", ["prediction 1"]),
    "ragtruth_subset": ("responses.jsonl", "source_id", ["response"]),
}
"""By folder: the file, which field is a row's document or question, and its answers."""
Floats = NDArray[np.float64]
Row = tuple[str, int]
"""A sentence as `claim_of` gives it, and 1 where it claims nothing."""


def read_rows(file: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON Lines."""
    return [json.loads(line) for line in file.read_text("utf-8").split("\n") if line.strip()]


@dataclass(frozen=True)
class Reply:
    """An answer of a set: its row's name, the document or question that it is about, its text, spans marked faulty."""

    row: str
    document: str
    text: str
    marked: tuple[tuple[int, int], ...] = ()


def replies(data: Path, name: str) -> Iterator[Reply]:
    """The answers of a set."""
    file, document, texts = SETS[name]
    for n, row in enumerate(read_rows(data / name / file)):
        key = str(row.get("id", n))
        marked = tuple((label["start"], label["end"]) for label in row.get("labels", ()))
        for k, text in enumerate(texts, start=1):
            yield Reply(key if len(texts) == 1 else f"{n}.{k}", str(row[document]), row[text], marked)


def is_aside(document: str) -> bool:
    """Whether sentences about a document are kept aside: a third of the documents."""
    return int(hashlib.sha256(document.encode()).hexdigest(), 16) % 3 == 0


def labelled(data: Path) -> tuple[list[Row], list[Row]]:
    """The labelled sentences of the sets: to fit on, and kept aside."""
    fit: list[Row] = []
    aside: list[Row] = []
    labels = read_rows(HERE / "labels.jsonl")
    for name in sorted({label["set"] for label in labels}):
        known = {reply.row: reply for reply in replies(data, name)}
        for label in labels:
            if label["set"] == name:
                reply = known[label["row"]]
                sentence = next(s for s in split_sentences(reply.text) if s.text_start == label["at"])
                (aside if is_aside(reply.document) else fit).append((claim_of(sentence.text), label["label"]))
    return fit, aside


def written() -> tuple[list[Row], list[Row]]:
    """The written sentences: to fit on, and every third."""
    rows = [(claim_of(r["text"]), r["label"]) for r in read_rows(HERE / "written.jsonl")]
    return [row for n, row in enumerate(rows) if n % 3], rows[::3]


class Features:
    """From sentences to the columns of the regression: form, words, vector."""

    def __init__(self, rows: Sequence[Row]) -> None:
        counted = Counter(word for text, _ in rows for word in words_of(text))
        self.words = sorted(word for word, count in counted.items() if count >= LEAST)
        self._at = {word: n for n, word in enumerate(self.words)}

    def of(self, texts: Sequence[str]) -> Floats:
        has = np.zeros((len(texts), len(self.words)))
        for n, text in enumerate(texts):
            has[n, [self._at[word] for word in words_of(text) if word in self._at]] = 1.0
        vectors = VECTOR_SCALE * shipped_encoder().encode(texts)
        return np.hstack([np.array([form_of(text) for text in texts]), has, vectors])


class Model:
    """A fit on rows."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._features = Features(rows)
        self._regression = LogisticRegression(C=STRENGTH, max_iter=3000)
        self._regression.fit(self._features.of([text for text, _ in rows]), [label for _, label in rows])

    def chances(self, texts: Sequence[str]) -> Floats:
        """As `talk_chances` gives them."""
        return np.asarray(self._regression.predict_proba(self._features.of(texts))[:, 1])

    def write(self, path: Path) -> None:
        weights, form = np.round(self._regression.coef_[0], 3).tolist(), len(form_of(""))
        words = dict(zip(self._features.words, weights[form:], strict=False))
        found = {
            "encoder": shipped_encoder().digest,
            "bias": round(float(self._regression.intercept_[0]), 3),
            "form": weights[:form],
            "words": {word: weight for word, weight in words.items() if weight},
            "vector": weights[form + len(words) :],
        }
        lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in found.items())
        path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def report(name: str, chances: Floats, rows: Sequence[Row]) -> None:
    truth = np.array([label == 1 for _, label in rows])
    shares = ", ".join(
        f"above {least:g}: {(chances[truth] > least).mean():.3f} spared, {(chances[~truth] > least).mean():.3f} claims"
        for least in (MAY_BE_TALK, NO_CLAIM)
    )
    say(f"{name}: {truth.sum()} that claim nothing, {(~truth).sum()} claims, "
          f"AUC {roc_auc_score(truth, chances):.3f}; {shares}")  # fmt: skip


def ragtruth(data: Path, model: Model) -> None:
    """What would not be checked of the documents kept aside, and of what people marked there."""
    found: list[tuple[Sentence, bool]] = []
    for reply in replies(data, "ragtruth_subset"):
        if is_aside(reply.document):
            for s in split_sentences(reply.text):
                if s.text and claims_nothing(s.text) is None:
                    found.append((s, any(a < s.text_end and b > s.text_start for a, b in reply.marked)))
    chances = model.chances([claim_of(s.text) for s, _ in found])
    marked = np.array([is_marked for _, is_marked in found])
    for least in (MAY_BE_TALK, NO_CLAIM):
        say(f"RAGTruth, above {least:g}: {(chances > least).sum()} of {len(found)} sentences, "
              f"{(chances[marked] > least).sum()} of {marked.sum()} marked ones")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of data sets")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    (fit_real, real), (fit_own, own) = labelled(args.data), written()
    model = Model([*fit_real, *fit_own])
    say(f"fitted on {len(fit_real)} sentences of the sets, {len(fit_own)} written")
    for name, held in (("sets, kept aside", real), ("written, kept aside", own)):
        report(name, model.chances([text for text, _ in held]), held)
    ragtruth(args.data, model)
    if args.write:
        Model([*fit_real, *fit_own, *real, *own]).write(FIT)


if __name__ == "__main__":
    main()
