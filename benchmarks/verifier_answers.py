"""Detectors on answers with passages that people judged, rows that the verifier was trained on left out.

    python benchmarks/verifier_answers.py SHARED_DATA [--sets ragtruth,qa_feedback,begin,frank,expertqa] [--limit N]
        [--detectors rouge,alignment,verifier] [--json OUT]

Of RAGTruth and QA-Feedback the part is read that `verifier_data.py` leaves aside for figures; of the other sets nothing
was trained on. ROC AUC per answer and per sentence, where sentences are labelled, with the 95 % interval of draws of
whole sources; the gain of `verifier` over the best other detector with its own. Higher scores are worse.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roc import Rows, interval, plain_auc, rows_of
from verifier_data import ANSWERS, parts

from eirene.core.scores import Scores
from eirene.core.usage import Meter
from eirene.eval.base import Detector, case_of
from eirene.eval.datasets.base import Labelled
from eirene.eval.datasets.labelled import read_labelled
from eirene.eval.detectors.alignment import AlignmentDetector
from eirene.eval.detectors.rouge import RougeDetector
from eirene.eval.detectors.verifier import VerifierDetector
from eirene.models.encoder import load_encoder
from eirene.models.verifier.runtime import load_verifier
from eirene.text.sentences import split_sentences

SETS = {
    "ragtruth": "ragtruth_subset/responses.jsonl",
    "qa_feedback": "qa_feedback/feedback.jsonl",
    "begin": "begin/begin_dev.jsonl",
    "frank": "frank/summaries.jsonl",
    "expertqa": "expertqa/answers.jsonl",
}


def read(data: Path, name: str) -> list[Labelled]:
    """The answers with passages of a set on which nothing was trained or fitted."""
    cases = [case for case in read_labelled(str(data / SETS[name])).cases if case.item.context]
    if name not in ANSWERS:
        return cases
    aside = {case.cluster for case in parts(data, name)["report"]}
    return [case for case in cases if case.cluster in aside]


async def score(cases: Sequence[Labelled], detectors: Sequence[Detector]) -> dict[str, list[Scores]]:
    """The scores of every case, by detector."""
    found: dict[str, list[Scores]] = {detector.name: [] for detector in detectors}
    for case in cases:
        asked = case_of(case.item)
        for detector in detectors:
            found[detector.name].append(await detector.score(asked, meter=Meter()))
    return found


def by_answer(cases: Sequence[Labelled], scores: Mapping[str, Sequence[Scores]]) -> dict[str, Rows]:
    """Rows of the answers that are labelled and that every detector scored."""
    values: dict[str, list[tuple[float, bool, int]]] = {name: [] for name in scores}
    groups = _groups(cases)
    for n, case in enumerate(cases):
        own = {name: found[n].hallucination for name, found in scores.items()}
        if case.hallucination is not None and all(isinstance(value, float) for value in own.values()):
            for name, value in own.items():
                values[name].append((float(value), case.hallucination, groups[case.cluster]))  # type: ignore[arg-type]
    return {name: rows_of(found) for name, found in values.items() if found}


def by_sentence(cases: Sequence[Labelled], scores: Mapping[str, Sequence[Scores]]) -> dict[str, Rows]:
    """Rows of the sentences that are labelled and that every detector scored."""
    values: dict[str, list[tuple[float, bool, int]]] = {name: [] for name in scores}
    groups = _groups(cases)
    for n, case in enumerate(cases):
        if case.marks is None:
            continue
        sentences = split_sentences(case.item.answer)
        labels = case.sentence_labels(sentences)
        own = {name: {s.n: s.hallucination for s in found[n].sentences} for name, found in scores.items()}
        for sentence, label in zip(sentences, labels, strict=True):
            read = {name: known.get(sentence.n) for name, known in own.items()}
            if label is not None and all(isinstance(value, float) for value in read.values()):
                for name, value in read.items():
                    values[name].append((float(value), label, groups[case.cluster]))  # type: ignore[arg-type]
    return {name: rows_of(found) for name, found in values.items() if found}


def _groups(cases: Sequence[Labelled]) -> dict[str, int]:
    return {cluster: n for n, cluster in enumerate(dict.fromkeys(case.cluster for case in cases))}


def figures(rows: Mapping[str, Rows]) -> dict[str, Any]:
    """AUC and interval of each detector, and the verifier's gain over the best other one."""
    some = next(iter(rows.values()))
    found: dict[str, Any] = {"n": len(some.score), "errors": int(some.error.sum())}
    for name, own in rows.items():
        found[name] = [plain_auc(own), *interval(own)]
    others = {name: own for name, own in rows.items() if name != "verifier"}
    if "verifier" in rows and others:
        best = max(others, key=lambda name: plain_auc(others[name]))
        gain = plain_auc(rows["verifier"]) - plain_auc(others[best])
        found["gain"] = [best, gain, *interval(rows["verifier"], minus=others[best])]
    return found


def show(name: str, level: str, found: Mapping[str, Any]) -> None:
    """One line for each detector."""
    print(f"{name}, per {level}: n {found['n']}, with an error {found['errors']}")
    for detector, value in found.items():
        if detector == "gain":
            print(f"    over {value[0]}: {value[1]:+.3f} [{value[2]:+.3f}, {value[3]:+.3f}]")
        elif isinstance(value, list):
            print(f"    {detector:<10} {value[0]:.3f} [{value[1]:.3f}, {value[2]:.3f}]")


async def main() -> None:
    """Scores and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--detectors", default="rouge,alignment,verifier")
    parser.add_argument("--verifier", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    encoder = load_encoder()
    known: dict[str, Detector] = {
        "rouge": RougeDetector(),
        "alignment": AlignmentDetector(encoder),
        "verifier": VerifierDetector(load_verifier(encoder, args.verifier)),
    }
    detectors = [known[name] for name in args.detectors.split(",")]
    out: dict[str, Any] = {}
    for name in args.sets.split(","):
        cases = read(args.data, name)
        cases = cases[: args.limit] if args.limit else cases
        scores = await score(cases, detectors)
        for level, of_level in (("answer", by_answer), ("sentence", by_sentence)):
            rows = of_level(cases, scores)
            if rows and 0 < next(iter(rows.values())).error.sum() < len(next(iter(rows.values())).error):
                out[f"{name}/{level}"] = figures(rows)
                show(name, level, out[f"{name}/{level}"])
    if args.json:
        args.json.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
