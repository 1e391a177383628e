"""Samples: other answers to a question, the row's own or drawn from a model; and what a detector does with them."""

from __future__ import annotations

import asyncio

from eirene.core.errors import BackendError, InputError, TooLongError
from eirene.core.memo import Memo
from eirene.core.scores import Scores, Unscored
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.eval.base import NOTHING, Case, Need, unmet
from eirene.eval.detectors.judge import (
    asked_often,
    fenced,
    given_sections,
    question_sections,
    raise_where_all_failed,
)
from eirene.eval.resources import SAMPLES, Resources
from eirene.models.chat import ChatModel, Sampling
from eirene.prompts import SHIPPED, Message, PromptSet
from eirene.prompts.history import HISTORY_PROMPT
from eirene.text.thinking import without_thinking

SAMPLE_PROMPTS = ("sample_answer", "sample_answer_given", "sample_answer_followup", HISTORY_PROMPT)
_KEPT = 1024  # questions whose drawn samples are kept
_MAX_TOKENS = 512  # of a local model's sample


class SampleSource:
    """Gives a case's own samples (`meta.samples` in the row), else draws `count` answers from a model.

    Drawn at temperature 1 with the question, and with the given text where there is any; the same question gives the
    same samples, drawn once for all detectors and all answers that share this source. Without a model a row without
    samples is unscored. A model other than the one that answered is a stand-in: the papers sample the same model.
    """

    def __init__(
        self,
        model: ChatModel | None = None,
        *,
        need: Need = "judge",
        count: int = SAMPLES,
        seed: int = 0,
        prompts: PromptSet = SHIPPED,
    ) -> None:
        if count < 1:
            raise InputError(f"count must be at least 1, got {count}", field="samples")
        self._model = model
        self._need: Need = need
        self._count = count
        self._prompts = prompts
        self._seeds = [derive_seed(seed, "other answer", n) for n in range(count)]
        self._drawn: Memo[tuple[Message, ...], tuple[str, ...] | Unscored] = Memo(_KEPT)
        self.needs: frozenset[Need] = frozenset({"samples"} if model is None else {"samples", need})
        worded = prompts.digests(SAMPLE_PROMPTS)
        self.version = "" if model is None else f"{model.version},prompt={worded},samples={count}"

    async def get(self, case: Case, *, meter: Meter) -> tuple[str, ...] | Unscored:
        """At least one sample. Raises `BackendError` where no call succeeds."""
        if case.samples:
            return case.samples
        if self._model is None:
            return Unscored(unscored=unmet("samples"))
        messages = sample_messages(case, self._prompts)
        return await self._drawn.get_or_await(
            messages, lambda: self._draw(messages, meter), worth=lambda found: not isinstance(found, Unscored)
        )

    async def _draw(self, messages: tuple[Message, ...], meter: Meter) -> tuple[str, ...] | Unscored:
        assert self._model is not None
        sampling = Sampling(temperature=1.0, max_tokens=_MAX_TOKENS if self._need == "local_model" else None)
        replies = await asked_often(self._model, messages, sampling, self._seeds, meter)
        failed = [reply for reply in replies if isinstance(reply, BackendError)]
        if failed and isinstance(failed[-1], TooLongError):
            return Unscored(unscored=str(failed[-1]))
        raise_where_all_failed(replies)
        texts = [reply.text for reply in replies if not isinstance(reply, BackendError) and not reply.is_filtered]
        useful = tuple(text for text in map(without_thinking, texts) if text.strip())
        if 2 * len(useful) < self._count:
            return Unscored(unscored=f"{len(useful)} of {self._count} samples came, half of them are needed")
        return useful


class SampledDetector:
    """A detector that holds an answer against samples from a source: in a thread, unless it awaits a model."""

    def __init__(self, source: SampleSource, *, how: str, also: frozenset[Need] = NOTHING) -> None:
        self._source = source
        self.needs = source.needs | also
        self.version = how + (f",{source.version}" if source.version else "")

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` where samples are to be drawn and no call succeeds."""
        samples = await self._source.get(case, meter=meter)
        if isinstance(samples, Unscored):
            return Scores.none(samples.unscored)
        return await self._compared(case, samples, meter)

    async def _compared(self, case: Case, samples: tuple[str, ...], meter: Meter) -> Scores:
        return await asyncio.to_thread(self._score, case.answer, samples)

    def _score(self, answer: str, samples: tuple[str, ...]) -> Scores:
        raise NotImplementedError


def sample_messages(case: Case, prompts: PromptSet = SHIPPED) -> tuple[Message, ...]:
    """The question alone, or with the given text and the conversation before it in a fence."""
    given = given_sections(case)
    if not given and not case.history:
        return prompts.load("sample_answer").fill({"question": case.question})
    material, mark = fenced([*given, *question_sections(case.question, case.history, prompts)])
    prompt = prompts.load("sample_answer_given" if given else "sample_answer_followup")
    return prompt.fill({"material": material, "mark": mark})


def source_of(resources: Resources) -> SampleSource:
    """The samples of a run: from the judge if one is named, else from the local model, else from the rows alone.

    All detectors that are built from the same resources share them.
    """
    return resources.once("samples", lambda: _drawn_from(resources))


def _drawn_from(resources: Resources) -> SampleSource:
    model: ChatModel | None = None
    need: Need = "judge"
    if resources.judge_model is not None:
        model = resources.judge
    elif resources.local is not None:
        model, need = resources.local_chat, "local_model"
    return SampleSource(model, need=need, count=resources.samples, seed=resources.seed, prompts=resources.prompts)
