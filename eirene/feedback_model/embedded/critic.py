"""The embedded feedback models, of completeness and of hallucinations: critiques from a comparison with what is given.

Arguments are aligned with the answer; passages are read beside its sentences, where there is a verifier. An answer is
compared once; samples are drawn from the faults that were found.
"""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from eirene.alignment.comparison import compare
from eirene.core.concurrency import off_loop
from eirene.core.critique import Finding, Sample, Tag
from eirene.core.findings.kinds import finding_of
from eirene.core.grounding import NOTHING_GIVEN, given_texts
from eirene.core.memo import Memo
from eirene.core.records import Item, found_ids
from eirene.core.signature import digest, rng_for
from eirene.core.usage import Meter
from eirene.feedback_model.base import ConfirmsCorrections, FeedbackRequest, Scope
from eirene.feedback_model.citation import cite_passage
from eirene.feedback_model.embedded.evidence import Critic, OperatingPoint, gather, load_critic, texts_of
from eirene.feedback_model.embedded.faults import AnswerFault, faults_of
from eirene.feedback_model.embedded.reading import confirmed_mends, faults_by_reading, mends_by_reading
from eirene.feedback_model.sampling import Says
from eirene.text.cancellation import check_cancelled
from eirene.text.form import is_form
from eirene.text.language import unsupported_language

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes
    from eirene.models.verifier.runtime import ReadsPairs
    from eirene.verification.mends import Mend

_OF_PASSAGES = Scope(
    "no sentence was found unsupported by the passages", "whether something of the passages is missing"
)
"""Which of the passages' sentences an answer ought to use, closeness cannot tell (docs/concepts/embedded.md)."""
_STRUCTURE = (
    "not checked: the answer is structured text (data, markup or code), which the embedded default leaves as it is"
)
_REMEMBERED = 16
LoadsVerifier = Callable[[], "ReadsPairs"]
"""Gives the verifier, which is loaded when passages are read for the first time."""


