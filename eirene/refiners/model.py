"""Refiners on chat models and on local models: they ask as `eirene.refiners.asking` says, and read what comes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eirene.core.errors import PERMANENT_ERRORS, BackendError
from eirene.core.loop_settings import Structured
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.drawing import draw_replies
from eirene.models.local.layout import carried
from eirene.models.local.model import LocalModel
from eirene.models.replies import Reply
from eirene.prompts import SHIPPED, PromptSet
from eirene.refiners.asking import PROMPTS, AskedRewrite, drafts_of, requests_for
from eirene.refiners.base import DrawnText, RefineTask

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.models.local.sampling import LocalSampling


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
        self._reasons_only = reasons_only

    @property
    def name(self) -> str:
        """The model's name."""
        return self.chat.name

    async def refine(self, task: RefineTask, *, meter: Meter) -> tuple[DrawnText, ...]:
        """What the model drew, read as new answers. A reply that cannot be read as one is a draft that says why.

        Raises `BackendError` when the model cannot be reached, `InputError` when a mode that needs a critique has none.
        """
        if self._reasons_only:
            task = replace(task, form="whole")
        asked = requests_for(task, reasons_only=self._reasons_only, prompts=self.prompts)
        # One after the other: what they begin with alike is in a prompt cache by the second one.
        return drafts_of(asked, [await self._replies(one, meter) for one in asked])

    async def _replies(self, asked: AskedRewrite, meter: Meter) -> list[Reply | BackendError]:
        form = asked.form if self.chat.structured != "text" else None
        sampling = Sampling(temperature=asked.task.temperature, seed=asked.seeds[0], form=form)
        if len(asked.seeds) > 1:
            drawn = draw_replies(self.chat, asked.messages, sampling=sampling, seeds=asked.seeds, meter=meter)
            return [reply async for reply in drawn]
        try:
            return [await self.chat.ask(asked.messages, sampling=sampling, meter=meter)]
        except PERMANENT_ERRORS:
            raise
        except BackendError as error:
            return [error]


class LocalRefiner:
    """Asks a local model for a better answer, in the prompts that chat models get; see `eirene.refiners.asking`.

    A model without a chat template is shown the same words as plain text, and writes whole answers. One that was
    trained in a prompt of a mode and carries it is asked in exactly that prompt in that mode. Unless `structured` is
    `text`, patches are held to a grammar. `sampling` says how long replies may be, at most 1,024 tokens by default.
    `reasons_only` shows the reasons of a critique alone, as the EIR paper does. `prompts`: own wording; raises
    `InputError` where the model carries a prompt in the place of one of them.
    """

    draws = True

    def __init__(
        self,
        model: LocalModel,
        *,
        sampling: LocalSampling | None = None,
        reasons_only: bool = False,
        structured: Structured = "auto",
        prompts: PromptSet = SHIPPED,
    ) -> None:
        from eirene.models.local.sampling import LocalSampling

        self._model = model
        self._sampling = LocalSampling() if sampling is None else sampling
        self._reasons_only = reasons_only
        self._structured = structured
        self._carried = carried(model.prompt, "refiner", where=model.name)
        self._prompts = prompts
        if self._carried is not None:
            prompts.not_carried([self._carried.prompt.name], model=model.name)

    @property
    def name(self) -> str:
        """The model's name, `hf:...`."""
        return self._model.name

    async def refine(self, task: RefineTask, *, meter: Meter) -> tuple[DrawnText, ...]:
        """What the model drew, read as new answers; the same task gives the same drafts. A reply that cannot be read as
        one is a draft that says why.

        Raises `BackendError` for a prompt longer than the model's context, `InputError` when a mode that needs a
        critique has none.
        """
        own = self._carried.prompt if self._carried is not None else None
        prompt = own if own is not None and own.name == PROMPTS[task.mode] else None
        if prompt is not None or self._reasons_only or self._model.layout != "chat":
            task = replace(task, form="whole")
        asked = requests_for(task, reasons_only=self._reasons_only, prompt=prompt, prompts=self._prompts)
        return drafts_of(asked, [await self._replies(one, meter) for one in asked])

    async def _replies(self, asked: AskedRewrite, meter: Meter) -> list[Reply]:
        how = replace(self._sampling, temperature=asked.task.temperature or 0.0)
        form = asked.form if self._structured != "text" else None
        if form is not None:
            how = replace(how, grammar=form.grammar)
        ids = self._model.encode_messages(asked.messages if form is None else form.messages)
        return await self._model.sample(ids, asked.seeds, sampling=how, meter=meter)
