"""Answers with passages: what of people's remarks the embedded default finds, and what the whole loop does about it.

    python benchmarks/loop_qa_feedback.py DATA [--critic hallucination]

DATA holds `qa_feedback`; `prediction 1` is the answer. The questions that the verifier was trained on are left out, and
so are those on which constants were fitted. Found is measured by ROC AUC: the critic and the verifier beside floors
that read little (word overlap) or nothing (length); the detectors are `eirene evaluate detectors` on what
`verifier_data.py --report` keeps. Passage sentences are those that bear on the question. Intervals: 95 %, bootstrap
over questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import numpy as np
from harness import area, arguments, percent, show, shown, write_json
from loop_truth import words
from numpy.typing import NDArray
from qa_cases import QaCase, fitted_on, missing_sentences, prepare_qa, read_qa
from verifier_data import parts

from eirene.agent.backends import shipped_verifier
from eirene.agent.run import arefine
from eirene.alignment.comparison import passage_sentences
from eirene.core.loop_settings import Critic as CriticName
from eirene.eval.metrics.bootstrap import Estimate
from eirene.feedback_model.embedded.evidence import load_critic
from eirene.feedback_model.embedded.faults import missing_probabilities, unsupported_margins
from eirene.models.encoder import load_encoder
from eirene.text.words import stems
from eirene.verification.claims import claim_of
from eirene.verification.context import ContextReader

Floats = NDArray[np.float64]
Score = Callable[[QaCase], Floats]
CRITIC = load_critic()


def main() -> None:
    """Measures both and prints."""
    parser = arguments(__doc__)
    parser.add_argument("--critic", default="completeness", choices=["completeness", "hallucination", "both"])
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    trained_on = {case.item.id for case in parts(args.data, "qa_feedback")["train"]}
    rows = [row for row in read_qa(args.data / "qa_feedback") if str(row["id"]) not in trained_on]
    cases = prepare_qa([row for row in rows if not fitted_on(row)][: args.limit], load_encoder())
    found = areas(cases)
    answers = asyncio.run(run_loop(cases, args.seed, args.critic))
    done = {name: percent(pairs, range(len(cases))) for name, pairs in effects(cases, answers).items()}
    for title, digits, table in (("Found, ROC AUC", 3, found), ("What the loop did, %", 1, done)):
        rows = [(name, shown(one, digits), str(one.n)) for name, one in table.items()]
        show(f"{title}: {len(cases)} answers with passages", ("", "[95 %]", "of"), rows)
    write_json(args.json, {name: one.to_json() for name, one in {**found, **done}.items()})


async def run_loop(cases: Sequence[QaCase], seed: int, critic: CriticName) -> list[str]:
    """The answers that are shown."""
    return [(await arefine(case.item, seed=seed, critic=critic)).answer for case in cases]


def areas(cases: Sequence[QaCase]) -> dict[str, Estimate]:
    """How well each score tells what people missed, and what they marked."""
    found = {}
    for name, score in OF_PASSAGES.items():
        found[f"missing, passage sentence: {name}"] = told(cases, score, lambda c: list(c.argument_is_missing))
        found[f"missing, answer: {name}"] = told(cases, lambda c, f=score: f(c).max(keepdims=True), any_missing)
    for name, one in OF_ANSWERS.items():
        found[f"missing, answer: {name}"] = told(cases, lambda c, f=one: np.array([f(c)]), any_missing)
    for name, score in OF_SENTENCES.items():
        found[f"unsupported, sentence: {name}"] = told(cases, score, faulty_sentences)
    return found


def told(cases: Sequence[QaCase], score: Score, labels: Callable[[QaCase], list[bool]]) -> Estimate:
    """The area of a score of all cases; questions are drawn whole."""
    rows = [
        (label, float(value), n)
        for n, case in enumerate(cases)
        for label, value in zip(labels(case), score(case), strict=True)
    ]
    return area(*zip(*rows, strict=True))


def missing(case: QaCase) -> Floats:
    """The critic's probability that each of the passages' sentences is missing."""
    return missing_probabilities(case.comparison, case.evidence, CRITIC, np.ones(len(case.evidence.atoms), bool))


def unread(case: QaCase) -> Floats:
    """One minus the verifier's probability that the answer supports each of the passages' sentences."""
    claims = [claim_of(a) for a in case.comparison.alignment.arguments]
    readings = ContextReader(shipped_verifier(), [case.item.answer]).read(claims)
    return 1.0 - np.array([reading.supported for reading in readings])


def unsaid(case: QaCase) -> Floats:
    """The share of their words that the answer lacks."""
    return 1.0 - np.array([overlap(a, case.item.answer) for a in case.comparison.alignment.arguments])


def asked(case: QaCase) -> Floats:
    """The share of the question's words that they have."""
    return np.array([overlap(case.item.question, a) for a in case.comparison.alignment.arguments])


