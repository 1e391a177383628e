"""Draws samples in rounds until a stopping rule (`none`, `exact`, `beta`; `auto` picks one) says: enough.

Which reasons count: small models give several sentences one reason, break it off, or ask for what the answer says. Such
a tag does not vote, and the others of its sample do.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import get_args

from eirene.core.critique import FeedbackNote, Sample, Tag
from eirene.core.errors import BackendError, InputError
from eirene.core.loop_settings import Stop, StopRule
from eirene.core.usage import Meter
from eirene.feedback_model.base import LONGEST_LACK, DrawsTogether, FeedbackModel, FeedbackRequest
from eirene.feedback_model.vote import check_sample, has_quorum
from eirene.text.english import is_torn
from eirene.text.frames import frame_of
from eirene.text.refusals import denies_fault
from eirene.text.sentences import split_sentences
from eirene.text.words import stems

STOP_RULES: tuple[StopRule, ...] = get_args(StopRule)
FIRST = 5
"""Samples of the first of two requests: one more than the fewest that rule `beta` is sure of where all agree."""
POSTERIOR = 0.95
"""Rule `beta` stops when the leader wins with at least this probability."""
Votes = Sequence[tuple[Tag | None, ...] | None]
"""One entry a drawn sample, in order: its tags (None for one that does not count), or None for an invalid sample."""

OnSample = Callable[[int, Sample], None]
"""Is told of a sample: its index, from 0, and the sample."""


@dataclass(frozen=True, slots=True)
class DrawResult:
    """The samples in the order drawn, invalid ones included; `early_stop` when they are fewer than asked for.

    `stop` is the rule that ended the drawing: what `auto` came to; None where nothing was drawn but read out.
    """

    samples: tuple[Sample, ...]
    early_stop: bool
    stop: StopRule | None


async def draw_samples(
    model: FeedbackModel,
    request: FeedbackRequest,
    *,
    n: int,
    stop: Stop,
    meter: Meter,
    on_sample: OnSample | None = None,
    min_consistency: float = 0.0,
    says: Says | None = None,
) -> DrawResult:
    """Up to `n` samples of the request, fewer when the rule `stop` says that the rest is not needed.

    With rule `none` the model is asked once, for all. Else, where one request gives several samples, it is asked
    twice at most: for `FIRST` or as many as the rule needs at least, then for the rest; where each is a request of its
    own, in rounds as long as `next_round` says. `auto` is `beta`, or `exact` with a floor, which a share of fewer
    samples could not be held to, and `none` for a model that does not say how it is asked. A sample that does not fit
    the request's sentences is kept as an invalid one. `on_sample` is called with each sample's index (from 0) as it
    comes. `min_consistency` is the floor that the selection will use. Of a language model, tags whose reason cannot
    count do not (`with_usable_votes`, which is given `says`). The same model and request give the same result.
    Raises `BackendError` when the model gives more or fewer samples than it was asked for.
    """
    drawing = _SamplesSoFar(model, request, n=n, floor=min_consistency, on_sample=on_sample, says=says)
    rule = _rule_of_auto(model, min_consistency) if stop == "auto" else stop
    while not drawing.is_enough(rule):
        start = len(drawing.samples)
        count = next_round(drawing.votes, n_total=n, rule=rule, min_consistency=min_consistency)
        if drawing.comes_together:
            count = n - start if start else min(n, max(count, FIRST))
        await drawing.take(model.draw(request, start=start, count=count, meter=meter), count, rule)
    return DrawResult(samples=tuple(drawing.samples), early_stop=len(drawing.samples) < n, stop=rule)


def _rule_of_auto(model: FeedbackModel, floor: float) -> StopRule:
    if not isinstance(model, DrawsTogether):
        return "none"
    return "exact" if floor else "beta"


class _SamplesSoFar:
    def __init__(
        self,
        model: FeedbackModel,
        request: FeedbackRequest,
        *,
        n: int,
        floor: float,
        on_sample: OnSample | None,
        says: Says | None,
    ) -> None:
        self._model, self._request = model, request
        self._n, self._floor, self._on_sample, self._says = n, floor, on_sample, says
        self.samples: list[Sample] = []
        self.votes: list[tuple[Tag | None, ...] | None] = []

    def is_enough(self, rule: StopRule) -> bool:
        """Whether the rule says so."""
        return should_stop(self.votes, n_total=self._n, rule=rule, min_consistency=self._floor)

    @property
    def comes_together(self) -> bool:
        """Whether one request gives several samples, as far as is known: the first sample of a draw settles it."""
        return isinstance(self._model, DrawsTogether) and self._model.draws_together

    async def take(self, stream: AsyncIterator[Sample], count: int, rule: StopRule) -> None:
        """Takes the samples of one draw for `count`; where they come one by one, until the rule says: enough."""
        end = len(self.samples) + count
        async with _closing(stream):
            async for drawn in stream:
                if len(self.samples) == end:
                    raise BackendError(
                        f"feedback model {self._model.name!r} gave more than the {count} samples asked for"
                    )
                await self._add(check_sample(drawn, self._request.sentences))
                if not self.comes_together and len(self.samples) < end and self.is_enough(rule):
                    return
        if len(self.samples) < end:
            came = len(self.samples) - (end - count)
            raise BackendError(f"feedback model {self._model.name!r} gave {came} of the {count} samples asked for")

    async def _add(self, sample: Sample) -> None:
        if isinstance(self._model, DrawsTogether):
            sample = await asyncio.to_thread(with_usable_votes, sample, self._says)
        self.samples.append(sample)
        self.votes.append(sample.votes if sample.is_valid else None)
        if self._on_sample is not None:
            self._on_sample(len(self.samples) - 1, sample)


@asynccontextmanager
async def _closing(stream: AsyncIterator[Sample]) -> AsyncIterator[None]:
    """Closes a generator at the end, so that calls that it has in flight are cancelled and not left behind."""
    try:
        yield
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()


@dataclass(frozen=True, slots=True)
class _Tally:
    """What a rule looks at: how many were drawn and valid, and the votes of the two leading tag sequences.

    `torn`: valid ones with a tag that does not count, which may come to stand for either side.
    """

    drawn: int
    valid: int
    torn: int
    leader: int
    runner_up: int


def should_stop(tags_so_far: Votes, *, n_total: int, rule: StopRule, min_consistency: float = 0.0) -> bool:
    """Whether drawing may end before `n_total` samples are there.

    - `none`: only when all are drawn.
    - `exact`: when nothing that is still to come can change the outcome. Either no other tag sequence can reach the
      leader's votes, were it given all remaining draws (reaching is enough to count: reasons decide between equals),
      and the quorum and the floor `min_consistency` are safe; or quorum or floor can no longer be reached.
    - `beta`: when `exact` would, or when there is a quorum and P(leader wins) >= `POSTERIOR`; see `leader_wins`. The
      consistency is then a share of fewer samples: where a floor matters, `exact` is the rule to use.

    Raises `InputError` for an unknown rule or `n_total` below 1.
    """
    _check(n_total, rule)
    return _stops(_tally(tags_so_far), n_total, rule, min_consistency)


def next_round(tags_so_far: Votes, *, n_total: int, rule: StopRule, min_consistency: float = 0.0) -> int:
    """How many samples to draw at once: the fewest after which the rule could stop, all of them with rule `none`.

    A round that long wastes no draw, and lets a provider answer it as one batch. 0 when nothing is left to draw.
    """
    _check(n_total, rule)
    tally = _tally(tags_so_far)
    left = n_total - tally.drawn
    if left <= 0 or rule == "none":
        return max(left, 0)

    def could_stop(more: int) -> bool:
        best = replace(
            tally, drawn=tally.drawn + more, valid=tally.valid + more, leader=tally.leader + more
        )  # the luckiest case: all of them agree with the leader
        return _stops(best, n_total, rule, min_consistency)

    return 1 + bisect_left(range(1, left), True, key=could_stop)


def leader_wins(leader: int, runner_up: int) -> float:
    """P(p > 1/2) for p ~ Beta(leader + 1, runner_up + 1): that the leading sequence is the likelier of the two.

    The stopping idea of adaptive-consistency (Aggarwal et al. 2023, "Let's Sample Step by Step"), whose posterior over
    all answers reduces to the two leading ones. For integers the regularised incomplete beta function is a binomial
    sum: with N = leader + runner_up + 1, the result is sum over j <= leader of C(N, j) / 2**N, exact here.
    """
    n = leader + runner_up + 1
    total: int = 2**n
    term, tail = 1, 0  # C(n, j) for j = n, n - 1, ...: the short tail above the leader is summed
    for above in range(runner_up + 1):
        tail += term
        term = term * (n - above) // (above + 1)
    return (total - tail) / total


def _check(n_total: int, rule: str) -> None:
    if n_total < 1:
        raise InputError(f"the number of samples must be at least 1, got {n_total}", field="samples")
    if rule not in STOP_RULES:
        raise InputError(f"stop must be one of {', '.join(STOP_RULES)}, got {rule!r}", field="stop")


def _tally(votes: Votes) -> _Tally:
    valid = [v for v in votes if v is not None]
    counts = Counter(v for v in valid if None not in v)
    (_, first), (_, second) = [*counts.most_common(2), ((), 0), ((), 0)][:2]
    return _Tally(drawn=len(votes), valid=len(valid), torn=len(valid) - counts.total(), leader=first, runner_up=second)


def _stops(tally: _Tally, n_total: int, rule: StopRule, floor: float) -> bool:
    if tally.drawn >= n_total:
        return True
    if rule == "none":
        return False
    if _is_settled(tally, n_total, floor):
        return True
    if rule == "exact" or not has_quorum(tally.drawn, tally.valid):
        return False
    return leader_wins(tally.leader, tally.runner_up) >= POSTERIOR


def _is_settled(tally: _Tally, n_total: int, floor: float) -> bool:
    """Whether the outcome after all `n_total` draws is known already."""
    left = n_total - tally.drawn
    if not has_quorum(n_total, tally.valid + left) or (tally.leader + tally.torn + left) / n_total < floor:
        return True  # there will be no critique
    is_ahead = tally.leader > tally.runner_up + tally.torn + left and tally.leader >= 1
    return is_ahead and has_quorum(n_total, tally.valid) and tally.leader / n_total >= floor


Says = Callable[[str], float]
"""The probability in [0, 1] that the answer says a statement."""

ALIKE = 0.8
"""Share of the content words of two reasons, of those that either has, from which they are one."""
SAID = 0.7
"""Probability from which the answer says what a reason asks for."""
_NOUN_ALONE = re.compile(
    r"\s*(?:the|an?|it|this|these|its|their)(?:\s+[\w-]+)?(?:\s+(?:is|are|was|were|has|does))?[.…]*\s*\Z", re.IGNORECASE
)


def with_usable_votes(sample: Sample, says: Says | None = None) -> Sample:
    """The sample with a note of each Incomplete whose reason cannot count; as it is where all can.

    - A reason that another sentence has as well, but for a few words: which of them it speaks of cannot be told.
    - One that breaks off: English alone is read (`eirene.text.english`), beside what ends where replies must. What
      stands whole before the torn end is kept, and counts.
    - One that says that nothing is wrong (`eirene.text.refusals`).
    - One that misses a statement ("It does not say that rents rose") which the answer makes, as `says` reads it.
    """
    if not sample.is_valid:
        return sample
    sample = sample.model_copy(update={"reasons": tuple(reason and _whole_part(reason) for reason in sample.reasons)})
    found = tuple(FeedbackNote(sentence=n, reason=why) for n, why in _unusable(sample, says))
    return sample.model_copy(update={"unusable": found}) if found else sample


def _unusable(sample: Sample, says: Says | None) -> Iterator[tuple[int, str]]:
    reasons = {n: reason for n, reason in enumerate(sample.reasons, start=1) if reason}
    words = {n: frozenset(stems(reason)) for n, reason in reasons.items()}
    for n, reason in reasons.items():
        said = words[n]
        alike = (m for m, own in words.items() if m != n and own and len(own & said) >= ALIKE * len(own | said))
        twin = next(alike, None)
        if twin is not None:
            yield n, f"its reason is that of sentence {twin}"
        elif breaks_off(reason):
            yield n, "its reason breaks off"
        elif denies_fault(reason):
            yield n, "its reason says that nothing is wrong"
        elif says is not None and asks_for_what_is_said(reason, says):
            yield n, "the answer says what its reason asks for"


def breaks_off(reason: str) -> bool:
    """Whether an English reason ends before it has said anything whole."""
    is_full = len(reason) >= LONGEST_LACK and reason[-1] not in ".!?"
    return is_full or is_torn(reason) or _NOUN_ALONE.match(reason) is not None


def _whole_part(reason: str) -> str:
    """The reason without a last sentence that breaks off, where it has another one."""
    whole = split_sentences(reason)[:-1] if breaks_off(reason) else ()
    return reason[: whole[-1].text_end] if whole else reason


def asks_for_what_is_said(reason: str, says: Says) -> bool:
    """Whether what an English reason calls unsaid, as far as it is a statement, is what the answer says."""
    frame = frame_of(reason)
    return frame is not None and frame.kind in ("denied", "open") and says(frame.statement) >= SAID
