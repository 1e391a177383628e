"""Feedback models on chat models and on local models: what they are asked, and how replies become samples."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from eirene.core.critique import CriticKind, Sample
from eirene.core.errors import BackendError
from eirene.core.logs import get_logger
from eirene.core.loop_settings import Structured
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest, ReadsOut
from eirene.feedback_model.citation import with_ids
from eirene.feedback_model.hallucination import (
    HALLUCINATION_JSON_PROMPT,
    HALLUCINATION_PROMPT,
    hallucination_form,
    hallucination_messages,
    read_hallucinations,
)
from eirene.feedback_model.readout import read_out
from eirene.feedback_model.reply import read_reply
from eirene.feedback_model.request import (
    CHAT_PROMPT,
    COMPLETENESS_JSON_PROMPT,
    INSTRUCT_PROMPT,
    LONGEST_REASON,
    LONGEST_WORDS,
    MOST_SENTENCES,
    completeness_form,
    feedback_instruct,
    feedback_messages,
    lines_grammar,
)
from eirene.feedback_model.sampling import Says
from eirene.feedback_model.vote import count_distinct
from eirene.models.chat import ChatModel, Sampling
from eirene.models.drawing import Drawing, draw_replies
from eirene.models.local.chat import chat_of
from eirene.models.local.layout import Role, carried
from eirene.models.local.model import LocalModel
from eirene.models.replies import Reply
from eirene.models.structured import ReplyForm
from eirene.models.token_choice import TokenChoice
from eirene.prompts import SHIPPED, Message, Prompt, PromptSet

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.models.local.sampling import LocalSampling

logger = get_logger(__name__)
TEMPERATURE = 1.0
"""EIR (section 4.1) names nucleus sampling with p = 0.9 and no temperature, that is, the model's own distribution.

A lower one would raise every consistency without making any critique better.
"""
TOP_P = 0.9
_ENTRY_TOKENS = 2 * LONGEST_WORDS + LONGEST_REASON + 100
"""Room for one sentence's entry that the grammar bounds: no token is shorter than a character."""
_SHOWN_REPLY = 160
"""Characters of a reply that could not be read."""
_ENOUGH_TO_TELL = 3  # fewer equal samples are no sign of anything


class _Messages(Protocol):
    def __call__(
        self, request: FeedbackRequest, *, prompt: Prompt | None = None, prompts: PromptSet = SHIPPED
    ) -> tuple[Message, ...]: ...


@dataclass(frozen=True, slots=True)
class CriticSpec:
    """One way of asking for a critique.

    `role` is under which a tuned model carries its prompt. `form` is the JSON that a model is held to where that can be
    done, `messages` ask for text, in the prompts named `json_prompt` and `prompt`. `in_own_words`: whether replies hold
    reasons that a model words itself, so that equal replies are a sign of copies.
    """

    critic: CriticKind
    role: Role
    messages: _Messages
    prompt: str
    form: Callable[[FeedbackRequest, PromptSet], ReplyForm | None]
    json_prompt: str
    read: Callable[[str, FeedbackRequest, str | None], Sample]
    in_own_words: bool

    def sample(self, reply: Reply, request: FeedbackRequest) -> Sample:
        """A reply as it is read; one that cannot be read goes along, shortened, so that people see what came."""
        found = self.read(reply.text, request, reply.finish_reason)
        words = " ".join(reply.text[: 4 * _SHOWN_REPLY].encode("utf-8", "replace").decode("utf-8").split())
        short = words if len(words) <= _SHOWN_REPLY else f"{words[:_SHOWN_REPLY]}..."
        return found if found.is_valid or not short else found.model_copy(update={"reply": short})

    def invalid(self, why: str) -> Sample:
        """A sample that cannot vote, of this critic."""
        return Sample(invalid=why, critic=None if self.critic == "completeness" else self.critic)


COMPLETENESS = CriticSpec(
    critic="completeness",
    role="feedback",
    messages=feedback_messages,
    prompt=CHAT_PROMPT,
    form=completeness_form,
    json_prompt=COMPLETENESS_JSON_PROMPT,
    read=lambda text, request, ended: with_ids(
        read_reply(text, request.sentences, finish_reason=ended), request.shown.ids
    ),
    in_own_words=True,
)
HALLUCINATION = CriticSpec(
    critic="hallucination",
    role="hallucination",
    messages=hallucination_messages,
    prompt=HALLUCINATION_PROMPT,
    form=hallucination_form,
    json_prompt=HALLUCINATION_JSON_PROMPT,
    read=read_hallucinations,
    in_own_words=False,
)


