"""Answers with passages: what of people's remarks the embedded default finds, and what the whole loop does about it.

    python benchmarks/loop_qa_feedback.py SHARED_DATA [--all] [--json OUT] [--seed 0]

SHARED_DATA holds `qa_feedback`; `prediction 1` is the answer. Half of the questions the verifier was trained on: they
are left out, and so are those on which constants were fitted (`--all`: these are measured, too). Found is measured by
ROC AUC: the critic, the verifier and the detectors beside floors that read little (word overlap) or nothing (length,
chance). Passage sentences are those that bear on the question. Intervals: 95 %, bootstrap over questions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from loop_truth import words
from numpy.typing import NDArray
from qa_cases import QaCase, fitted_on, missing_sentences, prepare_qa, read_qa
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score
from verifier_data import parts

from eirene.agent.backends import resolve_backend, shipped_verifier
from eirene.agent.run import arefine
from eirene.alignment.comparison import passage_sentences
from eirene.core.grounding import grounding_for
from eirene.core.loop_settings import Critic as CriticName
from eirene.core.scores import Scores, number
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.feedback_model.embedded.evidence import Critic, load_critic
from eirene.feedback_model.embedded.faults import missing_probabilities, unsupported_margins
from eirene.models.encoder import load_encoder
from eirene.text.words import stems
from eirene.verification.claims import claim_of
from eirene.verification.context import ContextReader

Floats = NDArray[np.float64]
Scored = tuple[Floats, NDArray[np.bool_], NDArray[np.int64]]
console = Console(width=118)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--all", action="store_true", help="also the questions that constants were fitted on")
    parser.add_argument("--critic", default="completeness", choices=["completeness", "hallucination", "both"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    trained_on = {case.item.id for case in parts(args.data, "qa_feedback")["train"]}
    rows = [row for row in read_qa(args.data / "qa_feedback") if str(row["id"]) not in trained_on]
    rows = [row for row in rows if args.all or not fitted_on(row)]
    start = time.perf_counter()
    encoder = load_encoder()
    cases, critic = prepare_qa(rows, encoder), load_critic()
    table = scores(cases, critic, np.random.default_rng(args.seed)) | asyncio.run(detected(cases))
    found = {name: auc_row(table[name]) for name in sorted(table)}
    answers = asyncio.run(run_loop(cases, args.seed, args.critic))
    done = {name: share_row(pairs) for name, pairs in effects(cases, answers).items()}
    report = {"n": len(rows), "encoder": encoder.digest, "found": found, "loop": done}
    report["seconds"] = round(time.perf_counter() - start, 1)
    show(report)
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


async def run_loop(cases: Sequence[QaCase], seed: int, critic: CriticName) -> list[str]:
    return [(await arefine(case.item, seed=seed, critic=critic)).answer for case in cases]


def scores(cases: Sequence[QaCase], critic: Critic, rng: np.random.Generator) -> dict[str, Scored]:
    """Every score with its labels and questions; higher means more likely faulty."""

    def missing(case: QaCase) -> Floats:
        return missing_probabilities(case.comparison, case.evidence, critic, np.ones(len(case.evidence.atoms), bool))

    def unsaid(case: QaCase) -> Floats:
        return 1.0 - np.array([share(a, case.item.answer) for a in case.comparison.alignment.arguments])

    def asked(case: QaCase) -> Floats:
        return np.array([share(case.item.question, a) for a in case.comparison.alignment.arguments])

    def unread(case: QaCase) -> Floats:
        claims = [claim_of(a) for a in case.comparison.alignment.arguments]
        readings = ContextReader(shipped_verifier(), [case.item.answer]).read(claims)
        return 1.0 - np.array([reading.supported for reading in readings])

    def unsupported(case: QaCase) -> Floats:
        return by_sentence(case, unsupported_margins(case.comparison, case.evidence, critic))

    def ungrounded(case: QaCase) -> Floats:
        known = " ".join(passage_sentences(case.item.context or ()))
        return np.array([1.0 - share(s.text, known) for s in case.comparison.alignment.sentences])

    def lengths(case: QaCase) -> Floats:
        return np.array([len(s.text.split()) for s in case.comparison.alignment.sentences], float)

    def any_missing(case: QaCase) -> bool:
        return bool(missing_sentences(case.row))

    table: dict[str, Scored] = {}
    for name, score in (
        ("critic", missing), ("words unsaid", unsaid), ("question's words", asked), ("verifier", unread),
        ("verifier and question's words", lambda c: unread(c) * asked(c)),
    ):  # fmt: skip
        table[f"missing, passage sentence: {name}"] = pooled(cases, score, lambda c: list(c.argument_is_missing))
    table["missing, passage sentence: chance"] = pooled(
        cases, lambda c: rng.random(len(c.argument_is_missing)), lambda c: list(c.argument_is_missing)
    )
    of_answers: tuple[tuple[str, Callable[[QaCase], float]], ...] = (
        ("critic", lambda c: float(missing(c).max())),
        ("words unsaid", lambda c: float(unsaid(c).max())),
        ("verifier and question's words", lambda c: float((unread(c) * asked(c)).max())),
        ("shortness", lambda c: -float(len(c.item.answer.split()))),
        ("number of bearing sentences", lambda c: float(len(c.argument_is_missing))),
        ("chance", lambda c: float(rng.random())),
    )
    for name, one in of_answers:
        table[f"missing, answer: {name}"] = pooled(cases, lambda c, f=one: np.array([f(c)]), lambda c: [any_missing(c)])
    for name, score in (("critic", unsupported), ("words not in passages", ungrounded), ("length", lengths)):
        table[f"unsupported, sentence: {name}"] = pooled(cases, score, faulty_sentences)
    table["unsupported, sentence: chance"] = pooled(
        cases, lambda c: rng.random(len(c.comparison.alignment.sentences)), faulty_sentences
    )
    return table


async def detected(cases: Sequence[QaCase]) -> dict[str, Scored]:
    """The gate's detectors on the same labels."""
    table: dict[str, Scored] = {}
    for detector in resolve_backend("embedded").detectors:
        found = [
            await detector.score(Case(c.item.question, c.item.answer, grounding_for(c.item)), meter=Meter())
            for c in cases
        ]
        coverage = iter([np.array([number(s.coverage)], float) for s in found])
        sentences = iter(
            [_of_sentences(s, len(c.comparison.alignment.sentences)) for s, c in zip(found, cases, strict=True)]
        )
        table[f"missing, answer: detector {detector.name}"] = pooled(
            cases, lambda c, it=coverage: next(it), lambda c: [bool(missing_sentences(c.row))]
        )
        table[f"unsupported, sentence: detector {detector.name}"] = pooled(
            cases, lambda c, it=sentences: next(it), faulty_sentences
        )
    return table


