"""Rewrites answers with a chat model: any that LangChain can talk to.

Rewrites answers with a local causal language model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.local.layout import carried
from eirene.models.local.model import LocalModel
from eirene.refiners.base import RefineTask
from eirene.refiners.request import PROMPTS, as_text, read_rewrite, refine_messages

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.models.local.sampling import LocalSampling


class ChatRefiner:
    """Asks a chat model for a better answer, with a prompt for each mode; see `eirene.refiners.request`.

    `model` is a LangChain chat model, or a `ChatModel` that is shared with other roles. `temperature` 0 makes rewrites
    repeatable where the provider allows; None leaves the model's own. `reasons_only` shows the reasons of a critique
    without sentences and findings, as the EIR paper does.
    """

    def __init__(
        self, model: BaseChatModel | ChatModel, *, temperature: float | None = 0.0, reasons_only: bool = False
    ) -> None:
        self._chat = model if isinstance(model, ChatModel) else ChatModel(model)
        self._temperature = temperature
        self._reasons_only = reasons_only

    @property
    def name(self) -> str:
        """The model's name."""
        return self._chat.name

    @property
    def sampling(self) -> Sampling:
        """What rewrites are drawn with."""
        return Sampling(temperature=self._temperature)

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        """The model's new answer, freed of preambles, thinking and wrapping.

        Raises `UnusableReplyError` for a reply that was cut off or filtered, another `BackendError` when the model
        cannot be reached, `InputError` when a mode that needs a critique has none.
        """
        messages, mark = refine_messages(task, reasons_only=self._reasons_only)
        sampling = Sampling(temperature=self._temperature, seed=task.seed)
        (reply,) = await self._chat.ask(messages, sampling=sampling, meter=meter)
        return read_rewrite(reply, before=task.answer, marks=(mark,))


class LocalRefiner:
    """Asks a local model for a better answer, in the prompts that chat models get; see `eirene.refiners.request`.

    A model without a chat template is shown the same words as plain text; one that was trained in a prompt of a mode
    and carries it is asked in exactly that prompt in that mode. `sampling` defaults to the likeliest token
    at every step, at most 1,024 of them. `reasons_only` shows the reasons of a critique alone, as the EIR paper does.
    """

    def __init__(self, model: LocalModel, *, sampling: LocalSampling | None = None, reasons_only: bool = False) -> None:
        from eirene.models.local.sampling import LocalSampling

        self._model = model
        self._sampling = LocalSampling(temperature=0.0) if sampling is None else sampling
        self._reasons_only = reasons_only
        self._carried = carried(model.prompt, "refiner", where=model.name)

    @property
    def name(self) -> str:
        """The model's name, `hf:...`."""
        return self._model.name

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        """The model's new answer, freed of preambles, thinking and wrapping. The same task gives the same rewrite.

        Raises `UnusableReplyError` for a reply that was cut off, another `BackendError` for a prompt longer than the
        model's context, `InputError` when a mode that needs a critique has none.
        """
        own = self._carried.prompt if self._carried is not None else None
        prompt = own if own is not None and own.name == PROMPTS[task.mode] else None
        messages, mark = refine_messages(task, reasons_only=self._reasons_only, prompt=prompt)
        if self._model.layout == "chat":
            ids = self._model.encode_chat(messages)
        else:
            ids = self._model.encode_text(as_text(messages))
        (reply,) = await self._model.sample(ids, [task.seed], sampling=self._sampling, meter=meter)
        return read_rewrite(reply, before=task.answer, marks=(mark,))
