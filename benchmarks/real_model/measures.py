"""What a rewrite is worth by what people said of the answer, from the texts alone: no detector of ours has a say.

ROUGE-L (Lin 2004) is F1 over words, case and punctuation aside. A stretch is gone if its words no longer stand in a
row; a sentence is said if one sentence of the answer has 60 % of its content words, stemmed: so people's own
corrections say two thirds of what they had marked as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from loop_truth import arguments_of, parts_of, words

from benchmarks.real_model.rows import Case
from eirene.text.sentences import split_sentences
from eirene.text.words import stems

SAID = 0.6
NEAR = 0.01
"""A change of ROUGE-L that is none."""
Pairs = dict[str, tuple[float, float]]
"""For each measure (cases, out of)."""


def measure(case: Case, final: str) -> Pairs:
    """What became of one answer. `better` and `worse` are by the set's one yardstick; `open` has none but readers."""
    return MEASURES[case.set](case, final) | {"changed": (final != case.item["answer"], 1)}


def against_correction(case: Case, final: str) -> Pairs:
    """QA-Feedback: nearer to the person's text, or farther; stretches gone, missing sentences said, sound ones lost."""
    before, known = case.item["answer"], case.known
    now = words(final)
    nearer = rouge_l(final, known["corrected"]) - rouge_l(before, known["corrected"])
    spans = [(s["kind"], words(s["text"]) not in now) for s in known["spans"] if words(s["text"]).strip()]
    factual = [gone for kind, gone in spans if kind in ("Wrong-Grounding", "Unverifiable")]
    unsaid = [t for t in known["missing"] if nearest(t, before) < SAID]
    sound = [s.text for s in split_sentences(before) if words(s.text) in words(known["corrected"])]
    return {
        "nearer": (nearer, 1), "better": (nearer > NEAR, 1), "worse": (nearer < -NEAR, 1),
        "faulty stretches gone": (sum(gone for _, gone in spans), len(spans)),
        "untrue stretches gone": (sum(factual), len(factual)),
        "missing sentences said": (sum(nearest(t, final) >= SAID for t in unsaid), len(unsaid)),
        "sound sentences lost": (sum(nearest(t, final) < SAID for t in sound), len(sound)),
    }  # fmt: skip


def against_tags(case: Case, final: str) -> Pairs:
    """HaluQuestQA: complete sentences lost, and words of people's reasons that are new in the answer."""
    question, before = set(stems(case.item["question"])), set(stems(case.item["answer"]))
    sound = [s["text"] for s in case.known["sentences"] if s["tag"] == "Complete"]
    asked = {w for s in case.known["sentences"] if s["tag"] != "Complete" for w in stems(s["reason"])}
    wanted = asked - before - question
    return {
        "sound sentences lost": (sum(nearest(t, final) < SAID for t in sound), len(sound)),
        "words of the reasons said": (len(wanted & set(stems(final))), len(wanted)),
        "words": (len(final.split()), len(case.item["answer"].split())),
    }


def against_construction(case: Case, final: str) -> Pairs:
    """`mixed_dev`: arguments missing, foreign parts and supported ones lost, by content words: a model has its own."""
    row, before = case.known, case.item["answer"]
    given, missing, parts = arguments_of(row), row["missing_argument_ids"], parts_of(row)
    restored = sum(nearest(given[i], final) >= max(SAID, nearest(given[i], before) + 1e-9) for i in missing)
    foreign = [p["text"] for p in parts if p["argument_id"] is None or p["kind"].startswith("unsupported")]
    gone = sum(nearest(t, final) < SAID for t in foreign)
    held = {p["argument_id"]: p["text"] for p in parts if p["kind"] in ("supported", "repeated")}
    lost = sum(max(nearest(t, final), nearest(given[i], final)) < SAID for i, t in held.items())
    errors = len(missing) + len(foreign)
    left = errors - restored - gone + lost
    return {
        "better": (left < errors, 1), "worse": (left > errors, 1), "errors before": (errors, 1),
        "errors left": (left, 1), "missing arguments said": (restored, len(missing)),
        "foreign parts gone": (gone, len(foreign)), "supported arguments lost": (lost, len(held)),
    }  # fmt: skip


MEASURES: dict[str, Callable[[Case, str], Pairs]] = {
    "qa": against_correction, "open": against_tags, "sides": against_construction,
}  # fmt: skip


def nearest(text: str, answer: str) -> float:
    """The largest share of a text's content words that one sentence of an answer has, in [0, 1]."""
    own = set(stems(text))
    shares = (len(own & set(stems(s.text))) / len(own) for s in split_sentences(answer) if own)
    return max(shares, default=0.0)


def rouge_l(text: str, other: str) -> float:
    """F1 of the longest common subsequence of words, in [0, 1]."""
    a, b = words(text).split(), words(other).split()
    row = np.zeros(len(b) + 1, int)
    for word in a:
        hits = np.concatenate(([0], row[:-1] + np.array([word == w for w in b], int)))
        row = np.maximum.accumulate(np.maximum(row, hits))
    return 2.0 * int(row[-1]) / max(len(a) + len(b), 1)


def repeats(texts: Sequence[str | None]) -> tuple[int, int]:
    """Of an answer's rewrites in turn: second and later ones that repeat an earlier one, and how many there are."""
    made = [" ".join(t.split()) for t in texts if t is not None]
    return sum(t in made[:n] for n, t in enumerate(made) if n), max(len(made) - 1, 0)