class ChatFeedback:
    """Draws critiques from a chat model: in one request where the provider gives several replies, else concurrently.

    `model` is a LangChain chat model, or a `ChatModel` that is shared with other roles. Sample i is seeded with
    (request seed, i) where replies come one a call; n replies of one request share the first one's seed. `asking` is
    what it is asked for and how its replies are read: for completeness, or for hallucinations. `prompts`: own wording.
    """

    def __init__(
        self,
        model: BaseChatModel | ChatModel,
        *,
        temperature: float | None = TEMPERATURE,
        top_p: float | None = TOP_P,
        asking: CriticSpec = COMPLETENESS,
        prompts: PromptSet = SHIPPED,
        of_sides: ReadsOut | None = None,
    ) -> None:
        self._asking = asking
        self._of_sides = of_sides
        self.prompts = prompts
        self.chat = model if isinstance(model, ChatModel) else ChatModel(model)
        self.name = self.chat.name
        self._choice = TokenChoice(self.chat)
        self.sampling = Sampling(temperature=temperature, top_p=top_p)
        """The temperature and nucleus that samples are drawn with."""

    def asks(self, request: FeedbackRequest, *, start: int, count: int) -> Drawing:
        """What `draw` asks for."""
        seeds = tuple(derive_seed(request.seed, "sample", i) for i in range(start, start + count))
        sampling = self.sampling
        if self.chat.structured != "text":
            form = self._asking.form(request, self.prompts)
            sampling = replace(sampling, form=form)
        messages = self._asking.messages(request, prompts=self.prompts)
        return Drawing(messages, sampling, seeds)

    @property
    def draws_together(self) -> bool:
        """Whether several samples may be asked for in one request; a guess until a request has found out."""
        return self.chat.takes_n

    async def read_out(self, request: FeedbackRequest, *, meter: Meter, says: Says | None = None) -> Sample:
        """Tags by the probabilities of a yes or no for each sentence (`eirene.feedback_model.readout`).

        Which given arguments an answer lacks `of_sides` reads, where there is one and it can.
        """
        if self._of_sides is not None and request.item.perspectives:
            sample = await self._of_sides.read_out(request, meter=meter, says=says)
            if sample.is_valid:
                return sample
        return await read_out(self.chat, self._choice, request, meter=meter, prompts=self.prompts, says=says)

    async def draw(
        self, request: FeedbackRequest, *, start: int, count: int, meter: Meter
    ) -> AsyncGenerator[Sample, None]:
        """Samples `start` to `start + count - 1`, in this order; closing the generator cancels the calls under way.

        A call that failed for good is an invalid sample with the cause. Raises `BackendError` when the key or the
        quota is the cause, or when no call of the request's first draw succeeds.
        """
        _warn_of_zero(self.name, self.sampling.temperature, start + count)
        asked = self.asks(request, start=start, count=count)
        replies = draw_replies(self.chat, asked, meter=meter)
        drawn: list[Sample] = []
        known: dict[tuple[str, str | None], Sample] = {}  # replies that are word for word the same are read once
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
                    said = reply.text, reply.finish_reason
                    if said not in known:
                        known[said] = self._asking.sample(reply, request)
                    drawn.append(known[said])
                    yield drawn[-1]
        if failures:
            raise failures[-1]
        self._check_distinct(drawn)

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


def _warn_of_zero(name: str, temperature: float | None, wanted: int) -> None:
    if temperature == 0 and wanted > 1:
        logger.warning(
            "%s: at temperature 0 all samples are alike, and their agreement says nothing; use 1.0, or 1 sample", name
        )


