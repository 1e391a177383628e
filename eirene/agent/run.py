"""`refine` and `arefine`: the loop on one item, from whatever a caller writes as item, settings and backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Unpack

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.graph import Graph, compile_graph
from eirene.agent.keywords import RefineKeywords, SettingKeywords, tells_keywords
from eirene.agent.loop import Loop, OnEvent
from eirene.agent.settings import Settings
from eirene.core.errors import InputError
from eirene.core.records import Item, Record, parse_item
from eirene.core.tracing import Tracing
from eirene.core.validation import described

if TYPE_CHECKING:
    from eirene.agent.backends import Backend

SettingsLike = Settings | Mapping[str, Any]
"""Settings, or a mapping of some of their fields."""


@tells_keywords
async def arefine(
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
    **options: Unpack[RefineKeywords],
) -> Record:
    """Critiques, rewrites and re-scores one answer; returns the record, whose `answer` is the text to show.

    `backend` is `embedded`, `provider:model`, a LangChain chat model, or `Parts`; `base_url` names the server of a chat
    model. `options` are fields of `Settings` (mode, samples, seed, max_rounds, ...) and win over `settings`, which may
    be a mapping too. In place of `item` its fields may stand among them: `question=`, `answer=`, `perspectives=`, ...
    `tracing` has the run make OpenTelemetry spans; `config` is LangChain's, with callbacks, tags, metadata and
    `run_name` (docs/guides/tracing.md).
    Raises `InputError` for an item, setting or backend that cannot be used. A failure after that ends in a record
    with status `failed` and the original.

    Examples:
        >>> import asyncio, eirene
        >>> item = {"question": "Is homework useful?", "answer": "It depends."}
        >>> asyncio.run(eirene.arefine(item, samples=4)).status
        'abstained'
    """
    row, rest = make_item(item, options)
    told, reached = make_settings(settings, rest), make_backend_options(backend_options, base_url)
    loop = Loop(resolve_backend(backend, reached), told, checkpointer=checkpointer, tracing=tracing)
    return await loop.arun(row, on_event=on_event, thread_id=thread_id, config=config)


@tells_keywords
def refine(
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
    **options: Unpack[RefineKeywords],
) -> Record:
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
    row, rest = make_item(item, options)
    told, reached = make_settings(settings, rest), make_backend_options(backend_options, base_url)
    loop = Loop(resolve_backend(backend, reached), told, checkpointer=checkpointer, tracing=tracing)
    return loop.run(row, on_event=on_event, thread_id=thread_id, config=config)


@tells_keywords
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
        ['gate', 'refine', 'rescore', 'sample_feedback', 'select_critique']
    """
    parts = resolve_backend(backend, make_backend_options(backend_options, base_url))
    told = make_settings(settings, options)
    return compile_graph(parts, told, checkpointer=checkpointer, review=review)


def make_item(item: Item | Mapping[str, Any] | None, options: Mapping[str, Any]) -> tuple[Item, dict[str, Any]]:
    """The item, given whole or field by field among the options, and the options that are no field of it.

    Raises `InputError` for none, for both, and for an option that is neither a row's field nor a setting.
    """
    row = {name: value for name, value in options.items() if name in Item.model_fields}
    rest = {name: value for name, value in options.items() if name not in row}
    unknown = next((name for name in rest if name not in Settings.model_fields), None)
    if unknown is not None:
        known = f"{', '.join(Settings.model_fields)}; of a row: {', '.join(Item.model_fields)}"
        raise InputError(f"unknown setting {unknown!r}; known: {known}", field=unknown)
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