class _EmbeddedCritic(ABC):
    """What both critics are made of: how an answer is judged is each one's own."""

    def __init__(
        self,
        encoder: Encodes,
        *,
        critic: Critic | None = None,
        verifier: LoadsVerifier | None = None,
        judge: ConfirmsCorrections | None = None,
    ) -> None:
        self._encoder = encoder
        self._critic = load_critic() if critic is None else critic
        self._verifier = verifier
        self._judge_of_mends = judge
        self._known: Memo[str, tuple[AnswerFault, ...] | str] = Memo(_REMEMBERED)

    @property
    def name(self) -> str:
        """`embedded:` and the encoder's digest."""
        return f"embedded:{self._encoder.digest}"

    @abstractmethod
    def _judge(self, request: FeedbackRequest, confirmed: Mapping[int, Mend]) -> tuple[AnswerFault, ...] | str:
        """The faults of an answer, those of one sentence with the surest first; or why it cannot be judged."""

    async def _samples(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> list[Sample]:
        """Draws `start` and after, `count` of them; where nothing can be judged each is invalid and says why."""
        found = await self._faults(request, meter)
        if isinstance(found, str):
            return [Sample(invalid=found, not_checked=True)] * count
        draws = Draws(found, len(request.sentences), request.seed, self._critic.point)
        numbers = range(start, start + count)
        return await off_loop(lambda: list(map(draws.sample, numbers)), characters=len(request.answer))

    async def _faults(self, request: FeedbackRequest, meter: Meter) -> tuple[AnswerFault, ...] | str:
        """An answer is judged once, in a thread of its own; what a judge is asked goes on `meter`."""
        item = request.item
        given = item.model_dump(mode="json", include={"question", "perspectives", "context"})
        key = digest([given, list(found_ids(item)), request.answer])
        return await self._known.get_or_await(key, lambda: self._judged(request, meter))

    async def _judged(self, request: FeedbackRequest, meter: Meter) -> tuple[AnswerFault, ...] | str:
        confirmed: dict[int, Mend] = {}
        is_read = _has_passages(request.item) and not _not_judged(request)
        if is_read and self._judge_of_mends is not None and self._verifier is not None:
            confirmed = await confirmed_mends(request, self._verifier(), self._judge_of_mends, meter=meter)
        return await asyncio.to_thread(self._judge, request, confirmed)


class EmbeddedFeedback(_EmbeddedCritic):
    """Critiques from a comparison of an English answer with what its item gives; calls no model and costs nothing.

    It is compared once for an answer, however many critiques are drawn. With a `verifier` the answer is read beside
    passages, and what they do not support is named, mended or dropped (`eirene.feedback_model.embedded.reading`).
    Without perspectives and context, and in another language than English, every sample is invalid and says what would
    help.
    """

    def scope(self, item: Item) -> Scope | None:
        """Against passages it looks for what they do not support; against arguments for all that a critic is to."""
        return _OF_PASSAGES if _has_passages(item) else None

    def prepare(self, items: Sequence[Item]) -> None:
        """Encodes in large batches what these items will need, into the encoder's cache; changes no critique."""
        self._encoder.encode(list(dict.fromkeys(text for item in items for text in texts_of(item))))

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """Yields the samples; on `meter` goes what a judge is asked, if there is one."""
        for sample in await self._samples(request, start=start, count=count, meter=meter):
            yield sample

    def judged_by(self, judge: ConfirmsCorrections) -> EmbeddedFeedback:
        """The same, with mends that passages suggest in other words than theirs, where the judge confirms them."""
        return EmbeddedFeedback(self._encoder, critic=self._critic, verifier=self._verifier, judge=judge)

    async def read_out(self, request: FeedbackRequest, *, meter: Meter, says: Says | None = None) -> Sample:
        """One sample whose `chances` are the shares of draws that would find each sentence faulty."""
        found = await self._faults(request, meter)
        if isinstance(found, str):
            return Sample(invalid=found, not_checked=True)
        return Draws(found, len(request.sentences), request.seed, self._critic.point).readout()

    def _judge(self, request: FeedbackRequest, confirmed: Mapping[int, Mend]) -> tuple[AnswerFault, ...] | str:
        faults = compared(request, self._encoder, self._critic)
        if isinstance(faults, str) or self._verifier is None or not _has_passages(request.item):
            return faults
        read = faults_by_reading(request, self._verifier(), confirmed=confirmed)
        if isinstance(read, str):
            return read
        others = [f for f in faults if all(finding.kind != "unsupported" for finding in f.findings)]
        return _in_order([*read, *others])


def _has_passages(item: Item) -> bool:
    """Whether an answer is compared with passages: arguments come first."""
    return bool(item.context) and not item.perspectives


def _in_order(faults: Sequence[AnswerFault]) -> tuple[AnswerFault, ...]:
    return tuple(sorted(faults, key=lambda f: (f.sentence, -f.margin)))


def compared(request: FeedbackRequest, encoder: Encodes, critic: Critic) -> tuple[AnswerFault, ...] | str:
    """The faults that an alignment of the answer with what its item gives shows.

    Why there is none: nothing is given, or the answer or what is given is not in English.
    """
    why = _not_judged(request)
    if why is not None:
        return why
    comparison = compare(request.item, request.answer, encoder, sentences=request.sentences)
    if comparison is None:
        return NOTHING_GIVEN
    faults = faults_of(comparison, gather(comparison, request.item.query, request.answer, encoder), critic)
    faults = tuple(f for f in faults if _is_missing(f) or not is_form(request.sentences[f.sentence].text))
    return tuple(cite_passage(f, "", request.item) for f in faults)


def _not_judged(request: FeedbackRequest) -> str | None:
    """Why answer or given text cannot be read."""
    if request.answer.strip() and all(is_form(s.text) for s in request.sentences if s.text):
        return _STRUCTURE
    why = unsupported_language(request.answer, given_texts(request.item))
    return None if why is None else f"{why}; give a model as the backend"


def _is_missing(fault: AnswerFault) -> bool:
    return all(finding.kind == "missing" for finding in fault.findings)


class Draws:
    """Critiques of one answer: draw i depends on (seed, i) alone.

    What is drawn is each sentence's tag. An Incomplete sentence names its faults above the threshold, or the surest one
    where there is none: were these drawn too, reason consistency would always choose the critique that says least.
    """

    def __init__(self, faults: tuple[AnswerFault, ...], n_sentences: int, seed: int, point: OperatingPoint) -> None:
        self._n = n_sentences
        self._seed = seed
        self._point = point
        by_sentence: dict[int, list[AnswerFault]] = {}
        for fault in faults:
            by_sentence.setdefault(fault.sentence, []).append(fault)
        self._margins = np.full(n_sentences, -np.inf)
        self._named: dict[int, tuple[AnswerFault, ...]] = {}
        for sentence, found in by_sentence.items():
            self._margins[sentence] = found[0].margin
            self._named[sentence] = tuple(f for f in found if f.margin > 0) or (found[0],)

    def sample(self, index: int) -> Sample:
        """Draw `index` (from 0)."""
        check_cancelled()
        rng = rng_for(self._seed, index)
        shared, own = rng.standard_normal(), rng.standard_normal(self._n)
        # 1.7 times a standard normal is close to a standard logistic variable: at temperature 1 and threshold 0.5 a
        # fault is named with its own probability.
        part = self._point.coherence
        noise = 1.7 * self._point.temperature * (math.sqrt(part) * shared + math.sqrt(1.0 - part) * own)
        return self._of(self._margins + noise > 0)

    def readout(self) -> Sample:
        """The sample without noise; each sentence's chance is that of being Incomplete in a draw."""
        with np.errstate(over="ignore"):
            chances = 1.0 / (1.0 + np.exp(-self._margins / max(self._point.temperature, 1e-6)))
        return self._of(self._margins > 0).model_copy(update={"chances": tuple(map(float, chances))})

    def _of(self, incomplete: np.typing.NDArray[np.bool_]) -> Sample:
        tags: list[Tag] = ["Complete"] * self._n
        texts: list[str | None] = [None] * self._n
        findings: list[Finding] = []
        for sentence in np.flatnonzero(incomplete):
            named = self._named[int(sentence)]
            tags[sentence] = "Incomplete"
            texts[sentence] = " ".join(fault.reason for fault in named)
            findings += [finding for fault in named for finding in fault.findings]
        return Sample(tags=tuple(tags), reasons=tuple(texts), findings=tuple(findings))


class EmbeddedHallucination(_EmbeddedCritic):
    """Findings from a comparison of the answer with what its item gives; calls no model service and costs nothing.

    With a `verifier`, sentences are read beside passages: what these do not say is `unverifiable`, and what a few of
    their words put right `entity` or `relation` (`eirene.feedback_model.embedded.reading`).
    Against arguments, and without a verifier, parts that nothing given supports are `unverifiable`; with a verifier
    what a few words of an argument put right is `entity` or `relation` there, too. Samples differ as
    those of `EmbeddedFeedback` do. Without perspectives and context every sample is invalid and says what would help,
    as it does where answer or given text is not in English.
    """

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """Yields the samples; nothing goes on `meter`, since nothing is called."""
        for sample in await self._samples(request, start=start, count=count, meter=meter):
            yield sample.model_copy(update={"critic": "hallucination"})

    def _judge(self, request: FeedbackRequest, confirmed: Mapping[int, Mend]) -> tuple[AnswerFault, ...] | str:
        if self._verifier is not None and _has_passages(request.item):
            why = _not_judged(request)
            return why or faults_by_reading(request, self._verifier(), "unverifiable", confirmed)
        faults = compared(request, self._encoder, self._critic)
        if isinstance(faults, str):
            return faults
        mends = () if self._verifier is None else mends_by_reading(request, self._verifier())
        return _in_order([*mends, *_unsupported(faults, request, {fault.sentence for fault in mends})])


def _unsupported(
    faults: tuple[AnswerFault, ...], request: FeedbackRequest, mended: Collection[int]
) -> Iterator[AnswerFault]:
    """What nothing supports, but for sentences that a few words put right."""
    for fault in faults:
        first = fault.findings[0]
        if first.kind == "unsupported" and fault.sentence not in mended:
            finding = finding_of("unverifiable", first.start, first.end, text=request.answer, edit="")
            yield cite_passage(replace(fault, reason=finding.reason, findings=(finding,)), "", request.item)
