"""The interfaces of detectors, (question, given text, answer) -> error scores, and of the pairwise judge."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from eirene.core.grounding import ArgumentGroup, Grounding, grounding_for
from eirene.core.history import HistoryTurn, query_in_place
from eirene.core.records import Item
from eirene.core.scores import PairJudgement, Scores, Unscored
from eirene.core.usage import Meter
from eirene.prompts.history import PROBE
from eirene.text.thinking import without_thinking

Need = Literal[
    "given", "judge", "local_model", "classifier", "detector_model", "hub_model", "calibration", "samples",
    "token_logprobs",
]  # fmt: skip
"""`given`: arguments or passages in the row. `judge`: a chat model. `local_model`: a causal LM on this machine.
`classifier`: a causal LM tuned to tell errors. `detector_model`: the model of a published detector; `hub_model`: the
same, which the hub has where none is named. `calibration`: a file of `eirene calibrate detectors`.
`samples`: other answers to the same question. `token_logprobs`: the answer's tokens, each with its likeliest
alternatives' log-probabilities. The last two come with the row or from a model."""

NO_COVERAGE = Unscored(unscored="this detector looks for hallucinations only")
_BLANK_LINE = re.compile(r"[^\S\n]*\n[^\S\n]*\n\s*(?=\S)")
GIVEN: frozenset[Need] = frozenset({"given"})
NOTHING: frozenset[Need] = frozenset()

_HOW_TO_MEET: dict[Need, str] = {
    "given": "given text: 'perspectives' or 'context' in the row",
    "judge": "a judge: name a chat model with --judge provider:model, or hf:path-or-id or gguf:FILE",
    "local_model": "a local model: name one with --local-model hf:path-or-id (gptscore: or gguf:FILE)",
    "classifier": "a classifier: name one of `recipes.train classifier` with --classifier hf:path-or-id+adapter",
    "detector_model": "a model of its own: name one with --detector-model hf:path-or-id",
    "hub_model": "a model of its own, which the hub has; or name one with --detector-model",
    "calibration": "a calibration: name a file made by `eirene calibrate detectors` with --calibration FILE",
    "samples": "other answers to the question: a list of texts under 'samples' in the row's meta, or a model that "
    "draws them (--judge or --local-model)",
    "token_logprobs": "token log-probabilities: 'token_logprobs' in the row's meta (for each token a list of the "
    "likeliest ones'), or --local-model hf:path-or-id or gguf:FILE",
}


