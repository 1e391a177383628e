"""Answers with passages: what of people's remarks the embedded default finds.

    python benchmarks/loop_qa_feedback.py DATA

DATA holds `qa_feedback`; `prediction 1` is the answer. The questions that the verifier was trained on are left out, and
so are those on which constants were fitted. Found is measured by ROC AUC: the critic beside floors that read little
(word overlap) or nothing (length); the detectors are `eirene evaluate detectors` on what `recipes.verifier`
keeps, and which passage sentences people missed `fit_unsaid.py` measures. Intervals: 95 %, bootstrap over questions.
What the loop does about it: `benchmarks/real_model`, arm `embedded`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from harness import area, arguments, show, shown, write_json
from numpy.typing import NDArray
from qa_cases import QaCase, missing_sentences, prepare_qa, read_qa

from eirene.alignment.comparison import passage_sentences
from eirene.eval.metrics.bootstrap import Estimate
from eirene.feedback_model.embedded.evidence import load_critic
from eirene.feedback_model.embedded.faults import unsupported_margins
from eirene.models.encoder import load_encoder
from eirene.text.words import stems
from recipes.verifier.splits import fitted_on, parts

Floats = NDArray[np.float64]
Score = Callable[[QaCase], Floats]
CRITIC = load_critic()


def main() -> None:
    """Measures and prints."""
    parser = arguments(__doc__)
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    trained_on = {case.item.id for case in parts(args.data, "qa_feedback")["train"]}
    rows = [row for row in read_qa(args.data / "qa_feedback") if str(row["id"]) not in trained_on]
    cases = prepare_qa([row for row in rows if not fitted_on(row)][: args.limit], load_encoder())
    found = areas(cases)
    rows = [(name, shown(one), str(one.n)) for name, one in found.items()]
    show(f"Found, ROC AUC: {len(cases)} answers with passages", ("", "[95 %]", "of"), rows)
    write_json(args.json, {name: one.to_json() for name, one in found.items()})


def areas(cases: Sequence[QaCase]) -> dict[str, Estimate]:
    """How well each score tells what people missed, and what they marked."""
    found = {}
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


if __name__ == "__main__":
    main()
