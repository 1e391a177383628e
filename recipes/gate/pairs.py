"""Pairs of answers of which the second is the better one: corrections by people, and corrections against harm by rule.

A person's edit says what better means; harm by rule only adds what no person does: a value turned, a sentence said
twice, a sentence of another answer.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eirene.text.sentences import split_sentences
from recipes.verifier.edits.given import ClaimGiven
from recipes.verifier.edits.make import FALSE

KINDS = ("number", "date", "name", "opposite", "negation_in", "negation_out", "unit", "direction", "bound")
"""The rules that turn a sentence, of those that the verifier is trained on."""


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Two answers to a question; `better` is the second. `group` is the question: pairs of one stay in one part."""

    id: str
    source: str
    kind: str
    question: str
    passages: tuple[str, ...]
    worse: str
    better: str

    @property
    def group(self) -> str:
        """What pairs that must not be parted have in common."""
        return self.question + "\x1f" + "".join(self.passages)[:200]


def read_pairs(file: Path) -> list[AnswerPair]:
    """The rows of a file of human edits that have passages."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [_pair(row) for row in rows if row["context"]]


def _pair(row: dict[str, Any]) -> AnswerPair:
    passages = tuple(row["context"])
    return AnswerPair(row["id"], row["source"], "human", row["question"], passages, row["before"], row["after"])


def harmed(pairs: Sequence[AnswerPair], *, seed: int) -> Iterator[AnswerPair]:
    """For each correction up to four worse texts made of it: the correction is the better one."""
    texts = [sentence.text for pair in pairs for sentence in split_sentences(pair.better) if len(sentence.text) > 40]
    for pair in pairs:
        rng = random.Random(f"{seed}:{pair.id}")
        sentences = [s for s in split_sentences(pair.better) if s.text]
        made = [_turned(pair, rng), *_structural(pair, [s.text for s in sentences], texts, rng)]
        for kind, text in (found for found in made if found is not None):
            if text != pair.better:
                yield AnswerPair(
                    f"{pair.id}:{kind}", pair.source, kind, pair.question, pair.passages, text, pair.better
                )


def _turned(pair: AnswerPair, rng: random.Random) -> tuple[str, str] | None:
    """The text with one sentence that says something else."""
    sentences = [s for s in split_sentences(pair.better) if s.text]
    premise = "\n".join(pair.passages)
    for sentence in rng.sample(sentences, len(sentences)):
        for kind in rng.sample(KINDS, len(KINDS)):
            turned = FALSE[kind][0](ClaimGiven(sentence.text, premise, rng))
            if turned is not None and turned != sentence.text:
                start, end = sentence.text_start, sentence.text_end
                return kind, pair.better[:start] + turned + pair.better[end:]
    return None


def _structural(
    pair: AnswerPair, own: Sequence[str], others: Sequence[str], rng: random.Random
) -> Iterator[tuple[str, str]]:
    """The text with a sentence twice, and with a sentence of another answer; a longer one without one of its own."""
    if len(own) > 1:
        lost = rng.randrange(len(own))
        yield "lost", " ".join(text for n, text in enumerate(own) if n != lost)
    yield "twice", f"{pair.better} {rng.choice(own)}"
    place = rng.randrange(len(own) + 1)
    yield "foreign", " ".join([*own[:place], rng.choice(others), *own[place:]])