def _of_sentences(scores: Scores, n: int) -> Floats:
    """The scores of an answer's n sentences, NaN where one has none."""
    found = [number(s.hallucination) for s in scores.sentences]
    return np.array(found if len(found) == n else [None] * n, float)


def share(text: str, other: str) -> float:
    """Share of a text's content words that another has (ROUGE-1 recall of types)."""
    own, has = stems(text), set(stems(other))
    return sum(w in has for w in own) / max(len(own), 1)


def by_sentence(case: QaCase, values: Floats) -> Floats:
    """The worst part of each sentence."""
    where = np.array([case.comparison.alignment.units[u].sentence for u in case.evidence.atoms])
    return np.array([values[where == s].max() for s in range(len(case.comparison.alignment.sentences))])


def faulty_sentences(case: QaCase) -> list[bool]:
    return list(by_sentence(case, np.array(case.part_is_unsupported, float)) > 0)


def pooled(
    cases: Sequence[QaCase], score: Callable[[QaCase], Floats], labels: Callable[[QaCase], list[bool]]
) -> Scored:
    values = [score(case) for case in cases]
    truth = [labels(case) for case in cases]
    groups = [[n] * len(t) for n, t in enumerate(truth)]
    flat = [np.concatenate([np.asarray(x) for x in xs]) for xs in (values, truth, groups)]
    return flat[0].astype(float), flat[1].astype(bool), flat[2].astype(np.int64)


