"""Fits what the gate's support and relevance checks decide by, on training data, and prints the constants.

    python benchmarks/fit_gate_support.py MEASURES.jsonl [--collect DATA [--foreign FILE] [--limit 200]]

Each line of MEASURES has the measures of one claim: `check` (arguments, passages or relevance), `kind`, `carried` (if
it says what was given, or belongs to the answer) and `values` in the order of `BY_ARGUMENTS`, `BY_PASSAGES` or
`MEASURES`. With `--collect` the file is made: of NPOV training answers a sentence is taken out and put back, and of
RAGTruth, HaluQuestQA and ExpertQA answers; against them stand what those sets mark as unsupported, sentences of other
answers, and the lines of FILE (foreign sentences of one's own, one a line). Development data is never read.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from harness import Row, read_rows, write_rows
from sklearn.linear_model import LogisticRegression

from eirene.gate.checks.relevance import MEASURES, AnswerBefore
from eirene.gate.checks.support import BY_ARGUMENTS, BY_PASSAGES, ClaimSupport, premises_of
from eirene.models.encoder import load_encoder
from eirene.text.clauses import clause_spans, core_text
from eirene.text.sentences import split_sentences

NAMES = {"arguments": BY_ARGUMENTS, "passages": BY_PASSAGES, "relevance": MEASURES}
SEED = 11

Sample = tuple[str, str, bool, str, list[str], str, tuple[str, ...]]
"""Check, kind, carried, question, the other sentences of the answer, the sentence, what was given."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measures", type=Path)
    parser.add_argument("--collect", type=Path)
    parser.add_argument("--foreign", type=Path)
    parser.add_argument("--limit", type=int, default=200)
    options = parser.parse_args()
    if options.collect:
        foreign = options.foreign.read_text("utf-8").splitlines() if options.foreign else []
        write_rows(options.measures, list(collected(options.collect, foreign, options.limit)))
    rows = read_rows(options.measures)
    for check in NAMES:
        show(check, [row for row in rows if row["check"] == check])


def show(check: str, rows: list[Row]) -> None:
    """Fits one logistic function and prints it, with the share of each kind that passes at some thresholds."""
    if len({row["carried"] for row in rows}) < 2:
        return
    values = np.array([row["values"] for row in rows])
    carried = np.array([row["carried"] for row in rows])
    fit = LogisticRegression(C=10, max_iter=3000, class_weight="balanced").fit(values, carried)
    print(check, dict(zip(NAMES[check], fit.coef_[0].round(2).tolist(), strict=True)), fit.intercept_.round(2))
    p = fit.predict_proba(values)[:, 1]
    for kind in sorted({row["kind"] for row in rows}):
        own = p[[row["kind"] == kind for row in rows]]
        print(f"  {kind:26} n={len(own):4}", *(f"{t}: {(own >= t).mean():.3f}" for t in (0.3, 0.4, 0.5, 0.65)))


def collected(data: Path, foreign: list[str], limit: int) -> Iterator[Row]:
    """The measures of all samples, clause by clause where something was given."""
    encoder = load_encoder(threads=1)
    for check, kind, carried, question, rest, sentence, given in samples(data, foreign, limit):
        before = " ".join(rest)
        if check == "relevance":
            answer = AnswerBefore(question, before, encoder)
            found = answer.measures([core_text(sentence)]) if answer.sentences else []
        else:
            claims = [core_text(sentence[a:b]) for a, b in clause_spans(sentence)]
            source = "context" if check == "passages" else "perspectives"
            premises = premises_of(source=source, given=given)
            if check == "passages":
                found = ClaimSupport(question, encoder, None).by_passages(premises, claims)
            else:
                found = ClaimSupport(question, encoder, before).by_arguments(premises, claims)
        for values in found:
            yield {"check": check, "kind": kind, "carried": carried, "values": [float(v) for v in values]}


