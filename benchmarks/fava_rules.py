"""Entity and relation errors put into answers that people found faithful: what rules find, beside rouge and alignment.

    python benchmarks/fava_rules.py DATA_DIR --answers 120 --seed 0

DATA_DIR holds RAGTruth's `sources.jsonl` and `responses.jsonl`. Of each of so many sources one response without any
annotated hallucination is taken, with its source as the reference. In every third sentence, if it has a place for it,
one error is made: a number, date or name that the source has becomes one of the same type from another source (entity);
a "not" comes after an auxiliary, or a word becomes its opposite (relation). Sentence-level precision, recall and F1 of
"has an entity or relation error" on the second half of the sources, with a 95 % interval by bootstrap over answers,
paired for the differences;
the thresholds of rouge and alignment are those with the best F1 on the first half. Opposites come from the list that
the rules know: the figure for them is an upper bound, and stands apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import number
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.alignment import AlignmentDetector
from eirene.eval.detectors.rouge import RougeDetector
from eirene.feedback_model.embedded.lexicon import OPPOSITES, is_name, kind_of_value
from eirene.feedback_model.embedded.rules import find_by_rules
from eirene.models.encoder import load_encoder
from eirene.text.sentences import split_sentences

_WORD = re.compile(r"\w+(?:[.,]\d+)*")
_AUXILIARY = re.compile(r"\b(is|are|was|were|can|will|has|have|should|could|may)\b(?! (?:not|been|no)\b)")


@dataclass(frozen=True)
class Answer:
    """A response with errors in it: its sentences' kinds of error ("" for none), and what it is compared with."""

    text: str
    kinds: tuple[str, ...]
    question: str
    passages: tuple[str, ...]


def values(text: str) -> dict[str, list[str]]:
    """Numbers, dates and names in the middle of sentences, by type."""
    found: dict[str, list[str]] = {}
    for match in _WORD.finditer(text):
        word = match.group()
        inside = text[: match.start()].rstrip()[-1:] not in ("", ".", "!", "?", ":", '"', "\n")
        kind = kind_of_value(word) or ("name" if is_name(word) and inside and len(word) > 3 else None)
        if kind:
            found.setdefault(kind, []).append(word)
    return found


def spoiled(sentence: str, source: str, others: dict[str, list[str]], rng: random.Random) -> tuple[str, str]:
    """The sentence with one error, and its kind; "" where there is no place for one."""
    makers = [entity, negation, opposite]
    rng.shuffle(makers)
    for make in makers:
        new, kind = make(sentence, source, others, rng)
        if kind:
            return new, kind
    return sentence, ""


def entity(sentence: str, source: str, others: dict[str, list[str]], rng: random.Random) -> tuple[str, str]:
    """A value that the source has, exchanged for one that it has not."""
    mine = [(k, w) for k, words in values(sentence).items() for w in words if re.search(rf"\b{re.escape(w)}\b", source)]
    rng.shuffle(mine)
    for kind, word in mine:
        new = [w for w in others.get(kind, []) if w.casefold() not in source.casefold()]
        if new:
            return re.sub(rf"\b{re.escape(word)}\b", rng.choice(new), sentence, count=1), "entity"
    return sentence, ""


def negation(sentence: str, *_: Any) -> tuple[str, str]:
    """A "not" after the first auxiliary."""
    new = _AUXILIARY.sub(lambda m: f"{m.group()} not", sentence, count=1)
    return (new, "negation") if new != sentence else (sentence, "")


def opposite(sentence: str, source: str, others: dict[str, list[str]], rng: random.Random) -> tuple[str, str]:
    """A word exchanged for its opposite."""
    places = [m for m in _WORD.finditer(sentence) if OPPOSITES.get(m.group()) and m.group() in source]
    if not places:
        return sentence, ""
    place = rng.choice(places)
    return sentence[: place.start()] + rng.choice(OPPOSITES[place.group()]) + sentence[place.end() :], "opposite"


def read(folder: Path, n: int, seed: int) -> list[Answer]:
    """Responses with errors, one a source."""
    rng = random.Random(seed)
    sources = {r["source_id"]: r for r in map(json.loads, (folder / "sources.jsonl").read_text("utf-8").splitlines())}
    rows = [json.loads(line) for line in (folder / "responses.jsonl").read_text("utf-8").splitlines()]
    clean = [r for r in rows if not r["labels"] and r["task"] != "data2txt" and len(r["response"].split()) > 40]
    rng.shuffle(clean)
    chosen = list({r["source_id"]: r for r in clean}.values())[:n]
    texts = {r["source_id"]: _passages(sources[r["source_id"]]["source"]) for r in chosen}
    found = {source: values("\n".join(passages)) for source, passages in texts.items()}
    answers = []
    for row in chosen:
        passages = texts[row["source_id"]]
        other = found[rng.choice([s for s in found if s != row["source_id"]])]
        pieces, kinds = [], []
        for i, sentence in enumerate(split_sentences(row["response"])):
            new, kind = spoiled(sentence.raw, "\n".join(passages), other, rng) if i % 3 == 1 else (sentence.raw, "")
            pieces.append(new)
            kinds.append(kind)
        text = "".join(pieces)
        if len(split_sentences(text)) == len(kinds) and any(kinds):
            source = sources[row["source_id"]]["source"]
            question = source.get("question", "") if isinstance(source, dict) else ""
            answers.append(Answer(text, tuple(kinds), question or "Summarise the text.", passages))
    return answers