def auc_row(scored: Scored, *, draws: int = 500) -> dict[str, Any]:
    """AUC and its interval over questions, of what is scored; `unscored` counts the rest, or says why there is none."""
    known = ~np.isnan(scored[0])
    score, truth, group = (part[known] for part in scored)
    counts = {"n": len(truth), "faulty": int(truth.sum())}
    if not 0 < counts["faulty"] < counts["n"]:
        return {"unscored": "no two kinds to tell apart among what is scored", **counts}
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(draws):
        weight = np.bincount(rng.integers(group.max() + 1, size=group.max() + 1), minlength=group.max() + 1)[group]
        if 0 < weight[truth].sum() < weight.sum():
            drawn.append(roc_auc_score(truth, score, sample_weight=weight))
    low, high = np.quantile(drawn, [0.025, 0.975])
    auc = float(roc_auc_score(truth, score))
    return {"auc": auc, "interval": (float(low), float(high)), **counts, "unscored": int((~known).sum())}


def effects(cases: Sequence[QaCase], answers: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    """What the loop did, from texts alone: (cases, out of) for each question."""
    found: dict[str, list[tuple[int, int]]] = {}

    def count(name: str, hits: int, total: int) -> None:
        found.setdefault(name, []).append((hits, total))

    for case, final in zip(cases, answers, strict=True):
        before, after = words(case.item.answer), words(final)
        missed = {words(t) for t in missing_sentences(case.row)}
        given = {words(t) for t in passage_sentences(case.item.context or ())}
        added = [t for t in given if after.count(t) > before.count(t)]
        wanted = [t for t in added if any(t in m or m in t for m in missed)]
        faulty = faulty_sentences(case)
        stands = [words(s.text) in after for s in case.comparison.alignment.sentences]
        count("missing sentences recovered", sum(any(t in m or m in t for t in added) for m in missed), len(missed))
        count("sentences added that nobody missed, of those added", len(added) - len(wanted), len(added))
        count("answers with a sentence added that nobody missed", int(len(added) > len(wanted)), 1)
        count(
            "unsupported sentences removed", sum(f and not s for f, s in zip(faulty, stands, strict=True)), sum(faulty)
        )
        sound = [not s for f, s in zip(faulty, stands, strict=True) if not f]
        count("sound sentences removed", sum(sound), len(sound))
        count("answers returned byte for byte", int(final == case.item.answer), 1)
    return found


def share_row(pairs: Sequence[tuple[int, int]], *, draws: int = 2000) -> dict[str, Any]:
    table = np.array(pairs)
    rng = np.random.default_rng(0)
    sums = rng.multinomial(len(table), np.full(len(table), 1 / len(table)), size=draws) @ table
    rates = 100.0 * sums[:, 0] / np.maximum(sums[:, 1], 1)
    low, high = np.quantile(rates, [0.025, 0.975])
    hits, total = (int(x) for x in table.sum(axis=0))
    percent = 100.0 * hits / total if total else None
    return {"percent": percent, "interval": (float(low), float(high)), "hits": hits, "of": total}


def show(report: dict[str, Any]) -> None:
    table = Table(title=f"Found in {report['n']} answers with passages, ROC AUC")
    for column in ("score", "AUC", "95 % interval", "n", "faulty", "unscored"):
        table.add_column(column, justify="left" if column == "score" else "right")
    for name, row in report["found"].items():
        low, high = row.get("interval", (np.nan, np.nan))
        told = [f"{row['auc']:.3f}", f"{low:.3f} to {high:.3f}"] if "auc" in row else ["unscored", "-"]
        left_out = str(row["unscored"]) if "auc" in row else "all"
        table.add_row(name, *told, str(row["n"]), str(row["faulty"]), left_out)
    console.print(table)
    loop = Table(title="What the whole loop did (%)")
    for column in ("", "%", "95 % interval", "of"):
        loop.add_column(column, justify="right" if column else "left")
    for name, row in report["loop"].items():
        low, high = row["interval"]
        percent = "-" if row["percent"] is None else f"{row['percent']:.1f}"
        loop.add_row(name, percent, f"{low:.1f} to {high:.1f}", str(row["of"]))
    console.print(loop)
    console.print({key: report[key] for key in ("seconds", "encoder")})


if __name__ == "__main__":
    main()
