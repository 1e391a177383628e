"""Sentences that people and models wrote, from the data sets whose licences allow it: (set, group, sentence).

    argkp2021 (CDLA-Sharing 1.0), npov_perspectrum (CC BY-SA 4.0), haluquestqa (CC BY-SA 4.0), qa_feedback (Apache 2.0),
    expertqa, ragtruth_subset, halueval_general (MIT), covid_qa (Apache 2.0), claim_verification (as `CLAIM_SOURCES`)

A group (claim, topic, question, document) lies wholly in one part: `part_of`. Development files are never read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from harness import Row, read_rows

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


Texts = Callable[[Row], Iterable[str]]
SETS: tuple[tuple[str, str, str, Texts], ...] = (
    ("perspectrum", "npov_perspectrum/topics_train.jsonl", "claim_id", lambda r: [r["claim"], *arguments_of(r)]),
    ("mixed", "npov_perspectrum/mixed_train.jsonl", "claim_id", lambda r: [r["response"]]),
    ("argkp", "argkp2021/arguments_train.jsonl", "topic", lambda r: [r["argument"]]),
    ("haluquestqa", "haluquestqa/annotations.jsonl", "question", lambda r: [r["answer1"], r["answer2"]]),
    ("qa_feedback", "qa_feedback/feedback.jsonl", "question", lambda r: [
        r["gold"], *(" ".join(p[1:]) for p in r["passages"]), r["prediction 1"], r["question"]]),
    ("expertqa", "expertqa/answers.jsonl", "question", lambda r: [r["question"], r["answer"]]),
    ("ragtruth", "ragtruth_subset/responses.jsonl", "source_id", lambda r: [
        r["response"]] if r["task"] != "data2txt" else []),
    ("halueval", "halueval_general/general.jsonl", "id", lambda r: [r["query"], r["response"]]),
    ("covid_qa", "covid_qa/qa.jsonl", "document_id", lambda r: [r["context"]]),
)  # fmt: skip
"""Source, file, the field of the group, and a row's texts."""


def read_all(data: Path) -> Iterator[Said]:
    """Every sentence of the sets, in the order of the files."""
    for source, file, group, texts in SETS:
        for row in read_rows(data / file):
            for text in texts(row):
                yield from _said(source, str(row[group]), text)
    for row in read_rows(data / "claim_verification/train.jsonl"):
        if row["source"] in CLAIM_SOURCES and row["by"] == "human":
            premise = row["premise"] if row["source"] in _WITH_PREMISE else ""
            for text in (row["claim"], *(premise if isinstance(premise, list) else [premise])):
                yield from _said(row["source"], row["group"], text)


def arguments_of(row: Row) -> Iterator[str]:
    """A topic's arguments, each with its paraphrases."""
    for argument in row["pro"] + row["con"]:
        yield argument["text"]
        yield from (paraphrase["text"] for paraphrase in argument["paraphrases"])


def _said(source: str, group: str, text: str) -> Iterator[Said]:
    for sentence in split_sentences(text or ""):
        words = sentence.text.split()
        is_prose = 2 * sum(word[:1].isalpha() for word in words) > len(words)
        if is_prose and not (source in _CUT_OUT and sentence.text[0].islower()):
            yield Said(source, group, sentence.text)
