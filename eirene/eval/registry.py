"""Every detector that ships, by name: what it needs, what it says, and how it is built. One line each."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass

from eirene.core.errors import InputError
from eirene.eval.base import GIVEN, Detector, Need, UnmetDetector, unmet
from eirene.eval.resources import Resources


@dataclass(frozen=True, slots=True)
class Entry:
    """A detector in the table. `builder` is `module:function`, a function from `Resources` to the detector: it is
    imported when the detector is asked for, so that a heavy one costs the others nothing. `needs` are the detector's.
    """

    builder: str
    needs: frozenset[Need]
    about: str

    def build(self, resources: Resources) -> Detector:
        """The detector. Raises what loading a model raises."""
        module, _, function = self.builder.partition(":")
        built: Detector = getattr(importlib.import_module(module), function)(resources)
        return built


SALIENCE: frozenset[Need] = frozenset({"given", "local_model"})
CLASSIFIER: frozenset[Need] = frozenset({"given", "classifier"})
NLI: frozenset[Need] = frozenset({"given", "nli"})
JUDGE: frozenset[Need] = frozenset({"judge"})
SAMPLES: frozenset[Need] = frozenset({"samples"})

DETECTORS: dict[str, Entry] = {
    "rouge": Entry(
        "eirene.eval.detectors.rouge:build", GIVEN, "overlap of stemmed content words with what was given (NPOV 3.1)"
    ),
    "alignment": Entry(
        "eirene.eval.detectors.alignment:build", GIVEN, "meaning of clauses against what was given (encoder)"
    ),
    "arrangement": Entry(
        "eirene.eval.detectors.alignment:build", GIVEN, "arguments under the wrong side, or made twice (encoder)"
    ),
    "classifier": Entry(
        "eirene.eval.detectors.classifier:build", CLASSIFIER, "a tuned language model's labels (NPOV 3.3)"
    ),
    "nli": Entry("eirene.eval.detectors.nli:build", NLI, "entailment by a sequence classifier, in the manner of TRUE"),
    "salience": Entry(
        "eirene.eval.detectors.salience:build", SALIENCE, "a local model's gradients, largest share (NPOV 3.2)"
    ),
    "salience-sum": Entry(
        "eirene.eval.detectors.salience:build_sum", SALIENCE, "the same, shares summed (NPOV, appendix C)"
    ),
    "salience-entropy": Entry(
        "eirene.eval.detectors.salience:build_entropy", SALIENCE, "the same, negative entropy of the shares"
    ),
    "chainpoll": Entry(
        "eirene.eval.detectors.chainpoll:build", JUDGE, "adherence where text was given, else correctness"
    ),
    "chainpoll-adherence": Entry(
        "eirene.eval.detectors.chainpoll:build_adherence", JUDGE | GIVEN, "share of polls that find something not given"
    ),
    "chainpoll-correctness": Entry(
        "eirene.eval.detectors.chainpoll:build_correctness", JUDGE, "share of polls that find something false"
    ),
    "selfcheck-ngram": Entry(
        "eirene.eval.detectors.selfcheck.detectors:build_ngram", SAMPLES, "words that other answers make unlikely"
    ),
    "selfcheck-embedding": Entry(
        "eirene.eval.detectors.selfcheck.detectors:build_embedding",
        SAMPLES,
        "sentences far from those of other answers (encoder)",
    ),
    "selfcheck-bertscore": Entry(
        "eirene.eval.detectors.selfcheck.bertscore:build",
        SAMPLES | {"local_model"},
        "the same by BERTScore, on the encoder that the local model names",
    ),
    "geval": Entry("eirene.eval.detectors.geval:build", JUDGE, "expected rating from 1 to 5, by a judge (G-Eval)"),
    "gptscore": Entry(
        "eirene.eval.detectors.likelihood:build",
        frozenset({"local_model"}),
        "how likely a local model finds the answer (GPTScore)",
    ),
    "pseudo-entropy": Entry(
        "eirene.eval.detectors.likelihood:build",
        frozenset({"token_logprobs"}),
        "the least sure token (ChainPoll, appendix A.4)",
    ),
}
"""A judge's or a local model's detector whose need is not met still has its place: every case is unscored."""


def parse_names(text: str) -> list[str]:
    """The detectors named in a text with commas between, each once, in order; raises `InputError` for unknown ones."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    check_names(names)
    return names


def check_names(names: Sequence[str]) -> None:
    """Raises `InputError` for an unknown detector, and where none is named."""
    unknown = [name for name in names if name not in DETECTORS]
    if unknown or not names:
        what = f"unknown detector {unknown[0]!r}" if unknown else "no detector named"
        raise InputError(f"{what}; known: {', '.join(DETECTORS)}", field="detectors")


def build_detector(name: str, resources: Resources) -> Detector:
    """The detector of that name; where a model that it needs is not there, one that says so of every case."""
    check_names([name])
    entry = DETECTORS[name]
    missing = resources.lacks(entry.needs)
    if missing:
        return UnmetDetector(name, needs=entry.needs, why=unmet(*missing))
    return entry.build(resources)


def build_detectors(names: Sequence[str], resources: Resources) -> tuple[Detector, ...]:
    """The detectors in the order of their names, on one set of resources. Raises what `check_detectors` raises."""
    check_detectors(names, resources)
    return tuple(build_detector(name, resources) for name in names)


def check_detectors(names: Sequence[str], resources: Resources) -> None:
    """Raises `InputError` for an unknown detector, and for one whose model is not there: it would score nothing."""
    check_names(names)
    for name in names:
        lacking = resources.lacks(DETECTORS[name].needs)
        if lacking:
            raise InputError(f"the detector {name!r} {unmet(*lacking)}", field="detectors")
