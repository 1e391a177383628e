"""The `geval` detector: a chat model rates an answer from 1 to 5, and the expected rating counts."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Literal

from eirene.core.errors import BackendError, InputError
from eirene.core.scores import Scores, Unscored
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.eval.base import NO_COVERAGE, Case, Need
from eirene.eval.detectors.judge import (
    QUORUM,
    asked_often,
    cleaned,
    is_given,
    judge_request,
    quorum_of,
    raise_where_all_failed,
)
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.models.chat import ChatModel, Sampling
from eirene.models.replies import Reply
from eirene.models.token_choice import TokenChoice
from eirene.prompts import SHIPPED, Message, PromptSet
from eirene.prompts.history import HISTORY_PROMPT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_core.language_models import BaseChatModel


Aspect = Literal["consistency", "factuality"]

SAMPLES = 20
LOWEST, HIGHEST = 1, 5

_MIN_MASS = 0.5
"""Probability that the five ratings must have together for their distribution to be one of ratings."""

_NUMBER = r"-?\d+(?:[.,]\d+)?"
_VALUE = rf"(?P<n>{_NUMBER})(?:\s*(?:/|out of)\s*(?P<of>{_NUMBER}))?(?P<range>\s*(?:to|or|-|–)\s*\d)?"
_LABELLED = re.compile(
    rf"\b(?:rating|score|consistency|factuality)\b(?:\s*\(1 (?:to|-) 5\))?(?:\s+is\b|\s*[:=|>])*\s*{_VALUE}",
    re.IGNORECASE,
)
_BARE = re.compile(rf"[^\w-]*{_VALUE}[^\w]*", re.IGNORECASE)


class GEval:
    """The rating from 1 to 5 that a chat model is expected to give, as an error score.

    Score: hallucination = (5 - E) / 4 with E the expected rating, raw `rating`. E is the mean of 1 to 5 weighed by the
        probabilities of their tokens where the provider sends these (raw `mass`: what they come to together as the
        first token, at least half), else the mean of `samples` ratings drawn at temperature 1 (raw `ratings`: how many
        could be read, at least half and 3). Coverage is unscored.
    Needs: a judge. It asks for consistency with the given text, or where none was given for factuality.
    Reference: Liu et al. 2023, section 3 (its equation of the weighted sum, and 20 samples where probabilities are not
        to be had); ChainPoll, section 6.2. Prompts of our own.
    """

    name = "geval"
    needs: frozenset[Need] = frozenset({"judge"})

    def __init__(
        self,
        model: BaseChatModel | ChatModel,
        *,
        samples: int = SAMPLES,
        seed: int = 0,
        prompts: PromptSet = SHIPPED,
    ) -> None:
        if samples < QUORUM:
            raise InputError(f"samples must be at least {QUORUM}, the quorum, got {samples}", field="samples")
        self._chat = model if isinstance(model, ChatModel) else ChatModel(model)
        self._prompts = prompts
        self._seeds = [derive_seed(seed, "rating", n) for n in range(samples)]
        self._choice = TokenChoice(self._chat, [str(n) for n in range(LOWEST, HIGHEST + 1)])
        worded = prompts.digests(["geval_consistency", "geval_factuality", HISTORY_PROMPT])
        self.version = f"{self._chat.version},prompt={worded},n={samples}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` where no reply came back at all."""
        if not case.answer.strip():
            return Scores.none("the answer is empty")
        messages = geval_messages(case, "consistency" if is_given(case) else "factuality", self._prompts)
        found = await self._choice.weigh(messages, meter=meter)
        weighed = None if isinstance(found, Unscored) else expected_rating(found.weights)
        if weighed is None:
            return await self._by_samples(messages, meter)
        rating, mass = weighed
        return _scores(rating, mass=mass)

    async def _by_samples(self, messages: tuple[Message, ...], meter: Meter) -> Scores:
        wanted = len(self._seeds)
        replies = await asked_often(self._chat, messages, Sampling(temperature=1.0), self._seeds, meter)
        raise_where_all_failed(replies)
        found = [read_rating(reply) for reply in replies if not isinstance(reply, BackendError)]
        ratings = [rating for rating in found if rating is not None]
        if len(ratings) < (needed := quorum_of(wanted)):
            return Scores.none(f"{len(ratings)} of {wanted} ratings could be read, {needed} are needed")
        return _scores(sum(ratings) / len(ratings), ratings=len(ratings))


def _scores(rating: float, **raw: float) -> Scores:
    error = (HIGHEST - rating) / (HIGHEST - LOWEST)
    return Scores(
        hallucination=min(1.0, max(0.0, error)),  # a weighted mean may miss its bounds by a rounding
        coverage=NO_COVERAGE,
        raw={"rating": rating, **raw},
    )


def geval_messages(case: Case, aspect: Aspect, prompts: PromptSet = SHIPPED) -> tuple[Message, ...]:
    """What the judge is asked; what was given is shown for consistency alone."""
    return judge_request(f"geval_{aspect}", case, with_given=aspect == "consistency", prompts=prompts)


def read_rating(reply: Reply) -> int | None:
    """The rating of a reply: the last labelled number, else the number that its last line is; whole, from 1 to 5.

    Anything else is None: a range, a half, another scale, a number among words.
    """
    if reply.is_cut_off or reply.is_filtered:
        return None
    text = cleaned(reply.text).strip()
    labelled = list(_LABELLED.finditer(text))
    found = labelled[-1] if labelled else _BARE.fullmatch(text.rpartition("\n")[2])
    if found is None or found["range"] or found["of"] not in (None, str(HIGHEST)):
        return None
    return int(found["n"]) if re.fullmatch("[1-5]", found["n"]) else None


def expected_rating(weights: Mapping[str, float]) -> tuple[float, float] | None:
    """The mean of 1 to 5 by their tokens' probabilities, and what these come to; None under half of the mass."""
    mass = math.fsum(weights.values())
    if mass < _MIN_MASS:
        return None
    return math.fsum(int(n) * weight for n, weight in weights.items()) / mass, min(1.0, mass)


@detector("geval", needs=GEval.needs, about="expected rating from 1 to 5, by a judge (G-Eval)")
def _build(resources: Resources) -> GEval:
    return GEval(resources.judge, seed=resources.seed, prompts=resources.prompts)
