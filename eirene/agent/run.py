"""Runs the loop on one item and makes the record: `arefine` where the caller is async, `refine` where it is not.

The hash of a row: what a finished one hangs on, so that a rerun knows whether it is still the row that is wanted.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.calling import Asked, make_backend_options, make_item, make_settings
from eirene.agent.critics import critique_from_notes, equipped
from eirene.agent.graph import (
    Graph,
    OnEvent,
    compile_graph,
    initial_state,
    run_graph,
    run_graph_blocking,
    run_graph_now,
)
from eirene.agent.settings import Settings
from eirene.agent.state import Json, Parts, State, load_critique, load_scores
from eirene.core.concurrency import run_blocking
from eirene.core.errors import InputError
from eirene.core.records import VOTED_MODES, BeforeAfter, ErrorInfo, Item, Record, Round, Status, found_ids
from eirene.core.signature import canonical, signature
from eirene.core.usage import Usage
from eirene.core.validation import described
from eirene.text.sentences import split_sentences

if TYPE_CHECKING:
    from eirene.agent.backends import Backend


async def arefine(
    item: Item | Mapping[str, Any] | None = None,
    *,
    backend: Backend = "embedded",
    settings: Asked | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    thread_id: str | None = None,
    on_event: OnEvent | None = None,
    base_url: str | None = None,
    backend_options: BackendOptions | Mapping[str, Any] | None = None,
    **options: Any,
) -> Record:
    """Critiques, rewrites and re-scores one answer; returns the record, whose `answer` is the text to show.

    `backend` is `embedded`, `provider:model`, a LangChain chat model, or `Parts`; `base_url` names the server of a chat
    model. `options` are fields of `Settings` (mode, samples, seed, max_rounds, ...) and win over `settings`, which may
    be a mapping too. In place of `item` its fields may stand among them: `question=`, `answer=`, `perspectives=`, ...
    Raises `InputError` for an item, setting or backend that cannot be used. Whatever fails after that ends in a record
    with status `failed` and the original.

    Example:
        >>> import asyncio, eirene
        >>> item = {"question": "Is homework useful?", "answer": "It depends."}
        >>> asyncio.run(eirene.arefine(item, samples=4)).status
        'abstained'
    """
    row, options = make_item(item, options)
    run = _run(
        row,
        backend=backend,
        backend_options=make_backend_options(backend_options, base_url),
        settings=make_settings(settings, options),
        checkpointer=checkpointer,
        thread_id=thread_id,
    )
    if checkpointer is not None and not await _can_wait(checkpointer):
        raise InputError(
            f"{type(checkpointer).__name__} works in code that is not async; take its async form, or eirene.refine",
            field="checkpointer",
        )
    return run.record(await run_graph(run.graph, run.start, run.config, run.settings, on_event))


def refine(
    item: Item | Mapping[str, Any] | None = None,
    *,
    backend: Backend = "embedded",
    settings: Asked | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    thread_id: str | None = None,
    on_event: OnEvent | None = None,
    base_url: str | None = None,
    backend_options: BackendOptions | Mapping[str, Any] | None = None,
    **options: Any,
) -> Record:
    """`arefine` for callers that are not async; takes the same arguments. Works inside a running event loop as well.

    It works in a thread of its own, in which `on_event` is called too: past the deadline that is left behind, whatever
    it is at. A checkpointer may be one that is not async either, such as `SqliteSaver` or `PostgresSaver`.

    Example:
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
    row, options = make_item(item, options)
    run = _run(
        row,
        backend=backend,
        backend_options=make_backend_options(backend_options, base_url),
        settings=make_settings(settings, options),
        checkpointer=checkpointer,
        thread_id=thread_id,
    )
    if checkpointer is not None and not run_blocking(lambda: _can_wait(checkpointer), name="eirene-refine"):
        return run.record(run_graph_now(run.graph, run.start, run.config, run.settings, on_event))
    return run.record(run_graph_blocking(run.graph, run.start, run.config, run.settings, on_event))


def build_graph(
    backend: Backend = "embedded",
    *,
    settings: Asked | None = None,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    review: bool = False,
    base_url: str | None = None,
    backend_options: BackendOptions | Mapping[str, Any] | None = None,
    **options: Any,
) -> Graph:
    """The loop as a compiled LangGraph graph. Run it on `initial_state(item, seed)`; `make_record` reads its result.

    With `review` it stops for a person before the rewriting (docs/checkpoints.md); that takes a checkpointer.

    Example:
        >>> import eirene
        >>> sorted(n for n in eirene.build_graph(max_rounds=1).get_graph().nodes if not n.startswith("__"))
        ['gate', 'refine', 'rescore', 'sample_feedback', 'select_critique']
    """
    parts = resolve_backend(backend, make_backend_options(backend_options, base_url))
    return compile_graph(parts, make_settings(settings, options), checkpointer=checkpointer, review=review)


