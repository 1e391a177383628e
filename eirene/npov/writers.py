"""Writers of NPOV responses: the interface, writers on chat models and local models, and the embedded writer.

The embedded writer words every argument in the mouth of its side, and checks what a model wrote; English only. Every
verb of it is one that takes no stand: nobody "points out", "admits" or "claims". All sides get the same openings in
the same order, so that none is treated better.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from eirene.alignment import align
from eirene.core.errors import InputError, UnusableReplyError
from eirene.core.signature import rng_for
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
from eirene.text.edits.pieces import spaced
from eirene.text.english import Decapitalizer, as_sentence, is_statement, side_of
from eirene.text.language import other_language, unsupported_language
from eirene.text.sentences import split_sentences
from eirene.text.words import listed_sentences

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

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

    @property
    def version(self) -> str:
        """What its texts hang on beside the task and the name: prompts' digests, settings; empty where nothing does."""

    async def write(self, task: WriteTask, *, meter: Meter) -> Draft:
        """The response. Raises `BackendError` when a model cannot be reached or gives nothing usable."""


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
    who = [f"(taken by: {spaced(side.speakers)})"] if side.speakers else []
    return "\n".join([" ".join([spaced(side.name), *who]), *(f"- {spaced(a.text)}" for a in side.arguments)])


class ChatWriter:
    """Asks a chat model; temperature 0 makes responses repeatable where the provider allows."""

    def __init__(self, model: ChatModel) -> None:
        self._chat = model
        self.name = model.name
        weights = "" if model.digest is None else f"{model.digest},"
        self.version = f"{weights}prompt={load_prompt(PROMPT).digest},t=0.0"

    async def write(self, task: WriteTask, *, meter: Meter) -> Draft:
        """The response. Raises `BackendError`, of which `UnusableReplyError` for one that was cut off or is empty."""
        messages, mark = response_messages(task)
        sampling = Sampling(temperature=0.0, seed=task.seed)
        reply = await self._chat.ask(messages, sampling=sampling, meter=meter)
        return read_response(reply, marks=(mark,))


class LocalWriter:
    """A generator that was trained on this machine, in the curly-braces form that it knows."""

    def __init__(self, model: LocalModel) -> None:
        from eirene.models.local.sampling import LocalSampling

        self._model = model
        self.name = model.name
        self._sampling = LocalSampling(temperature=0.0)
        self.version = f"{model.version},prompt=curly,t={self._sampling.temperature}"

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


def _parts(text: str) -> tuple[str, str]:
    opened = _INTRODUCTION.match(text)
    rest = text[opened.end() :] if opened else text
    named = _RESPONSE.search(rest)
    if named is not None and (opened or named.start() == 0):
        return rest[: named.start()], rest[named.end() :]
    first, *more = _PARAGRAPHS.split(rest, maxsplit=1)
    # A paragraph of one sentence in which nobody says anything only introduces.
    if more and (opened or (len(split_sentences(first.strip())) == 1 and not opening_length(first.strip()))):
        return first, more[0]
    if opened:
        sentences = split_sentences(rest)
        return sentences[0].raw, rest[sentences[0].end :]
    return "", rest


INTRODUCTIONS = listed_sentences("npov introductions")
"""None repeats the question: its words would stand in the response without being anybody's argument."""
SPEAKERS = {"for": "Supporters", "against": "Opponents"}
# {who}: the speakers. The first of a side, then the others; each for statements and for what cannot follow "that".
FIRST = ("{who} say that", "{who} argue that", "{who} hold that")
FURTHER = listed_sentences("npov further")
FIRST_AS_IT_IS = ("{who} give this reason:", "{who} make this argument:")
FURTHER_AS_IT_IS = ("They give a further reason:", "They make another argument:", "{who} also give this reason:")
_MOST_REPEATED = 2
"""Words of a name up to which it may come again and again."""
LIKELY = 0.5
"""Probability from which something is reported."""


class EmbeddedWriter:
    """Composes a response from the arguments, with openings that vary and are the same for every side.

    Sides come in an order drawn with the seed, the arguments of a side as the topic has them, a paragraph for each
    side. Calls no model and costs nothing. Raises `InputError` for a topic in another language than English.
    """

    name = "embedded"
    version = ""

    async def write(self, task: WriteTask, *, meter: Meter) -> Draft:
        """The response; nothing goes on `meter`, since nothing is called."""
        return compose(task.topic, seed=task.seed)