def unsupported(case: QaCase) -> Floats:
    """The critic's margin of each sentence of the answer."""
    return by_sentence(case, unsupported_margins(case.comparison, case.evidence, CRITIC))


def ungrounded(case: QaCase) -> Floats:
    """The share of its words that no passage has."""
    known = " ".join(passage_sentences(case.item.context or ()))
    return np.array([1.0 - overlap(s.text, known) for s in case.comparison.alignment.sentences])


def lengths(case: QaCase) -> Floats:
    """Its words."""
    return np.array([len(s.text.split()) for s in case.comparison.alignment.sentences], float)


OF_PASSAGES: dict[str, Score] = {
    "critic": missing, "verifier": unread, "verifier and question's words": lambda c: unread(c) * asked(c),
    "words unsaid": unsaid, "question's words": asked,
}  # fmt: skip
OF_ANSWERS: dict[str, Callable[[QaCase], float]] = {
    "shortness": lambda c: -float(len(c.item.answer.split())),
    "number of bearing sentences": lambda c: float(len(c.argument_is_missing)),
}
OF_SENTENCES: dict[str, Score] = {"critic": unsupported, "words not in passages": ungrounded, "length": lengths}


def any_missing(case: QaCase) -> list[bool]:
    """Whether people missed anything in the answer."""
    return [bool(missing_sentences(case.row))]


def faulty_sentences(case: QaCase) -> list[bool]:
    """Whether people marked each sentence."""
    return list(by_sentence(case, np.array(case.part_is_unsupported, float)) > 0)


def by_sentence(case: QaCase, values: Floats) -> Floats:
    """The worst part of each sentence."""
    where = np.array([case.comparison.alignment.units[u].sentence for u in case.evidence.atoms])
    return np.array([values[where == s].max() for s in range(len(case.comparison.alignment.sentences))])


def overlap(text: str, other: str) -> float:
    """Share of a text's content words that another has (ROUGE-1 recall of types)."""
    own, has = stems(text), set(stems(other))
    return sum(w in has for w in own) / max(len(own), 1)


def effects(cases: Sequence[QaCase], answers: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    """What the loop did, from texts alone: (cases, out of) for each question."""
    found: dict[str, list[tuple[int, int]]] = {}
    for case, final in zip(cases, answers, strict=True):
        before, after = words(case.item.answer), words(final)
        missed = {words(t) for t in missing_sentences(case.row)}
        given = {words(t) for t in passage_sentences(case.item.context or ())}
        added = [t for t in given if after.count(t) > before.count(t)]
        wanted = [t for t in added if any(t in m or m in t for m in missed)]
        faulty = faulty_sentences(case)
        gone = [words(s.text) not in after for s in case.comparison.alignment.sentences]
        removed = sum(f and g for f, g in zip(faulty, gone, strict=True))
        for name, pair in {
            "missing sentences recovered": (sum(any(t in m or m in t for t in added) for m in missed), len(missed)),
            "sentences added that nobody missed, of those added": (len(added) - len(wanted), len(added)),
            "unsupported sentences removed": (removed, sum(faulty)),
            "sound sentences removed": (sum(gone) - removed, len(faulty) - sum(faulty)),
            "answers returned byte for byte": (int(final == case.item.answer), 1),
        }.items():
            found.setdefault(name, []).append(pair)
    return found


if __name__ == "__main__":
    main()
