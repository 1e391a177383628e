"""Asks a model to write a passage anew in a genre, or to put one error into a text; a prompt file for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from eirene.errors import InputError
from eirene.fava.kinds import KINDS, REPLACED, HallucinationKind
from eirene.fava.tags import escape_tags
from eirene.models.chat import ChatModel, Sampling
from eirene.models.local import LocalModel
from eirene.models.local_layout import as_text
from eirene.models.local_spec import PREFIX
from eirene.models.replies import Reply
from eirene.models.resolve import ChatOptions, is_chat_name, resolve_chat
from eirene.prompts import Message, load_prompt
from eirene.prompts.untrusted import defused, mark_for
from eirene.usage import Meter

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

GENRE_PROMPT, REPLACED_PROMPT, ADDED_PROMPT = "synth_genre", "synth_error_replaced", "synth_error_added"
_TEMPERATURE = 1.0
_KNOWN = "provider:model for a chat model, such as openai:gpt-4o-mini, or hf:path-or-id for a model on this machine"


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is sent, and the word on the lines around the untrusted text in it."""

    messages: tuple[Message, ...]
    mark: str


class Writes(Protocol):
    """A model that is asked for one reply at a time; `version`: what it hangs on beside prompt and seed."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    async def ask(self, question: Question, *, seed: int, meter: Meter) -> Reply:
        """The reply. Raises `BackendError` where there is none."""
        ...


class ChatWrites:
    """A chat model, at temperature 1: texts are to differ."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    @property
    def name(self) -> str:
        """The model's name."""
        return self._chat.name

    @property
    def version(self) -> str:
        """The temperature."""
        return f"t={_TEMPERATURE:g}"

    async def ask(self, question: Question, *, seed: int, meter: Meter) -> Reply:
        """One request, or what the call cache knows of it."""
        (reply,) = await self._chat.ask(
            question.messages, sampling=Sampling(temperature=_TEMPERATURE, seed=seed), meter=meter
        )
        return reply


class LocalWrites:
    """A model on this machine, in its chat template where it has one."""

    def __init__(self, model: LocalModel) -> None:
        from eirene.models.local_sampling import LocalSampling

        self._model = model
        self._sampling = LocalSampling(temperature=_TEMPERATURE)

    @property
    def name(self) -> str:
        """The model's name, `hf:...`."""
        return self._model.name

    @property
    def version(self) -> str:
        """The model's version and the temperature."""
        return f"{self._model.version},t={_TEMPERATURE:g}"

    async def ask(self, question: Question, *, seed: int, meter: Meter) -> Reply:
        """One sample."""
        if self._model.layout == "chat":
            ids = self._model.encode_chat(question.messages)
        else:
            ids = self._model.encode_text(as_text(question.messages))
        (reply,) = await self._model.sample(ids, [seed], sampling=self._sampling, meter=meter)
        return reply


def resolve_writes(backend: str | BaseChatModel | LocalModel | Writes, options: ChatOptions | None = None) -> Writes:
    """The model behind a name, a LangChain chat model, a loaded local model, or one that is such a model already.

    Raises `InputError` for a name that stands for nothing (`embedded` writes no texts), `MissingExtraError`.
    """
    if isinstance(backend, LocalModel):
        return LocalWrites(backend)
    if not isinstance(backend, str):
        return backend if isinstance(backend, (ChatWrites, LocalWrites)) else _other(backend, options)
    if backend.startswith(PREFIX):
        if options is not None and options.base_url is not None:
            raise InputError("base_url goes with a chat model; an hf: backend calls no server", field="base_url")
        from eirene.models.local import load_local

        return LocalWrites(load_local(backend))
    if not is_chat_name(backend):
        raise InputError(f"a model that writes is wanted, got {backend!r}; known: {_KNOWN}", field="backend")
    return ChatWrites(resolve_chat(backend, options=options))


def _other(backend: BaseChatModel | Writes, options: ChatOptions | None) -> Writes:
    from langchain_core.language_models import BaseChatModel

    if isinstance(backend, BaseChatModel):
        return ChatWrites(resolve_chat(backend, options=options))
    return backend


def genre_question(passage: str, genre: str) -> Question:
    """Asks for the passage as a text of a genre, such as `a news report`."""
    shown = defused(passage)
    mark = mark_for(shown)
    return Question(load_prompt(GENRE_PROMPT).fill({"mark": mark, "passage": shown, "genre": genre}), mark)


def error_question(text: str, kind: HallucinationKind) -> Question:
    """Asks for the text with one more error of a kind, tagged; tags that the text spells out are escaped."""
    shown = defused(escape_tags(text))
    mark = mark_for(shown)
    prompt = load_prompt(REPLACED_PROMPT if kind in REPLACED else ADDED_PROMPT)
    values = {"mark": mark, "text": shown, "kind": kind, "definition": KINDS[kind].definition}
    return Question(prompt.fill(values), mark)


def prompts_digest() -> str:
    """The digests of the three prompts."""
    return "/".join(load_prompt(name).digest for name in (GENRE_PROMPT, REPLACED_PROMPT, ADDED_PROMPT))