def compose(topic: Topic, *, seed: int) -> Draft:
    """What `EmbeddedWriter` writes: the same topic and seed give the same text."""
    texts = [topic.question, *(argument.text for _, argument in topic.arguments)]
    whole = " ".join(texts)
    language = other_language(whole)
    if language is not None:
        said = f"the topic {topic.id!r} reads as {language}, and the embedded writer knows English alone"
        raise InputError(f"{said}; name a chat model as backend", field="backend")
    rng = rng_for(seed, "npov")
    introduction = INTRODUCTIONS[int(rng.integers(len(INTRODUCTIONS)))]
    frames = Frames(rng, Decapitalizer(texts), topic.sides)
    paragraphs = []
    for n in rng.permutation(len(topic.sides)):
        side = topic.sides[int(n)]
        paragraphs.append(" ".join(frames.say(a.text, side=side, k=k) for k, a in enumerate(side.arguments)))
    return Draft(introduction, "\n\n".join(paragraphs))


def speakers_of(side: Side) -> str:
    """Who takes a side, as the beginning of a sentence: the topic's own word for them where it has one."""
    if side.speakers is not None:
        text = " ".join(side.speakers.split())
        return text[:1].upper() + text[1:]
    known = SPEAKERS.get(side_of(side.name))
    return known or f"Those on the side {quoted(side.name)}"


def quoted(text: str) -> str:
    """The text on one line in quotation marks that do not end inside it."""
    line = " ".join(text.split())
    return f"“{line.replace('“', '‘').replace('”', '’')}”"


class Frames:
    """Draws the openings of one response for `sides`; argument k of every side gets the same one."""

    def __init__(self, rng: np.random.Generator, letters: Decapitalizer, sides: Sequence[Side]) -> None:
        self._letters = letters
        self._who = {side.name: speakers_of(side) for side in sides}
        # A long name is said once; then they are "they", on every side.
        self._again = all(len(who.split()) <= _MOST_REPEATED for who in self._who.values())
        most = max((len(side.arguments) for side in sides), default=0)
        self._that = _drawn(rng, FIRST, FURTHER, most)
        self._as_it_is = _drawn(rng, FIRST_AS_IT_IS, FURTHER_AS_IT_IS, most)

    def say(self, argument: str, *, side: Side, k: int) -> str:
        """Argument `k` (from 0) of a side as one sentence that names who says it.

        A statement goes on after "that"; anything else stands behind a colon as it is, and in quotation marks where it
        is more than one sentence: nothing is said that nobody is named for.
        """
        plain = as_sentence(argument)
        who = self._who[side.name] if k == 0 or self._again else "They"
        if len(split_sentences(plain)) > 1:
            return f"{self._as_it_is[k].format(who=who)} {quoted(plain)}"
        lowered = self._letters.lowered(plain) if is_statement(plain) else None
        if lowered is None:
            return f"{self._as_it_is[k].format(who=who)} {plain}"
        return f"{self._that[k].format(who=who)} {lowered}"


def _drawn(rng: np.random.Generator, first: Sequence[str], further: Sequence[str], most: int) -> list[str]:
    """One of `first`, then `further` in a drawn order, over and over."""
    order = [further[int(n)] for n in rng.permutation(len(further))]
    return [first[int(rng.integers(len(first)))], *(order[k % len(order)] for k in range(max(0, most - 1)))]


@dataclass(frozen=True, slots=True)
class Check:
    """Ids of the arguments that the response seems not to say, and the sentences of it that no argument seems to back.

    Both are calibrated guesses (docs/concepts/detectors.md), not findings.
    """

    missing: tuple[str, ...]
    unsupported: tuple[str, ...]


def check(topic: Topic, main: str, encoder: Encodes) -> Check | None:
    """The check of a main response; None where it or its topic is in another language than English."""
    if unsupported_language(main, [argument.text for _, argument in topic.arguments]) is not None:
        return None
    ids = [argument.id for _, argument in topic.arguments]
    found = align([argument.text for _, argument in topic.arguments], main, encoder, question=topic.question)
    return Check(
        tuple(i for i, p in zip(ids, found.p_missing, strict=True) if p >= LIKELY),
        tuple(s.text for s, p in zip(found.sentences, found.p_unsupported_sentences, strict=True) if p >= LIKELY),
    )