def make_record(state: State, *, parts: Parts, settings: Settings) -> Record:
    """The output row of a finished state; raises `InputError` for one that still waits for a person's review."""
    if not state.get("status"):
        raise InputError(
            "the run has not ended: it waits for a review; go on with Command(resume={'action': 'go on'})"
            if "__interrupt__" in state
            else "the run has not ended: its state has no status"
        )
    item = Item.model_validate(state["item"])
    status = state["status"]
    accepted = status == "accepted"
    original_scores = state.get("original_scores", {})
    error = state.get("error")
    return Record(
        id=item.id,
        question=item.question,
        original=item.answer,
        answer=state.get("best", item.answer) if accepted else item.answer,
        status=cast(Status, status),
        why=state.get("why", ""),
        mode=settings.mode,
        backend=parts.backend,
        seed=state["seed"],
        signature=run_signature(parts, settings),
        rounds=tuple(_round(r) for r in state.get("rounds") or []),
        scores=BeforeAfter(
            original=load_scores(original_scores),
            final=load_scores(state.get("best_scores", {}) if accepted else original_scores),
        ),
        usage=Usage.model_validate(state.get("usage") or {}),
        passages=found_ids(item),
        advisory=tuple(d.name for d in parts.detectors if d.name in parts.advisory),
        error=None if error is None else ErrorInfo.model_validate(error),
    )


def _round(data: Json) -> Round:
    return Round.model_validate(
        {**data, "critique": load_critique(cast(State, data)), "scores": load_scores(data["scores"])}
    )


_SELECTS = {"completeness": "tag+reason", "hallucination": "findings", "both": "tag+reason+findings"}


def run_signature(parts: Parts, settings: Settings) -> str:
    """The settings that made a record, as one line."""
    from eirene._version import __version__

    parts = equipped(parts, settings)
    votes = settings.mode in VOTED_MODES
    finds = votes and settings.critic != "completeness"
    return signature(
        mode=settings.mode,
        critic=settings.critic if finds else None,
        removal=settings.removal if settings.mode == "edit" and settings.removal != "remove" else None,
        n=settings.samples if votes else None,
        select=_SELECTS[settings.critic] if votes else None,
        stop=settings.stop if votes else None,
        min=settings.min_consistency if votes and settings.min_consistency else None,
        rounds=settings.max_rounds,
        patience=settings.patience,
        after=settings.after_accept,
        gate=f"{settings.tolerance:g}/{settings.min_gain:g}/{settings.when_gain_unmeasured}",
        detectors="+".join(f"({d.name})" if d.name in parts.advisory else d.name for d in parts.detectors),
        backend=parts.backend,
        model=parts.version,
        seed=settings.seed,
        v=__version__,
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """What one item's run takes."""

    graph: Graph
    start: Json
    config: RunnableConfig
    parts: Parts
    settings: Settings

    def record(self, state: State) -> Record:
        return make_record(state, parts=self.parts, settings=self.settings)


def _run(
    item: Item,
    *,
    backend: Backend,
    backend_options: BackendOptions,
    settings: Settings,
    checkpointer: BaseCheckpointSaver[Any] | None,
    thread_id: str | None,
) -> _Run:
    """Checks everything that a caller may get wrong, while nothing has been spent."""
    saver: object = checkpointer  # whatever a caller gave
    if saver is not None and not isinstance(saver, BaseCheckpointSaver):
        said = f"checkpointer must be one of LangGraph's, such as InMemorySaver(), got {described(checkpointer)}"
        raise InputError(said, field="checkpointer")
    if settings.mode == "human":
        critique_from_notes(item, split_sentences(item.answer))
    parts = resolve_backend(backend, backend_options)
    config: RunnableConfig = {"recursion_limit": settings.recursion_limit}
    if checkpointer is None:
        graph = _compiled(parts, settings)
    else:
        graph = compile_graph(parts, settings, checkpointer=checkpointer)
        config["configurable"] = {"thread_id": thread_id or item.id}
    return _Run(graph, initial_state(item, settings.seed), config, parts, settings)


async def _can_wait(checkpointer: BaseCheckpointSaver[Any]) -> bool:
    """Whether the checkpointer is for async code: those that are not have the methods all the same, which refuse."""
    try:
        await checkpointer.aget_tuple({"configurable": {"thread_id": "", "checkpoint_ns": ""}})
    except NotImplementedError:
        return False
    return True


@functools.lru_cache(maxsize=64)
def _compiled(parts: Parts, settings: Settings) -> Graph:
    """Compiling takes longer than a round of the graph itself, and callers refine many items with the same parts.

    No checkpoints, not even those of a graph in whose node this runs: `refine_node` is for who wants them.
    """
    return compile_graph(parts, settings, checkpointer=False)


def row_hash(item: Item, parts: Parts, settings: Settings) -> str:
    """16 hex digits for the item, every setting, the models and prompts: the same ones are the same piece of work."""
    return RowHash(parts, settings).of(item)


class RowHash:
    """`row_hash` for many items: what they have in common is looked at once."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self.signature = run_signature(parts, settings)
        names = [parts.feedback_model.name, parts.refiner.name]
        self.common = [settings.model_dump(mode="json"), self.signature, *names]
        self._rest = canonical(self.common).removeprefix("[")

    def of(self, item: Item) -> str:
        """The item's hash."""
        text = f"[{canonical(item.model_dump(mode='json'))},{self._rest}"  # the list of the item and what is common
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