class LocalFeedback:
    """Draws critiques from a local model; `hf:` backends use it. One model may serve several roles.

    An adapter or model that carries the prompt it was trained with is asked in exactly that prompt. Sample i depends
    on (request seed, i) alone. `sampling` defaults to nucleus p = 0.9 at temperature 1 (EIR section 4.1), at most
    1,024 tokens a reply. `asking` is what it is asked for: completeness, or hallucinations; for these a model without
    a chat template is given the messages as one text, and a reply may have twice the answer's tokens where that is
    more, since it holds a copy of the answer.

    Unless `structured` is `text`, replies are held to a grammar, so that every one can be read: tags are chosen among
    the two by their probabilities, reasons are free but for their length. It is the JSON of chat models for a model
    with a chat template, and the numbered lines that it was trained on for one that was trained. `prompts`: own
    wording; raises `InputError` where the model carries a prompt in the place of one of them.
    """

    def __init__(
        self,
        model: LocalModel,
        *,
        sampling: LocalSampling | None = None,
        asking: CriticSpec = COMPLETENESS,
        structured: Structured = "auto",
        prompts: PromptSet = SHIPPED,
    ) -> None:
        from eirene.models.local.sampling import LocalSampling

        self._model = model
        self.name = model.name
        self.sampling = LocalSampling() if sampling is None else sampling
        """What critiques are drawn with."""
        self._asking = asking
        self._structured = structured
        self._carried = carried(model.prompt, asking.role, where=model.name)
        self._prompts = prompts
        if self._carried is not None:
            asked = (asking.prompt, asking.json_prompt, *((INSTRUCT_PROMPT,) if asking is COMPLETENESS else ()))
            prompts.not_carried(asked, model=model.name)

    @property
    def draws_together(self) -> bool:
        """All samples of a draw come from one reading of the prompt."""
        return True

    async def read_out(self, request: FeedbackRequest, *, meter: Meter, says: Says | None = None) -> Sample:
        """Tags by the probabilities of a yes or no for each sentence (`eirene.feedback_model.readout`)."""
        chat = chat_of(self._model)
        return await read_out(chat, TokenChoice(chat), request, meter=meter, prompts=self._prompts, says=says)

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """Samples `start` to `start + count - 1`; they come together, when the last has ended.

        Raises `BackendError` for a prompt longer than the model's context, and when memory runs out.
        """
        _warn_of_zero(self.name, self.sampling.temperature, start + count)
        seeds = [derive_seed(request.seed, "sample", i) for i in range(start, start + count)]
        form = self._form(request)
        ids = self.prompt_ids(request, form=form)
        for reply in await self._model.sample(ids, seeds, sampling=self._how(request, form), meter=meter):
            yield self._asking.sample(reply, request)

    def _form(self, request: FeedbackRequest) -> ReplyForm | None:
        """The JSON that replies are held to; None where the model is asked for text."""
        if self._structured == "text" or self._carried is not None or self._model.layout != "chat":
            return None
        return self._asking.form(request, self._prompts)

    def _how(self, request: FeedbackRequest, form: ReplyForm | None) -> LocalSampling:
        """What replies are drawn with: the grammar, and room for the longest that it allows."""
        how, count = self.sampling, len(request.sentences)
        if form is None and self._asking is not COMPLETENESS:
            return self._with_room(2 * len(self._model.encode_text(request.answer)))
        if self._structured == "text" or not 1 <= count <= MOST_SENTENCES:
            return how
        grammar = lines_grammar(count) if form is None else form.grammar
        return replace(self._with_room(count * _ENTRY_TOKENS), grammar=grammar)

    def _with_room(self, tokens: int) -> LocalSampling:
        return replace(self.sampling, max_new_tokens=max(self.sampling.max_new_tokens, tokens))

    def prompt_ids(self, request: FeedbackRequest, *, form: ReplyForm | None = None) -> list[int]:
        """The tokens that the model is shown for `request`, or for the JSON of `form`."""
        if form is not None:
            return self._model.encode_chat(form.messages)
        own = self._carried
        in_messages = own is not None and (own.layout == "chat" or self._asking is not COMPLETENESS)
        if self._model.layout == "chat" or self._asking is not COMPLETENESS:
            prompt = own.prompt if own is not None and in_messages else None
            messages = self._asking.messages(request, prompt=prompt, prompts=self._prompts)
            return self._model.encode_messages(messages)
        words, prompt = (None, None) if own is None or own.layout == "chat" else (own.instruction, own.prompt)
        return self._model.encode_text(
            feedback_instruct(request, instruction=words, prompt=prompt, prompts=self._prompts)
        )
