"""Sentences that people and models wrote, from the data sets whose licences allow it: (set, group, sentence).

    argkp2021 (CDLA-Sharing 1.0), npov_perspectrum (CC BY-SA 4.0), haluquestqa (CC BY-SA 4.0), qa_feedback (Apache 2.0),
    expertqa, ragtruth_subset, halueval_general (MIT), covid_qa (Apache 2.0), claim_verification (as `CLAIM_SOURCES`)

A group (claim, topic, question, document) lies wholly in one part: `part_of`. Development files are never read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from harness import read_rows

from eirene.text.sentences import split_sentences


class Said(NamedTuple):
    """A sentence, the set and the group that it is from."""

    source: str
    group: str
    text: str


CLAIM_SOURCES = {
    "fool_me_twice": "Apache 2.0; evidence CC BY-SA",
    "fever_symmetric": "CC BY-SA 3.0",
    "summedits": "Apache 2.0",
    "defacto": "MIT",
    "fib": "CC BY 4.0",
    "mnli_dev": "OANC, CC BY-SA 3.0, CC BY 3.0, public domain",
    "citation_integrity": "MIT, open-access papers",
    "scifact": "CC BY 4.0, ODC-By 1.0",
    "drop_nli": "CC BY-SA 4.0",
    "med": "CC BY-SA 4.0",
    "conjnli": "MIT",
    "negation_nli": "MIT, CC BY-SA 4.0",
    "wice": "ODC-By 1.0, CC BY-SA 4.0",
    "factcheck_gpt": "Apache 2.0",
}
_WITH_PREMISE = set(
    ["fool_me_twice", "fever_symmetric", "defacto", "fib", "mnli_dev", "citation_integrity", "scifact", "drop_nli"]
)
_CUT_OUT = {"covid_qa", "mnli_dev", "qa_feedback"}
"""Sets with passages that begin in the middle, or talk written down: there a sentence begins with a capital letter."""
ASIDE = {"haluquestqa": 0.5, "qa_feedback": 0.5, "expertqa": 0.5}
"""Share of groups kept aside for choosing and measuring; elsewhere 0.15."""


def fraction(group: str) -> float:
    """A number in [0, 1) that depends on the group's name alone."""
    return int(hashlib.sha256(f"fluency:{group}".encode()).hexdigest()[:12], 16) / 16**12


def is_aside(said: Said) -> bool:
    """Whether a sentence belongs to the part that nothing is fitted on."""
    return fraction(said.group) < ASIDE.get(said.source, 0.15)


def read_all(data: Path) -> Iterator[Said]:
    """Every sentence of the sets, in the order of the files."""
    yield from _perspectrum(data / "npov_perspectrum")
    for row in read_rows(data / "argkp2021/arguments_train.jsonl"):
        yield from _said("argkp", row["topic"], row["argument"])
    for row in read_rows(data / "haluquestqa/annotations.jsonl"):
        for answer in ("answer1", "answer2"):
            yield from _said("haluquestqa", row["question"], row[answer])
    for row in read_rows(data / "qa_feedback/feedback.jsonl"):
        for text in (row["gold"], *(" ".join(p[1:]) for p in row["passages"]), row["prediction 1"], row["question"]):
            yield from _said("qa_feedback", row["question"], text)
    for row in read_rows(data / "expertqa/answers.jsonl"):
        for text in (row["question"], row["answer"]):
            yield from _said("expertqa", row["question"], text)
    for row in read_rows(data / "ragtruth_subset/responses.jsonl"):
        if row["task"] != "data2txt":
            yield from _said("ragtruth", str(row["source_id"]), row["response"])
    for row in read_rows(data / "halueval_general/general.jsonl"):
        for text in (row["query"], row["response"]):
            yield from _said("halueval", row["id"], text)
    for row in read_rows(data / "covid_qa/qa.jsonl"):
        yield from _said("covid_qa", str(row["document_id"]), row["context"])
    yield from _claims(data / "claim_verification/train.jsonl")


def _perspectrum(folder: Path) -> Iterator[Said]:
    for row in read_rows(folder / "topics_train.jsonl"):
        group = str(row["claim_id"])
        yield from _said("perspectrum", group, row["claim"])
        for argument in row["pro"] + row["con"]:
            for text in (argument["text"], *(p["text"] for p in argument["paraphrases"])):
                yield from _said("perspectrum", group, text)
    for row in read_rows(folder / "mixed_train.jsonl"):
        yield from _said("mixed", str(row["claim_id"]), row["response"])


def _claims(path: Path) -> Iterator[Said]:
    for row in read_rows(path):
        source = row["source"]
        if source in CLAIM_SOURCES and row["by"] == "human":
            premise = row["premise"] if source in _WITH_PREMISE else ""
            texts = [row["claim"], *(premise if isinstance(premise, list) else [premise])]
            for text in texts:
                yield from _said(source, row["group"], text)


def _said(source: str, group: str, text: str) -> Iterator[Said]:
    for sentence in split_sentences(text or ""):
        words = sentence.text.split()
        is_prose = 2 * sum(word[:1].isalpha() for word in words) > len(words)
        if is_prose and not (source in _CUT_OUT and sentence.text[0].islower()):
            yield Said(source, group, sentence.text)
