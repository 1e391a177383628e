"""Writers of NPOV responses: the interface, the prompt, and writers on chat models and local models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from eirene.core.errors import UnusableReplyError
from eirene.core.usage import Meter
from eirene.data.topics import Side, Topic
from eirene.models.chat import ChatModel, Sampling
from eirene.models.local.chat import chat_of
from eirene.models.local.model import LocalModel
from eirene.models.replies import Reply
from eirene.models.reply_text import check_ending, unwrapped
from eirene.prompts import Message, load_prompt
from eirene.prompts.curly import response_prompt
from eirene.prompts.fence import break_control_tokens, fence_word
from eirene.text.clauses import opening_length
from eirene.text.sentences import split_sentences

PROMPT = "npov_response"
GENERATOR = "generator"
"""The kind in the `eirene_prompt.json` of an adapter that was trained to write responses in the curly-braces form."""
_INTRODUCTION = re.compile(r"\A[#*_ \t]*introduction[*_ \t]*:[*_ \t]*", re.IGNORECASE)
_RESPONSE = re.compile(r"^[#*_ \t]*(?:main[ \t]+)?response[*_ \t]*:[*_ \t]*", re.IGNORECASE | re.MULTILINE)
_PARAGRAPHS = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class WriteTask:
    """One response to be written: every argument of `topic`, and nothing else. `seed` is derived for this response."""

    query: str
    topic: Topic
    seed: int


@dataclass(frozen=True, slots=True)
class Draft:
    """What was written. `introduction` leads from the question to the `main` response; a model may leave it out."""

    introduction: str
    main: str


@runtime_checkable
class Writer(Protocol):
    """Writes responses in which every side has its say."""

    @property
    def name(self) -> str:
        """What the response calls its backend."""
        ...

    @property
    def version(self) -> str:
        """What its texts hang on beside the task and the name: prompts' digests, settings; empty where nothing does."""
        ...

    async def write(self, task: WriteTask, *, meter: Meter) -> Draft:
        """The response. Raises `BackendError` when a model cannot be reached or gives nothing usable."""
        ...


def response_messages(task: WriteTask) -> tuple[tuple[Message, ...], str]:
    """The chat messages that ask for a response, and the word that marks the untrusted texts in them."""
    values = {
        "query": break_control_tokens(task.query),
        "question": break_control_tokens(task.topic.question),
        "arguments": break_control_tokens("\n\n".join(_side(side) for side in task.topic.sides)),
    }
    mark = fence_word(*values.values())
    return load_prompt(PROMPT).fill({**values, "mark": mark}), mark


def _side(side: Side) -> str:
    who = [f"(taken by: {_line(side.speakers)})"] if side.speakers else []
    return "\n".join([" ".join([_line(side.name), *who]), *(f"- {_line(a.text)}" for a in side.arguments)])


def _line(text: str) -> str:
    return " ".join(text.split())


class ChatWriter:
    """Asks a chat model; temperature 0 makes responses repeatable where the provider allows."""

    def __init__(self, model: ChatModel, *, temperature: float | None = 0.0) -> None:
        self._chat = model
        self._temperature = temperature

    @property
    def name(self) -> str:
        """The model's name."""
        return self._chat.name

    @property
    def version(self) -> str:
        """The prompt's digest and the temperature; the weights, where the model runs here."""
        weights = "" if self._chat.digest is None else f"{self._chat.digest},"
        return f"{weights}prompt={load_prompt(PROMPT).digest},t={self._temperature}"

    async def write(self, task: WriteTask, *, meter: Meter) -> Draft:
        """The response. Raises `BackendError`, of which `UnusableReplyError` for one that was cut off or is empty."""
        messages, mark = response_messages(task)
        sampling = Sampling(temperature=self._temperature, seed=task.seed)
        reply = await self._chat.ask(messages, sampling=sampling, meter=meter)
        return read_response(reply, marks=(mark,))


class LocalWriter:
    """A generator that was trained on this machine, in the curly-braces form that it knows."""

    def __init__(self, model: LocalModel) -> None:
        from eirene.models.local.sampling import LocalSampling

        self._model = model
        self._sampling = LocalSampling(temperature=0.0)

    @property
    def name(self) -> str:
        """The model's name, `hf:...`."""
        return self._model.name

    @property
    def version(self) -> str:
        """The model's version."""
        return f"{self._model.version},prompt=curly,t={self._sampling.temperature}"

    async def write(self, task: WriteTask, *, meter: Meter) -> Draft:
        """The response. Raises `BackendError` as `ChatWriter` does, and for a prompt beyond the model's context."""
        arguments = [(side.name, argument.text) for side, argument in task.topic.arguments]
        ids = self._model.encode_text(response_prompt(task.topic.question, arguments).text)
        (reply,) = await self._model.sample(ids, [task.seed], sampling=self._sampling, meter=meter)
        return read_generated(reply)


def local_writer(model: LocalModel) -> Writer:
    """The writer on a local model: one that was trained to write, or else as on any chat model."""
    return LocalWriter(model) if (model.prompt or {}).get("kind") == GENERATOR else ChatWriter(chat_of(model))


def read_response(reply: Reply, *, marks: tuple[str, ...] = ()) -> Draft:
    """The two parts, freed of thinking, preambles and wrapping.

    Without the names of the parts, a first paragraph of one sentence that quotes nobody is the introduction if more
    follow, and else there is none. Raises `UnusableReplyError` with the reply when it was cut off or filtered, and when
    nothing is left.
    """
    check_ending(reply, "response")
    text = unwrapped(reply.text, marks=marks)
    introduction, main = _parts(text)
    if not any(c.isalnum() for c in main):
        raise UnusableReplyError("the reply holds no response", reply=text)
    return Draft(" ".join(introduction.split()), main.strip())


def read_generated(reply: Reply) -> Draft:
    """What a generator in the curly-braces form wrote: everything up to the brace that closes its value."""
    check_ending(reply, "response")
    text = reply.text.partition("}")[0].strip()
    if not any(c.isalnum() for c in text):
        raise UnusableReplyError("the generator wrote nothing", reply=reply.text)
    return Draft("", text)


def _only_introduces(paragraph: str) -> bool:
    """Whether a paragraph is one sentence in which nobody says anything."""
    return len(split_sentences(paragraph)) == 1 and not opening_length(paragraph)


def _parts(text: str) -> tuple[str, str]:
    opened = _INTRODUCTION.match(text)
    rest = text[opened.end() :] if opened else text
    named = _RESPONSE.search(rest)
    if named is not None and (opened or named.start() == 0):
        return rest[: named.start()], rest[named.end() :]
    first, *more = _PARAGRAPHS.split(rest, maxsplit=1)
    if more and (opened or _only_introduces(first.strip())):
        return first, more[0]
    if opened:
        sentences = split_sentences(rest)
        return sentences[0].raw, rest[sentences[0].end :]
    return "", rest
