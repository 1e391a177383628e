"""Writes an NPOV response to a query: finds the topic, writes, and says what was made with what."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eirene._version import __version__
from eirene.core.concurrency import run_blocking
from eirene.core.errors import InputError, NoTopicError, TopicMatch
from eirene.core.records import Item, parse_item
from eirene.core.signature import check_seed, derive_seed, digest, rng_for, signature
from eirene.core.usage import Meter, Usage
from eirene.data.topics import Topic, without_copies
from eirene.models.encoder.runtime import shipped_encoder
from eirene.models.local.model import LocalModel
from eirene.npov.knowledge import THRESHOLD, KnowledgeBase, TopicHit, load_topics
from eirene.npov.writers import ChatWriter, Check, EmbeddedWriter, Writer, WriteTask, check, local_writer

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.models.resolve import ChatOptions

    Backend = str | BaseChatModel | LocalModel | Writer


@dataclass(frozen=True, slots=True)
class Response:
    """A response, and everything that it was made of.

    `topic` holds the arguments that the response is to say: those of the match, without copies, cut to `per_side`.
    `copies` is how many went. `check` is None where the embedded writer wrote, since what it says is known,
    and where the response is not in English, which the check reads alone.
    """

    query: str
    match: TopicHit
    nearest: tuple[TopicHit, ...]
    topic: Topic
    introduction: str
    main: str
    backend: str
    seed: int
    signature: str
    usage: Usage
    copies: int = 0
    check: Check | None = None

    @property
    def text(self) -> str:
        """Introduction and main response."""
        return f"{self.introduction}\n\n{self.main}" if self.introduction else self.main

    def item(self) -> Item:
        """The response as an item, for the loop, the detectors or a file; everything else stands under `meta.npov`.

        The question is the topic's own: its sides answer that one, whatever way round the query puts it.
        """
        return parse_item(
            {
                "id": f"npov-{digest([self.topic.question, self.text])[:12]}",
                "question": self.topic.question,
                "answer": self.text,
                "perspectives": [
                    {"name": side.name, "arguments": [a.text for a in side.arguments]} for side in self.topic.sides
                ],
                "meta": {"npov": self._facts()},
            }
        )

    def _facts(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "topic": self.topic.id,
            "similarity": round(self.match.similarity, 4),
            "exact": self.match.exact,
            "introduction": self.introduction,
            "argument_ids": [[a.id for a in side.arguments] for side in self.topic.sides],
            "argument_sources": [[a.source for a in side.arguments] for side in self.topic.sides],
            "sources": list(self.topic.sources),
            "copies_left_out": self.copies,
            "check": None
            if self.check is None
            else {"missing": list(self.check.missing), "unsupported": list(self.check.unsupported)},
            "nearest": [nearest_json(m) for m in self.nearest],
            "backend": self.backend,
            "seed": self.seed,
            "signature": self.signature,
            "usage": self.usage.model_dump(mode="json"),
        }


def nearest_json(match: TopicMatch) -> dict[str, Any]:
    """A match as plain JSON."""
    return {"topic": match.topic.id, "question": match.topic.question, "similarity": round(match.similarity, 4)}


async def arespond(
    query: str,
    topics: KnowledgeBase | str,
    *,
    backend: Backend = "embedded",
    base_url: str | None = None,
    chat_options: ChatOptions | None = None,
    k: int = 3,
    threshold: float = THRESHOLD,
    per_side: int | None = None,
    seed: int = 0,
) -> Response:
    """Finds the topic that fits `query` and writes a response that says each of its arguments, side by side.

    `topics`: a knowledge base or the name of its file. `backend`: `embedded`, `provider:model`, a LangChain chat
    model, `hf:path-or-id[+adapter]`, or a `Writer`. `chat_options`: how a chat model is reached, its price and cache
    (`base_url` is its server's address alone). `k`: how many of the nearest topics are listed. `per_side`: at most
    so many arguments of each side, the same number for all, drawn with the seed; None: all there are.

    Raises `NoTopicError` where no topic is near enough, `InputError` for a topic with fewer than two sides or a setting
    that cannot be used, `BackendError` when a model fails.

    Examples:
        >>> import asyncio
        >>> from eirene.npov import KnowledgeBase, arespond
        >>> from eirene.models.encoder.runtime import shipped_encoder
        >>> from eirene.data.topics import parse_topic
        >>> sides = [{"name": "pro", "arguments": ["Cages are cruel."]}, {"name": "con", "arguments": ["Zoos teach."]}]
        >>> topic = parse_topic({"id": "zoos", "question": "Should zoos be closed?", "perspectives": sides})
        >>> base = KnowledgeBase([topic], shipped_encoder())
        >>> asyncio.run(arespond("should ZOOS be closed", base)).topic.id
        'zoos'
    """
    started, meter = time.perf_counter(), Meter()
    check_seed(seed)
    if per_side is not None and per_side < 1:
        raise InputError(f"per_side must be at least 1, got {per_side}", field="per_side")
    base = load_topics(topics) if isinstance(topics, str) else topics
    found = base.find(query, k=k, threshold=threshold)
    if found.match is None:
        raise NoTopicError(query, found.nearest, threshold)
    topic, copies = to_be_said(found.match.topic, per_side=per_side, seed=seed)
    writer = resolve_writer(backend, base_url=base_url, chat_options=chat_options)
    draft = await writer.write(WriteTask(query, topic, derive_seed(seed, "npov", topic.id)), meter=meter)
    checked = None
    if not isinstance(writer, EmbeddedWriter):
        checked = await asyncio.to_thread(check, topic, draft.main, shipped_encoder())
    meter.add(Usage(seconds=max(0.0, time.perf_counter() - started - meter.total.seconds)))
    return Response(
        query=query,
        match=found.match,
        nearest=found.nearest,
        topic=topic,
        introduction=draft.introduction,
        main=draft.main,
        backend=writer.name,
        seed=seed,
        signature=signature(
            backend=writer.name, writer=writer.version or None, encoder=base.encoder_digest, threshold=f"{threshold:g}",
            per_side=per_side, seed=seed, v=__version__,
        ),
        usage=meter.total,
        copies=copies,
        check=checked,
    )  # fmt: skip


def respond(query: str, topics: KnowledgeBase | str, **options: Any) -> Response:
    """`arespond` for callers that are not async; takes the same arguments. Works inside a running event loop too."""
    return run_blocking(lambda: arespond(query, topics, **options), name="eirene-npov")


def to_be_said(topic: Topic, *, per_side: int | None = None, seed: int = 0) -> tuple[Topic, int]:
    """The topic as a response is to say it, and how many copies of arguments were left out.

    With `per_side` every side keeps the same number of arguments, drawn with the seed and in the topic's order.
    Raises `InputError` for a topic with fewer than two sides: there is no neutral response to one.
    """
    whole, copies = without_copies(topic, across_sides=False)
    if len(whole.sides) < 2:
        has = f"arguments on the side {whole.sides[0].name!r} only" if whole.sides else "no arguments"
        raise InputError(
            f"the topic {topic.id!r} has {has}; a neutral response needs two sides, so add arguments to another",
            field="topics",
        )
    if per_side is None:
        return whole, copies
    number = min(per_side, *(len(side.arguments) for side in whole.sides))
    rng = rng_for(seed, "npov", topic.id, "arguments")
    sides = []
    for side in whole.sides:
        chosen = sorted(int(n) for n in rng.permutation(len(side.arguments))[:number])
        sides.append(side.model_copy(update={"arguments": [side.arguments[n] for n in chosen]}))
    return whole.model_copy(update={"perspectives": sides}), copies


def resolve_writer(backend: Backend, *, base_url: str | None = None, chat_options: ChatOptions | None = None) -> Writer:
    """The writer behind a backend: `embedded`, `provider:model`, `hf:path-or-id[+adapter]`, a LangChain chat model, a
    loaded local model, or a `Writer` of your own. `chat_options`: how a chat model is reached.

    Raises `InputError` for a name that stands for nothing, `MissingExtraError`.
    """
    if isinstance(backend, Writer):
        return backend
    from eirene.models.local.model import load_local
    from eirene.models.local.spec import PREFIX
    from eirene.models.resolve import NO_SERVER, ChatOptions, resolve_chat

    options = ChatOptions() if chat_options is None else chat_options
    options = options if base_url is None else replace(options, base_url=base_url)
    runs_here = isinstance(backend, str) and (backend == "embedded" or backend.startswith(PREFIX))
    if runs_here and options.base_url is not None:
        raise InputError(NO_SERVER.format(backend), field="base_url")
    if backend == "embedded":
        return EmbeddedWriter()
    model = load_local(backend) if isinstance(backend, str) and runs_here else backend
    return local_writer(model) if isinstance(model, LocalModel) else ChatWriter(resolve_chat(model, options=options))
