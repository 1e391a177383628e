"""Makes the folder that `recipes.verifier` reads of the shared data: pairs, and sentences of annotated answers.

    python -m recipes.verifier.splits SHARED_DATA OUT
    python -m recipes.verifier.splits SHARED_DATA OUT --report    # the answers kept apart for figures, as they are

SHARED_DATA holds `claim_verification`, `ragtruth_subset`, `qa_feedback` and, for arguments, `npov_perspectrum`. Of
RAGTruth's and QA-Feedback's answers half of the sources or questions are trained on, a quarter is for thresholds and
rules that are fitted on top, and figures are reported on the last quarter. There, too, are all answers to the questions
of the first forty of RAGTruth, which people read, and of QA-Feedback only questions on which nothing else was fitted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from eirene.cli.terminal import say
from eirene.eval.datasets.annotated import Annotated, read_annotated
from eirene.text.sentences import Sentence
from eirene.verification.claims import claim_of, claims_nothing

READ_BY_PEOPLE = 40
ANSWERS = {"ragtruth": "ragtruth_subset/responses.jsonl", "qa_feedback": "qa_feedback/feedback.jsonl"}
TRAIN, DEV, TOPICS = "train.jsonl", "dev.jsonl", "topics_train.jsonl"


def parts(data: Path, name: str) -> dict[str, list[Annotated]]:
    """The annotated answers with passages of a set: those to `train`, to `fit` and to `report` on."""
    cases = [case for case in read_annotated(str(data / ANSWERS[name])).cases if case.item.context]
    read = {case.cluster for case in cases[:READ_BY_PEOPLE]} if name == "ragtruth" else set()
    found: dict[str, list[Annotated]] = {"train": [], "fit": [], "report": []}
    for case in cases:
        found["report" if case.cluster in read else _part(case, name)].append(case)
    return found


def _part(case: Annotated, name: str) -> str:
    """The same for all answers of a source or question."""
    if not _bit(f"verifier:{case.cluster}"):
        return "train"
    fit = fitted_on({"id": case.item.id}) if name == "qa_feedback" else _bit(f"fit:{case.cluster}")
    return "fit" if fit else "report"


def fitted_on(row: Mapping[str, Any]) -> bool:
    """Whether constants may be fitted on this question: half of them, by a hash of the id, as in `fit_alignment.py`."""
    return not hashlib.sha256(f"bearing:{row['id']}".encode()).digest()[0] & 1


def _bit(text: str) -> bool:
    return bool(hashlib.sha256(text.encode()).digest()[0] & 1)


def label_of(case: Annotated, sentence: Sentence) -> str:
    """What people found: a sentence is as its worst mark says, and supported where nothing in it was marked."""
    kinds = {f.kind for f in case.findings if f.start < sentence.text_end and sentence.text_start < f.end}
    if "contradictory" in kinds:
        return "contradicted"
    return "unsupported" if "unverifiable" in kinds else "supported"


def rows_of(cases: list[Annotated], name: str) -> Iterator[dict[str, Any]]:
    """A row for every sentence that claims something."""
    for case in cases:
        for sentence in case.sentences:
            if sentence.text and claims_nothing(sentence.text) is None:
                yield {
                    "source": name,
                    "premise": case.item.context,
                    "claim": claim_of(sentence.text),
                    "label": label_of(case, sentence),
                    "by": "human",
                }


def write_report(data: Path, out: Path) -> None:
    """Copies the rows of the answers that nothing was trained or fitted on, and RAGTruth's sources beside them."""
    for name, key in (("qa_feedback", "id"), ("ragtruth", "source_id")):
        source = data / ANSWERS[name]
        kept = {str(case.cluster if key == "source_id" else case.item.id) for case in parts(data, name)["report"]}
        rows = [line for line in source.read_text("utf-8").splitlines() if str(json.loads(line)[key]) in kept]
        (out / source.name).write_text("\n".join(rows) + "\n", encoding="utf-8")
        say(f"{name}: {len(rows)} rows")
    shutil.copy(data / "ragtruth_subset/sources.jsonl", out)


def write_pairs(data: Path, out: Path) -> None:
    """Writes the folder to train on and prints how many rows of each source and label it has."""
    pairs = data / "claim_verification"
    shutil.copyfile(pairs / DEV, out / DEV)
    topics = data / "npov_perspectrum" / TOPICS
    if topics.is_file():
        shutil.copyfile(topics, out / TOPICS)
    counts: Counter[tuple[str, str]] = Counter()
    with (out / TRAIN).open("w", encoding="utf-8") as file:
        file.write((pairs / TRAIN).read_text("utf-8"))
        for name in ANSWERS:
            for row in rows_of(parts(data, name)["train"], name):
                counts[name, row["label"]] += 1
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    for (name, label), count in sorted(counts.items()):
        say(f"{name:<12} {label:<14} {count:>6}")


def main() -> None:
    """Reads the flags and writes one folder or the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--report", action="store_true", help="the answers kept apart for figures")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    (write_report if args.report else write_pairs)(args.data, args.out)


if __name__ == "__main__":
    main()
