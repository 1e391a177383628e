"""Critiques from a chat model: any that LangChain can talk to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from eirene.core.critique import Sample
from eirene.core.errors import BackendError
from eirene.core.logs import get_logger
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.critic_kinds import COMPLETENESS, Asking
from eirene.feedback_model.vote import count_distinct
from eirene.models.chat import ChatModel, Sampling
from eirene.models.drawing import Drawing, draw_replies

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

logger = get_logger(__name__)

TEMPERATURE = 1.0
"""EIR (section 4.2) names nucleus sampling with p = 0.9 and no temperature, that is, the model's own distribution.

A lower one would raise every consistency without making any critique better.
"""
TOP_P = 0.9
_ENOUGH_TO_TELL = 3  # fewer equal samples are no sign of anything


class ChatFeedback:
    """Draws critiques from a chat model: in one request where the provider gives several replies, else concurrently.

    `model` is a LangChain chat model, or a `ChatModel` that is shared with other roles. Sample i is seeded with
    (request seed, i) where replies come one a call; n replies of one request share the first one's seed. `asking` is
    what it is asked for and how its replies are read: for completeness, or for hallucinations.
    """

    def __init__(
        self,
        model: BaseChatModel | ChatModel,
        *,
        temperature: float | None = TEMPERATURE,
        top_p: float | None = TOP_P,
        asking: Asking = COMPLETENESS,
    ) -> None:
        self._asking = asking
        self._chat = model if isinstance(model, ChatModel) else ChatModel(model)
        self._sampling = Sampling(temperature=temperature, top_p=top_p)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._chat.name

    @property
    def chat(self) -> ChatModel:
        """The model."""
        return self._chat

    @property
    def sampling(self) -> Sampling:
        """The temperature and nucleus that samples are drawn with."""
        return self._sampling

    def asks(self, request: FeedbackRequest, *, start: int, count: int) -> Drawing:
        """What `draw` asks for."""
        seeds = tuple(derive_seed(request.seed, "sample", i) for i in range(start, start + count))
        return Drawing(self._asking.messages(request), self._sampling, seeds)

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """Samples `start` to `start + count - 1`, in this order; closing the generator cancels the calls under way.

        A call that failed for good is an invalid sample with the cause. Raises `BackendError` when the key or the
        quota is the cause, or when no call of the request's first draw succeeds.
        """
        self._check_temperature(start + count)
        asked = self.asks(request, start=start, count=count)
        replies = draw_replies(self._chat, asked.messages, sampling=asked.sampling, seeds=asked.seeds, meter=meter)
        drawn: list[Sample] = []
        failures: list[BackendError] = []  # held back until it is sure that the model can be reached
        is_reached = start > 0
        async with aclosing(replies):
            async for reply in replies:
                if isinstance(reply, BackendError):
                    failures.append(reply)
                    if not is_reached:
                        continue
                is_reached = True
                for failure in failures:
                    drawn.append(self._asking.invalid(f"the call failed: {failure.kind}: {failure}"))
                    yield drawn[-1]
                failures.clear()
                if not isinstance(reply, BackendError):
                    drawn.append(self._asking.read(reply.text, request, reply.finish_reason))
                    yield drawn[-1]
        if failures:
            raise failures[-1]
        self._check_distinct(drawn)

    def _check_temperature(self, wanted: int) -> None:
        if self._sampling.temperature == 0 and wanted > 1:
            logger.warning(
                "%s: at temperature 0 all samples are alike, and their agreement says nothing; use 1.0, or 1 sample",
                self.name,
            )

    def _check_distinct(self, samples: Sequence[Sample]) -> None:
        """Warns of copies. Replies without a reason may well be equal word for word, so they are no sign."""
        valid = [s for s in samples if s.is_valid]
        has_words = self._asking.in_own_words and any(reason for s in valid for reason in s.reasons)
        if len(valid) >= _ENOUGH_TO_TELL and has_words and count_distinct(valid) == 1:
            logger.warning(
                "%s gave %d samples and all are the same, reasons included: a cache, or a server that copies? "
                "Their agreement says nothing about the model's certainty",
                self.name,
                len(valid),
            )
