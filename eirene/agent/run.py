"""`refine` and `arefine`: the loop on one item, from whatever a caller writes as item, settings and backend.

Editors and type checkers read the typed dictionaries of keywords, `help()` the list that `_tells_keywords` puts into a
docstring; tests hold both to the fields of `Settings` and `Item`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic.fields import FieldInfo

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.graph import Graph, compile_graph
from eirene.agent.loop import Loop, OnEvent
from eirene.agent.settings import Settings
from eirene.core.critique import FeedbackNote
from eirene.core.errors import InputError
from eirene.core.loop_settings import Critic, Mode, Stop
from eirene.core.records import Item, Perspective, Record, parse_item
from eirene.core.tracing import Tracing
from eirene.core.validation import described, did_you_mean

if TYPE_CHECKING:
    from eirene.agent.backends import Backend

SettingsLike = Settings | Mapping[str, Any]
"""Settings, or a mapping of some of their fields."""


class SettingKeywords(TypedDict, total=False):
    """The fields of `Settings`."""

    mode: Mode
    rewrite: Literal["auto", "patch", "sentences", "whole"]
    candidates: int
    rewrite_temperature: float
    retry_temperature: float
    evidence: int
    samples: int
    stop: Stop
    max_rounds: int
    patience: int
    after_accept: Literal["stop", "continue"]
    min_consistency: float
    gate_risk: float
    tolerance: float
    min_gain: float
    partial: Literal["undo", "reject"]
    when_gain_unmeasured: Literal["accept", "keep"]
    judge_risk: float
    critic: Critic
    critic_readout: Literal["auto", "vote", "probabilities"]
    removal: Literal["remove", "mark"]
    deadline_s: float
    seed: int


class RefineKeywords(SettingKeywords, total=False):
    """How one item is refined, the fields of `Settings`, and those of a row, in place of an item."""

    backend: Backend
    settings: SettingsLike | None
    checkpointer: BaseCheckpointSaver[Any] | None
    thread_id: str | None
    on_event: OnEvent | None
    base_url: str | None
    backend_options: BackendOptions | Mapping[str, Any] | None
    tracing: Tracing | bool
    config: RunnableConfig | None
    id: str | int
    question: str
    answer: str
    history: str | Sequence[Any] | None
    perspectives: Mapping[str, str | Sequence[str]] | Sequence[Perspective | Mapping[str, Any]] | None
    context: str | Sequence[Any] | None
    feedback: Sequence[FeedbackNote | Mapping[str, Any]] | None
    gold: str | None
    meta: Mapping[str, Any]


F = TypeVar("F", bound=Callable[..., Any])
_BOUNDS = {"ge": "from", "gt": "above", "le": "to"}


def _tells_keywords(function: F, shown: Callable[..., Any] | None = None) -> F:
    """The function with its settings in its docstring and, for `**keywords`, those of `shown` in its signature."""
    found = inspect.signature(shown or function)
    own = [p for p in found.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    settings = Settings.model_fields
    kind = inspect.Parameter.KEYWORD_ONLY
    named = [inspect.Parameter(name, kind, default=field.default) for name, field in settings.items()]
    returned = inspect.signature(function).return_annotation
    signature = found.replace(parameters=[*own, *named], return_annotation=returned)
    function.__signature__ = signature  # type: ignore[attr-defined]  # inspect reads it
    told = [
        f"    {name}: {field.description} {_allowed(field)}; {field.default!r} by default."
        for name, field in settings.items()
    ]
    function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "Settings:", *told])
    return function


def _allowed(field: FieldInfo) -> str:
    """The words that a setting may have, or its type and bounds, such as "An int from 3 to 10,000"."""
    words = get_args(field.annotation)
    if words:
        return "One of " + ", ".join(map(repr, words))
    said = [
        f"{word} {bound:,}"
        for entry in field.metadata
        for name, word in _BOUNDS.items()
        if (bound := getattr(entry, name, None)) is not None
    ]
    return " ".join(["An int" if field.annotation is int else "A float", *said])


def _prepared(
    item: Item | Mapping[str, Any] | None = None,
    *,
    backend: Backend = "embedded",
    settings: SettingsLike | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    thread_id: str | None = None,
    on_event: OnEvent | None = None,
    base_url: str | None = None,
    backend_options: BackendOptions | Mapping[str, Any] | None = None,
    tracing: Tracing | bool = False,
    config: RunnableConfig | None = None,
    **options: Any,
) -> tuple[Loop, Item, dict[str, Any]]:
    """The loop that the keywords of `refine` ask for, the item, and how it is run on it. Raises `InputError`."""
    row, rest = _make_item(item, options)
    told, reached = make_settings(settings, rest), make_backend_options(backend_options, base_url)
    loop = Loop(resolve_backend(backend, reached), told, checkpointer=checkpointer, tracing=tracing)
    return loop, row, {"on_event": on_event, "thread_id": thread_id, "config": config}


async def arefine(item: Item | Mapping[str, Any] | None = None, **keywords: Unpack[RefineKeywords]) -> Record:
    """Critiques, rewrites and re-scores one answer; returns the record, whose `answer` is the text to show.

    `backend` is `embedded`, `provider:model`, a LangChain chat model, or `Parts`; `base_url` names the server of a chat
    model, `backend_options` (`BackendOptions`, or a mapping) how it is reached. The settings (mode, samples, seed,
    max_rounds, ...) win over `settings`, which may be a mapping too. In place of `item` its fields may stand:
    `question=`, `answer=`, `perspectives=`, ... `on_event` is told each `Event`; `checkpointer` keeps the run under
    `thread_id` (default: the item's id). `tracing` has the run make OpenTelemetry spans; `config` is LangChain's, with
    callbacks, tags, metadata and `run_name` (docs/guides/tracing.md).
    Raises `InputError` for an item, setting or backend that cannot be used. A failure after that ends in a record
    with status `failed` and the original.

    Examples:
        >>> import asyncio, eirene
        >>> item = {"question": "Is homework useful?", "answer": "It depends."}
        >>> asyncio.run(eirene.arefine(item, samples=4)).status
        'not_checked'
    """
    loop, row, how = _prepared(item, **keywords)
    return await loop.arun(row, **how)


def refine(item: Item | Mapping[str, Any] | None = None, **keywords: Unpack[RefineKeywords]) -> Record:
    """`arefine` for callers that are not async; takes the same arguments. Works inside a running event loop as well.

    It works in a thread of its own, in which `on_event` is called too: past the deadline that is left behind, whatever
    it is at. A checkpointer may be one that is not async either, such as `SqliteSaver` or `PostgresSaver`.

    Examples:
        >>> import eirene
        >>> record = eirene.refine(
        ...     question="Should school uniforms be compulsory?",
        ...     answer="Supporters say that uniforms make pupils more equal. Opponents say that they limit freedom.",
        ...     perspectives={
        ...         "pro": ["Uniforms make pupils more equal.", "Uniforms save families money."],
        ...         "con": "Uniforms limit pupils' freedom of expression.",
        ...     },
        ... )
        >>> record.original == record.answer or record.status == "accepted"
        True
    """
    loop, row, how = _prepared(item, **keywords)
    return loop.run(row, **how)


def build_graph(
    backend: Backend = "embedded",
    *,
    settings: SettingsLike | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    review: bool = False,
    base_url: str | None = None,
    backend_options: BackendOptions | Mapping[str, Any] | None = None,
    **options: Unpack[SettingKeywords],
) -> Graph:
    """The loop as a compiled LangGraph graph. Run it on `initial_state(item, seed)`; `make_record` reads its result.

    With `review` it stops for a person before the rewriting (docs/guides/people.md); that takes a checkpointer.

    Examples:
        >>> import eirene
        >>> sorted(n for n in eirene.build_graph(max_rounds=1).get_graph().nodes if not n.startswith("__"))
        ['check', 'gate', 'refine', 'rescore', 'sample_feedback', 'select_critique']
    """
    parts = resolve_backend(backend, make_backend_options(backend_options, base_url))
    return compile_graph(parts, make_settings(settings, options), checkpointer=checkpointer, review=review)


_tells_keywords(arefine, _prepared)
_tells_keywords(refine, _prepared)
_tells_keywords(build_graph)


def _make_item(item: Item | Mapping[str, Any] | None, options: Mapping[str, Any]) -> tuple[Item, dict[str, Any]]:
    """The item, given whole or field by field among the options, and the options that are no field of it.

    Raises `InputError` for none, for both, and for an option that is neither a row's field nor a setting.
    """
    row = {name: value for name, value in options.items() if name in Item.model_fields}
    rest = {name: value for name, value in options.items() if name not in row}
    unknown = next((name for name in rest if name not in Settings.model_fields), None)
    if unknown is not None:
        known = f"{', '.join(Settings.model_fields)}; of a row: {', '.join(Item.model_fields)}"
        near = did_you_mean(unknown, (*Item.model_fields, *Settings.model_fields))
        raise InputError(f"unknown setting {unknown!r}{near}; known: {known}", field=unknown)
    if item is None and not row:
        raise InputError("there is nothing to refine; give an item, or question= and answer=", field="item")
    if item is not None and row:
        said = f"the item was given twice: whole, and by {', '.join(row)}; give it one way"
        raise InputError(said, field=next(iter(row)))
    return parse_item(row if item is None else item), rest


def make_settings(settings: SettingsLike | None, options: Mapping[str, Any]) -> Settings:
    """The settings with single ones replaced; raises `InputError`."""
    if settings is None:
        return Settings.of(**options)
    if isinstance(settings, Settings):
        return Settings.of(**{**settings.model_dump(), **options}) if options else settings
    if not isinstance(settings, Mapping) or not all(isinstance(name, str) for name in settings):
        raise InputError(
            f"settings must be Settings or a mapping such as {{'samples': 10}}, got {described(settings)}",
            field="settings",
        )
    return Settings.of(**{**settings, **options})


def make_backend_options(options: BackendOptions | Mapping[str, Any] | None, base_url: str | None) -> BackendOptions:
    """The options with the server put in; raises `InputError` for what are none."""
    if options is None:
        options = BackendOptions()
    elif not isinstance(options, BackendOptions):
        known = [field.name for field in fields(BackendOptions)]
        if not isinstance(options, Mapping) or not set(options) <= set(known):
            said = (
                f"backend_options must be BackendOptions or a mapping of {', '.join(known)}, got {described(options)}"
            )
            raise InputError(said, field="backend_options")
        options = BackendOptions(**options)
    return options if base_url is None else replace(options, base_url=base_url)