def samples(data: Path, foreign: list[str], limit: int) -> Iterator[Sample]:
    """Sentences put back into their answers, and foreign ones put into them."""
    rng = random.Random(SEED)
    yield from _npov(data, foreign, limit, rng)
    yield from _passages(data, foreign, limit, rng)
    yield from _open(data, foreign, limit, rng)


def _npov(data: Path, foreign: list[str], limit: int, rng: random.Random) -> Iterator[Sample]:
    rows = read_rows(data / "npov_perspectrum/mixed_train.jsonl")
    for row in rng.sample(rows, min(limit, len(rows))):
        given = tuple(a["text"] for a in row["pro_arguments"] + row["con_arguments"])
        texts = [s["text"] for s in row["sentences"]]
        for i, sentence in enumerate(row["sentences"]):
            kinds = {part["kind"] for part in sentence["parts"]}
            if len(kinds) != 1 or kinds == {"repeated"}:
                continue
            kind, rest = kinds.pop(), texts[:i] + texts[i + 1 :]
            yield "arguments", kind, kind == "supported", row["query"], rest, texts[i], given
            if kind != "unsupported_same_topic":
                yield "relevance", f"npov {kind}", kind == "supported", row["query"], rest, texts[i], ()
        for text in rng.sample(foreign, min(3, len(foreign))):
            yield "arguments", "foreign", False, row["query"], texts, text, given
            yield "relevance", "npov foreign", False, row["query"], texts, text, ()


def _passages(data: Path, foreign: list[str], limit: int, rng: random.Random) -> Iterator[Sample]:
    sources = {
        r["source_id"]: r["source"] for r in read_rows(data / "ragtruth_subset/sources.jsonl") if r["task"] == "qa"
    }
    rows = [r for r in read_rows(data / "ragtruth_subset/responses.jsonl") if r["task"] == "qa"]
    for row in rng.sample(rows, min(limit, len(rows))):
        source = sources[row["source_id"]]
        given = tuple(p.strip() for p in re.split(r"passage \d+:", source["passages"]) if p.strip())
        cut = [s for s in split_sentences(row["response"]) if s.text]
        texts = [s.text for s in cut]
        for i, sentence in enumerate(cut):
            bad = sum(
                max(0, min(x["end"], sentence.text_end) - max(x["start"], sentence.text_start)) for x in row["labels"]
            )
            if bad and bad < 0.6 * len(sentence.text):
                continue
            kind, rest = ("marked" if bad else "supported"), texts[:i] + texts[i + 1 :]
            yield "passages", kind, not bad, source["question"], rest, texts[i], given
        for text in rng.sample(foreign, min(3, len(foreign))):
            yield "passages", "foreign", False, source["question"], texts, text, given


def _open(data: Path, foreign: list[str], limit: int, rng: random.Random) -> Iterator[Sample]:
    people, experts = (read_rows(data / name) for name in ("haluquestqa/annotations.jsonl", "expertqa/answers.jsonl"))
    answers = [(r["question"], r[key]) for r in people for key in ("answer1", "answer2")]
    answers += [(r["question"], re.sub(r"\s*\[\d+\]", "", r["answer"])) for r in experts]
    chosen = rng.sample(answers, min(limit, len(answers)))
    pool = [s.text for _, answer in chosen for s in split_sentences(answer) if len(s.text) > 40]
    for question, answer in chosen:
        texts = [s.text for s in split_sentences(answer) if s.text]
        if not 3 <= len(texts) <= 15:
            continue
        i = rng.randrange(len(texts))
        yield "relevance", "own sentence", True, question, texts[:i] + texts[i + 1 :], texts[i], ()
        yield "relevance", "other answer's", False, question, texts, rng.choice(pool), ()
        for text in rng.sample(foreign, min(3, len(foreign))):
            yield "relevance", "foreign", False, question, texts, text, ()


if __name__ == "__main__":
    main()
