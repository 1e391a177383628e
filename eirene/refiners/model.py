"""Refiners on chat models and on local models: they ask as `eirene.refiners.asking` says, and read what comes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eirene.core.errors import PERMANENT_ERRORS, BackendError
from eirene.core.loop_settings import Structured
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.drawing import Drawing, draw_replies
from eirene.models.local.chat import chat_of
from eirene.models.local.layout import carried
from eirene.models.local.model import LocalModel
from eirene.models.replies import Reply
from eirene.prompts import SHIPPED, Prompt, PromptSet
from eirene.refiners.asking import PROMPTS, AskedRewrite, drafts_of, requests_for
from eirene.refiners.base import DrawnText, RefineTask

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class ChatRefiner:
    """Asks a chat model for a better answer, with a prompt for each mode and form; see `eirene.refiners.asking`.

    `model` is a LangChain chat model, or a `ChatModel` that is shared with other roles. `reasons_only` shows the
    reasons of a critique without sentences and findings and asks for whole answers, as the EIR paper does. `prompts`:
    own wording.
    """

    draws = True

    def __init__(
        self, model: BaseChatModel | ChatModel, *, reasons_only: bool = False, prompts: PromptSet = SHIPPED
    ) -> None:
        self.prompts = prompts
        self.chat = model if isinstance(model, ChatModel) else ChatModel(model)
        self.name = self.chat.name
        self.writes_whole = reasons_only
        self.tuned_in: Prompt | None = None
        self._reasons_only = reasons_only

    async def refine(self, task: RefineTask, *, meter: Meter) -> tuple[DrawnText, ...]:
        """What the model drew, read as new answers. A reply that cannot be read as one is a draft that says why.

        Raises `BackendError` when the model cannot be reached, `InputError` when a mode that needs a critique has none.
        """
        tuned = self.tuned_in if self.tuned_in is not None and self.tuned_in.name == PROMPTS[task.mode] else None
        if self.writes_whole or tuned is not None:
            task = replace(task, form="whole")
        asked = requests_for(task, reasons_only=self._reasons_only, prompt=tuned, prompts=self.prompts)
        # One after the other: what they begin with alike is in a prompt cache by the second one.
        return drafts_of(asked, [await self._replies(one, meter) for one in asked])

    async def _replies(self, asked: AskedRewrite, meter: Meter) -> list[Reply | BackendError]:
        form = asked.form if self.chat.structured != "text" else None
        sampling = Sampling(temperature=asked.task.temperature, seed=asked.seeds[0], form=form)
        if len(asked.seeds) > 1:
            drawn = draw_replies(self.chat, Drawing(asked.messages, sampling, asked.seeds), meter=meter)
            return [reply async for reply in drawn]
        try:
            return [await self.chat.ask(asked.messages, sampling=sampling, meter=meter)]
        except PERMANENT_ERRORS:
            raise
        except BackendError as error:
            return [error]


def local_refiner(
    model: LocalModel, *, reasons_only: bool = False, structured: Structured = "auto", prompts: PromptSet = SHIPPED
) -> ChatRefiner:
    """The refiner on a local model; the same task gives the same drafts.

    A model without a chat template is shown the same words as plain text, and writes whole answers. One that was
    trained in a prompt of a mode and carries it is asked in exactly that prompt in that mode. Unless `structured` is
    `text`, patches are held to a grammar. Raises `InputError` where the model carries a prompt in the place of an own
    one.
    """
    own = carried(model.prompt, "refiner", where=model.name)
    if own is not None:
        prompts.not_carried([own.prompt.name], model=model.name)
    refiner = ChatRefiner(chat_of(model, structured=structured), reasons_only=reasons_only, prompts=prompts)
    refiner.tuned_in = None if own is None else own.prompt
    refiner.writes_whole = reasons_only or model.layout != "chat"
    return refiner
