"""Rewrites answers with a chat model: any that LangChain can talk to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eirene.models.chat import ChatModel, Sampling
from eirene.refiners.asking import refine_messages
from eirene.refiners.base import RefineTask
from eirene.refiners.rewrite_reading import read_rewrite
from eirene.usage import Meter

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class ChatRefiner:
    """Asks a chat model for a better answer, with a prompt for each mode; see `eirene.refiners.asking`.

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
