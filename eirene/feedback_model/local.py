"""Critiques from a local causal language model: all samples of a request from one reading of its prompt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

from eirene.core.critique import Sample
from eirene.core.logs import get_logger
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.critic_kinds import COMPLETENESS, Asking
from eirene.feedback_model.request import feedback_instruct
from eirene.models.local.layout import as_text, carried
from eirene.models.local.model import LocalModel

if TYPE_CHECKING:
    from eirene.models.local.sampling import LocalSampling

logger = get_logger(__name__)


class LocalFeedback:
    """Draws critiques from a local model; `hf:` backends use it. One model may serve several roles.

    An adapter or model that carries the prompt it was trained with is asked in exactly that prompt. Sample i depends
    on (request seed, i) alone. `sampling` defaults to nucleus p = 0.9 at temperature 1 (EIR section 4.1), at most
    1,024 tokens a reply. `asking` is what it is asked for: completeness, or hallucinations; for these a model without
    a chat template is given the messages as one text, and a reply may have twice the answer's tokens where that is
    more, since it holds a copy of the answer.
    """

    def __init__(
        self, model: LocalModel, *, sampling: LocalSampling | None = None, asking: Asking = COMPLETENESS
    ) -> None:
        from eirene.models.local.sampling import LocalSampling

        self._model = model
        self._sampling = LocalSampling() if sampling is None else sampling
        self._asking = asking
        self._carried = carried(model.prompt, asking.role, where=model.name)

    @property
    def name(self) -> str:
        """The model's name, `hf:...`."""
        return self._model.name

    @property
    def sampling(self) -> LocalSampling:
        """What critiques are drawn with."""
        return self._sampling

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """Samples `start` to `start + count - 1`; they come together, when the last has ended.

        Raises `BackendError` for a prompt longer than the model's context, and when memory runs out.
        """
        if self._sampling.temperature == 0 and start + count > 1:
            logger.warning("%s: at temperature 0 all samples are alike, and their agreement says nothing", self.name)
        seeds = [derive_seed(request.seed, "sample", i) for i in range(start, start + count)]
        ids = self.prompt_ids(request)
        for reply in await self._model.sample(ids, seeds, sampling=self._room(request), meter=meter):
            yield self._asking.read(reply.text, request, reply.finish_reason)

    def _room(self, request: FeedbackRequest) -> LocalSampling:
        if self._asking is COMPLETENESS:
            return self._sampling
        copy = 2 * len(self._model.encode_text(request.answer))
        return replace(self._sampling, max_new_tokens=max(self._sampling.max_new_tokens, copy))

    def prompt_ids(self, request: FeedbackRequest) -> list[int]:
        """The tokens that the model is shown for `request`."""
        own = self._carried
        in_messages = own is not None and (own.layout == "chat" or self._asking is not COMPLETENESS)
        prompt = own.prompt if own is not None and in_messages else None
        if self._model.layout == "chat":
            return self._model.encode_chat(self._asking.messages(request, prompt=prompt))
        if self._asking is not COMPLETENESS:
            return self._model.encode_text(as_text(self._asking.messages(request, prompt=prompt)))
        if own is None or own.layout == "chat":
            return self._model.encode_text(feedback_instruct(request))
        return self._model.encode_text(feedback_instruct(request, instruction=own.instruction, prompt=own.prompt))
