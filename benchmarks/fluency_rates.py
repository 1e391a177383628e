"""Measures the fluency check on sentences that nothing was fitted on: how often it objects, to what it should and not.

    python benchmarks/fluency_rates.py DATA_DIR [--rows 1500] [--seed 0]

A sentence replaces itself with a fault (*in its place*), or is added to a tidy text. Rows are the kept-aside part of
the sets in `fluency_sentences.py`; the thresholds of the check were chosen on the same part.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from fluency_sentences import Said, fraction, is_aside, read_all

from eirene.agent.gate.checks.base import EditCase
from eirene.agent.gate.checks.fluency import fluency
from eirene.core.grounding import Grounding
from eirene.text.edits import sentence_edits
from eirene.text.english import as_sentence

TIDY = "There are several views on this question. Each of them has its reasons."
Rng = np.random.Generator
Fault = Callable[[list[str], Rng], list[str]]
_ENDS = "the a of to and that in is for with because which their are by has"
_LAST = frozenset(_ENDS.split())
_CLAUSES = re.compile(r"(If|When|Because|While|Although|Since) ([^,]{10,80}), ([^,]{10,120})\.")


def _shuffled(words: list[str], rng: Rng) -> list[str]:
    return [words[i] for i in rng.permutation(len(words))]


def _shuffled_part(words: list[str], rng: Rng) -> list[str]:
    at = int(rng.integers(0, max(len(words) - 5, 1)))
    return [*words[:at], *_shuffled(words[at : at + 6], rng), *words[at + 6 :]]


def _swapped(words: list[str], rng: Rng) -> list[str]:
    pairs = [words[i : i + 2][::-1] for i in range(0, len(words), 2)]
    return [word for pair in pairs for word in pair]


def _torn_at(words: list[str], rng: Rng) -> list[str]:
    places = [i for i in range(3, len(words)) if words[i - 1].lower() in _LAST]
    return words[: int(rng.choice(places))] if places else []


FAULTS: dict[str, Fault] = {
    "all words in random order": _shuffled,
    "six words in random order": _shuffled_part,
    "neighbours exchanged throughout": _swapped,
    "reversed": lambda words, rng: words[::-1],
    "halves exchanged": lambda words, rng: words[len(words) // 2 :] + words[: len(words) // 2],
    "two words missing": lambda words, rng: words[: len(words) // 2] + words[len(words) // 2 + 2 :],
}
TORN: dict[str, Fault] = {
    "breaks off after a function word": _torn_at,
    "breaks off anywhere": lambda words, rng: words[: int(rng.integers(3, len(words)))],
    "breaks off anywhere, with a full stop": lambda words, rng: [*words[: int(rng.integers(3, len(words)))], "."],
    "beginning cut off": lambda words, rng: words[int(rng.integers(1, len(words) - 3)) :],
}


def case_of(before: str, after: str) -> EditCase:
    """Nothing given, nothing asked for."""
    return EditCase("", before, after, sentence_edits(before, after), Grounding("derived", ()))


def show(name: str, cases: Iterable[EditCase]) -> None:
    """Prints a row of the table: objected to, of how many."""
    found = [any(True for _ in fluency(case)) for case in cases if case.before != case.after]
    print(f"| {name} | {sum(found)} of {len(found)} | {100 * sum(found) / max(len(found), 1):.1f} % |", flush=True)


def harms(sentences: list[str], rng: Rng) -> None:
    """Prints how often faults are found."""
    for name, fault in FAULTS.items():
        rows = [(s, " ".join(fault(s.rstrip(".").split(), rng)) + ".") for s in sentences]
        show(f"{name}, in its place", (case_of(f"{TIDY} {s}", f"{TIDY} {new}") for s, new in rows))
        if fault is _shuffled:
            show(f"{name}, added", (case_of(TIDY, f"{TIDY} {new}") for _, new in rows))
            show(f"{name}, mended", (case_of(f"{TIDY} {new}", f"{TIDY} {s}").swapped for s, new in rows))
    for name, fault in TORN.items():
        torn = [" ".join(fault(s.rstrip(".").split(), rng)) for s in sentences if len(s.split()) > 8]
        show(f"{name}, added", (case_of(TIDY, f"{TIDY} {new}".replace(" .", ".")) for new in torn if new))


def main() -> None:
    """Reads the arguments, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    seen: dict[str, Said] = {}
    for said in read_all(options.data):
        seen.setdefault(said.text, said)
    sets: dict[str, list[str]] = defaultdict(list)
    for said in seen.values():
        if is_aside(said):
            sets[said.source].append(said.text)
    pool = [s for name in ("haluquestqa", "expertqa", "qa_feedback", "ragtruth", "perspectrum") for s in sets[name]]
    whole = [s for s in pool if len(s.split()) >= 6 and s.endswith(".") and s[0].isupper()]
    print("| kind | objected to | share |\n| --- | --- | --- |")
    harms([whole[i] for i in rng.permutation(len(whole))[: options.rows]], rng)
    for name, sentences in sets.items():
        some = [sentences[i] for i in rng.permutation(len(sentences))[: options.rows]]
        show(f"rightful: sentences of {name}, added", (case_of(TIDY, f"{TIDY} {s}") for s in some))
    rows = map(json.loads, (options.data / "npov_perspectrum/equivalence_train.jsonl").open(encoding="utf-8"))
    pairs = [(r["argument"], r["other"]) for r in rows if r["equivalent"] and fraction(str(r["claim_id"])) < 0.15]
    likely = [(f"{TIDY} {as_sentence(a)}", f"{TIDY} {as_sentence(b)}") for a, b in pairs]
    show("rightful: an argument in a person's other words", (case_of(a, b) for a, b in likely))
    clauses = [(s, found) for texts in sets.values() for s in texts if (found := _CLAUSES.fullmatch(s))]
    turned = [(s, f"{m[3][0].upper()}{m[3][1:]} {m[1].lower()} {m[2]}.") for s, m in clauses]
    show("rightful: clauses exchanged", (case_of(f"{TIDY} {a}", f"{TIDY} {b}") for a, b in turned))


if __name__ == "__main__":
    main()