def _passages(source: Any) -> tuple[str, ...]:
    text = source["passages"] if isinstance(source, dict) else str(source)
    return tuple(re.sub(r"^passage \d+:", "", p).strip() for p in text.split("\n\n") if p.strip())


async def scored(answer: Answer, detectors: Sequence[Any], encoder: Any) -> dict[str, np.ndarray]:
    """What each says of each sentence: 0 or 1 of the rules, scores of the others."""
    sentences = split_sentences(answer.text)
    ruled = find_by_rules(answer.text, sentences, answer.passages, answer.question, encoder)
    hits = {f.sentence for f in ruled if f.finding.kind in ("entity", "relation")}
    columns = {"rules": np.array([float(i in hits) for i in range(len(sentences))])}
    case = Case(answer.question, answer.text, Grounding("context", (ArgumentGroup("context", answer.passages),)))
    for detector in detectors:
        found = await detector.score(case, meter=Meter())
        if found.sentences:
            by_n = {s.n: number(s.hallucination) or 0.0 for s in found.sentences}
            columns[detector.name] = np.array([by_n.get(s.n, 0.0) for s in sentences])
        else:
            words = [[w.score for w in found.words if s.start <= w.start < s.end] for s in sentences]
            columns[detector.name] = np.array([float(np.mean(w)) if w else 0.0 for w in words])
    return columns


def f1(truth: np.ndarray, said: np.ndarray) -> tuple[float, float, float]:
    """Precision, recall, F1; 0 where undefined."""
    both = float((truth & said).sum())
    p, r = both / max(said.sum(), 1), both / max(truth.sum(), 1)
    return p, r, 2 * p * r / (p + r) if p + r else 0.0


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--answers", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    encoder = load_encoder()
    detectors = (RougeDetector(), AlignmentDetector(encoder))
    answers = read(args.data, args.answers, args.seed)
    rows = [asyncio.run(scored(a, detectors, encoder)) for a in answers]
    truth = [np.array([bool(k) for k in a.kinds]) for a in answers]
    half = len(answers) // 2
    rng = np.random.default_rng(args.seed)
    picks = [rng.integers(half, len(answers), len(answers) - half) for _ in range(1000)]
    n_sentences, n_wrong = sum(map(len, truth[half:])), sum(int(t.sum()) for t in truth[half:])
    print(f"{len(answers) - half} test answers, {n_sentences} sentences, {n_wrong} with an error")
    said: dict[str, list[np.ndarray]] = {}
    drawn: dict[str, np.ndarray] = {}
    for name in rows[0]:
        dev, gold = np.concatenate([r[name] for r in rows[:half]]), np.concatenate(truth[:half])
        cut = 0.5 if name == "rules" else max(np.unique(dev), key=lambda t: f1(gold, dev >= t)[2])
        said[name] = [r[name] >= cut for r in rows]
        p, r, f = f1(np.concatenate(truth[half:]), np.concatenate(said[name][half:]))
        draws = [
            f1(np.concatenate([truth[i] for i in k]), np.concatenate([said[name][i] for i in k]))[2] for k in picks
        ]
        drawn[name] = np.array(draws)
        low, high = np.quantile(draws, [0.025, 0.975])
        print(f"{name:10} threshold {cut:.3f}: precision {p:.3f} recall {r:.3f} F1 {f:.3f} [{low:.3f}, {high:.3f}]")
    for name in ("rouge", "alignment"):
        low, high = np.quantile(drawn["rules"] - drawn[name], [0.025, 0.975])
        print(f"F1 of the rules less that of {name}: [{low:+.3f}, {high:+.3f}] (paired)")
    for kind in ("entity", "negation", "opposite"):
        of_kind = [(i, j) for i in range(half, len(answers)) for j, k in enumerate(answers[i].kinds) if k == kind]
        shares = ", ".join(f"{name} {np.mean([s[i][j] for i, j in of_kind]):.3f}" for name, s in said.items())
        print(f"recall of {kind} ({len(of_kind)}): {shares}")


if __name__ == "__main__":
    main()