def unmet(*needs: Need) -> str:
    """The reason of an unscored answer: what is not there, and the option that would give it."""
    return "needs " + "; and ".join(_HOW_TO_MEET[need] for need in needs)


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to be scored against what was given.

    `samples` are other answers to the question. `token_logprobs` has for each token of the answer the
    log-probabilities of its likeliest alternatives, itself among them or not, in any order. Both are empty where the
    row brings none. `history` is the conversation before the question. `introduction` stands in the text before the
    answer, white space and all, and is not scored; scores of words and sentences count from the answer's beginning.
    """

    question: str
    answer: str
    given: Grounding
    samples: tuple[str, ...] = ()
    token_logprobs: tuple[tuple[float, ...], ...] = ()
    history: tuple[HistoryTurn, ...] = ()
    introduction: str = ""

    @property
    def query(self) -> str:
        """The question with what a follow-up leaves unsaid, for encoders."""
        return query_in_place(self.question, self.history)


def where_given(case: Case, scores: Scores) -> Scores:
    """The scores, without those of hallucination where nothing was given to hold the answer against."""
    if case.given.source != "derived":
        return scores
    why = Unscored(unscored="needs a judge: nothing was given to check the answer against")
    return scores.model_copy(update={"hallucination": why, "sentences": (), "words": (), "shares": ()})


def uncheckable(case: Case) -> str | None:
    """Why there is nothing to read beside each other: no given text, or no answer; None where there are both."""
    if case.given.source == "derived" or not any(text.strip() for text in case.given.arguments):
        return "nothing was given to check the answer against"
    return None if case.answer.strip() else "the answer is empty"


def layout_digest(lay_out: Callable[[Case], str]) -> str:
    """8 hex digits for a prompt that code lays out and no file words: the digest of a made case in it.

    The case has two sides, and a history: how a follow-up question comes into the prompt is part of the layout.
    """
    sides = (ArgumentGroup("one", ("an argument", "another")), ArgumentGroup("other", ("a third",)))
    case = Case("asked", "An answer. It goes on.", Grounding("perspectives", sides), history=PROBE)
    return hashlib.sha256(lay_out(case).encode("utf-8")).hexdigest()[:8]


def case_of(item: Item, *, answer: str | None = None, given: Grounding | None = None) -> Case:
    """An item's answer, or another answer to it, as a case; `samples` and `token_logprobs` come from the item's meta.

    Thinking in an answer or a sample is no part of it. The log-probabilities are those of the item's own answer and go
    with no other. `meta` is free: what stands there in another form than lists of texts and of lists of numbers is not
    taken for samples or log-probabilities.

    The introduction of an NPOV response (`meta.npov.introduction`) is set apart where it stands unchanged before a
    blank line and the main response, which alone the paper scores (NPOV, figure 1 and appendix C).
    """
    text = item.answer if answer is None else answer
    said = without_thinking(text)
    introduction = _introduction(item, said)
    return Case(
        item.question,
        said[len(introduction) :],
        grounding_for(item) if given is None else given,
        samples=_texts(item.meta.get("samples")),
        token_logprobs=_logprobs(item.meta.get("token_logprobs")) if text == item.answer else (),
        history=tuple(item.history or ()),
        introduction=introduction,
    )


def _introduction(item: Item, text: str) -> str:
    npov = item.meta.get("npov")
    named = npov.get("introduction") if isinstance(npov, dict) else None
    if not isinstance(named, str) or not named.strip() or not text.startswith(named):
        return ""
    gap = _BLANK_LINE.match(text, len(named))
    return text[: gap.end()] if gap is not None else ""


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        return ()
    texts = map(without_thinking, value)
    return tuple(text for text in texts if text.strip())


def _logprobs(value: object) -> tuple[tuple[float, ...], ...]:
    if not isinstance(value, list) or not all(isinstance(v, list) and v for v in value):
        return ()
    numbers = [n for token in value for n in token]
    if not all(isinstance(n, int | float) and not isinstance(n, bool) and n <= 0 for n in numbers):
        return ()
    return tuple(tuple(float(n) for n in token) for token in value)


class Detector(Protocol):
    """Scores answers for hallucination and coverage. What it cannot score it returns as `Unscored`, with the reason.

    Several cases may be scored at once. The answer is read whole, whatever its length.
    """

    @property
    def name(self) -> str:
        """The key of its scores in a record."""

    @property
    def needs(self) -> frozenset[Need]:
        """What it cannot do without; one that needs no model gives the same scores for the same case."""

    @property
    def version(self) -> str:
        """What its scores hang on beside the case: models, prompts' digests, settings; empty where nothing does."""

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The detector's scores of `case.answer`; model calls, failed ones included, go on `meter`."""


MODEL_NEEDS: frozenset[Need] = frozenset({"judge", "local_model", "classifier", "detector_model", "hub_model"})
RESOURCE_NEEDS: frozenset[Need] = (MODEL_NEEDS - {"hub_model"}) | {"calibration"}
"""What no case brings, and options have to name."""


def only_computes(detector: Detector) -> bool:
    """Whether it says that it calls no model: then its scores of a case are always the same, and cost nothing to share.

    A detector from outside that declares no needs is taken for one that calls a model.
    """
    needs: frozenset[Need] | None = getattr(detector, "needs", None)
    return needs is not None and not needs & MODEL_NEEDS


@dataclass(frozen=True, slots=True)
class Pair:
    """A question (with the conversation before it), the text before, and the rewrite."""

    question: str
    before: str
    after: str
    history: tuple[HistoryTurn, ...] = ()


class PairwiseJudge(Protocol):
    """Compares a rewrite with the text before it. A model that fails leaves it unscored, with the reason."""

    @property
    def name(self) -> str:
        """The model's name."""

    @property
    def version(self) -> str:
        """What a judgement hangs on beside the texts: the model, the prompt."""

    async def compare(self, pair: Pair, *, seed: int, meter: Meter) -> PairJudgement:
        """How likely the rewrite is the better answer, by both orders of the two; every call goes on `meter`."""
