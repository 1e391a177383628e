"""The loop over every checkpointer: memory, SQLite and a real PostgreSQL, with and without async.

Each test opens the saver anew for every visit to a thread, as another process would.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

import eirene
from eirene.agent.state import Parts
from eirene.core.scores import Scores
from eirene.eval.base import Case
from tests.agent.loop import BAD, FAULTY, GOOD, ITEM, ORIGINAL
from tests.agent.postgres import postgres_binaries, postgres_server
from tests.scripted_parts import scripted_parts

Config = dict[str, Any]
THREAD: Config = {"configurable": {"thread_id": "trams"}}


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    binaries = postgres_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server on this machine: apt-get install postgresql")
    with postgres_server(binaries) as address:
        yield address


class Store:
    """A place for checkpoints, that can be opened again and again; and a graph over it, called as its saver wants."""

    def __init__(self, kind: str, place: Any) -> None:
        self.kind, self.place = kind, place
        self.is_async = not kind.endswith(", sync")

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Any]:
        """The saver, on a connection of its own."""
        if self.kind.startswith("memory"):
            yield self.place
        elif self.kind == "sqlite, sync":
            with SqliteSaver.from_conn_string(self.place) as saver:
                yield saver
        elif self.kind == "sqlite":
            async with AsyncSqliteSaver.from_conn_string(self.place) as waiting:
                yield waiting
        else:
            async with self._postgres() as saver:
                yield saver

    @contextlib.asynccontextmanager
    async def _postgres(self) -> AsyncIterator[Any]:
        from langgraph.checkpoint.postgres import PostgresSaver
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

        if self.is_async:
            async with AsyncPostgresSaver.from_conn_string(self.place) as waiting:
                await waiting.setup()
                yield waiting
        else:
            with PostgresSaver.from_conn_string(self.place) as saver:
                saver.setup()
                yield saver

    async def run(self, graph: Any, start: Any, config: Config = THREAD) -> Any:
        """The state in which the graph ends or waits; each step is stored before the next begins."""
        if self.is_async:
            return await graph.ainvoke(start, config, durability="sync")
        return graph.invoke(start, config, durability="sync")

    async def history(self, graph: Any, config: Config = THREAD) -> list[Any]:
        """The thread's states, the last first."""
        if self.is_async:
            return [snapshot async for snapshot in graph.aget_state_history(config)]
        return list(graph.get_state_history(config))

    async def fork(self, graph: Any, config: Config, changes: Any, *, as_node: str) -> Any:
        """The configuration of a branch that begins with the changes."""
        if self.is_async:
            return await graph.aupdate_state(config, changes, as_node=as_node)
        return graph.update_state(config, changes, as_node=as_node)


KINDS = ["memory", "memory, sync", "sqlite", "sqlite, sync", "postgres", "postgres, sync"]
OF_EACH = pytest.mark.parametrize("store", ["memory", "sqlite, sync", "postgres"], indirect=True)
"""One store of each make, and both ways of calling a graph."""


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    kind: str = request.param
    if kind.startswith("memory"):
        return Store(kind, InMemorySaver())
    if kind.startswith("sqlite"):
        return Store(kind, str(tmp_path / "runs.sqlite"))
    address = request.getfixturevalue("postgres")
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:  # one database a test
        connection.execute("DROP DATABASE IF EXISTS fresh WITH (FORCE)")
        connection.execute("CREATE DATABASE fresh")
    return Store(kind, address.replace("dbname=postgres", "dbname=fresh"))


def parts(*rewrites: str, runs: int = 1) -> Parts:
    """A vote for each run, these rewrites; all of them are better than the original."""
    texts = rewrites or ("better",)
    return scripted_parts(
        samples=[FAULTY] * 20 * runs, rewrites=list(texts), scores={ORIGINAL: BAD, **dict.fromkeys(texts, GOOD)}
    )


def begin(seed: int = 0) -> dict[str, Any]:
    return eirene.initial_state(eirene.Item(**ITEM), seed)


def record_of(state: Any, models: Parts, **settings: Any) -> eirene.Record:
    return eirene.make_record(state, parts=models, settings=eirene.Settings(**settings))


async def test_a_run_is_stored_as_plain_values(store: Store) -> None:
    """Every value of every checkpoint comes back from the store as JSON."""
    models = parts()
    async with store.opened() as saver:
        graph = eirene.build_graph(models, checkpointer=saver)
        state = await store.run(graph, begin())
    async with store.opened() as saver:
        states = await store.history(eirene.build_graph(models, checkpointer=saver))
    assert states[0].values == state
    assert [s.next for s in reversed(states)][1:] == [(step,) for step in NEXT] + [()]
    assert json.loads(json.dumps([s.values for s in states])) == [s.values for s in states]


NEXT = ["sample_feedback", "select_critique", "refine", "check", "rescore", "gate"]


class Killed(BaseException):
    """What no step catches."""


class Dying:
    """A detector that ends the process at its first use."""

    name, version = "dying", None

    def __init__(self) -> None:
        self.is_dead = False

    async def score(self, case: Case, *, meter: eirene.Meter) -> Scores:
        if not self.is_dead:
            self.is_dead = True
            raise Killed
        return GOOD if case.answer == "better" else BAD


async def test_after_a_crash_a_run_goes_on_behind_its_last_step(store: Store) -> None:
    """Neither the vote nor the rewrite is asked for again: the scripts hold one of each."""
    whole = parts()
    models = Parts("scripted", whole.feedback_model, whole.refiner, (Dying(),), checks=())
    async with store.opened() as saver:
        with pytest.raises(Killed):
            await store.run(eirene.build_graph(models, checkpointer=saver), begin())
    async with store.opened() as saver:
        graph = eirene.build_graph(models, checkpointer=saver)
        (last, *_) = await store.history(graph)
        assert last.next == ("rescore",)
        record = record_of(await store.run(graph, None), models)
    assert (record.status, record.answer) == ("accepted", "better")
    assert record.usage.calls == 21


class Outer(TypedDict, total=False):
    question: str
    answer: str
    perspectives: list[Any]
    record: dict[str, Any]


@OF_EACH
@pytest.mark.parametrize("inside", [False, True])
async def test_a_question_is_asked_and_answered_over_two_connections(store: Store, inside: bool) -> None:
    """In the loop by itself, and in the loop as a subgraph."""
    models = parts()

    def graph(saver: Any) -> Any:
        if not inside:
            return eirene.build_graph(models, review=True, checkpointer=saver)
        builder = StateGraph(Outer).add_node("check", eirene.refine_node(models, review=True))
        return builder.add_edge(START, "check").compile(checkpointer=saver)

    start = {key: ITEM[key] for key in ("question", "answer", "perspectives")} if inside else begin()
    async with store.opened() as saver:
        waiting = await store.run(graph(saver), start)
    asked = waiting["__interrupt__"][0].value
    assert (asked["text"], asked["critique"]["sentences"][0]["votes"]["incomplete"]) == (ORIGINAL, 20)
    note = {"sentence": 2, "reason": "Fares are missing."}
    async with store.opened() as saver:
        state = await store.run(graph(saver), Command(resume={"action": "go on", "add": [note]}))
    record = eirene.Record.model_validate(state["record"]) if inside else record_of(state, models)
    critique = record.rounds[0].critique
    assert record.status == "accepted" and critique is not None
    assert critique.sentences[1].reason == "Fares are missing."


@OF_EACH
async def test_a_branch_with_another_critique_gives_a_record_of_its_own(store: Store) -> None:
    """Back to before the rewriting, with another reason: the branch says what it was told, and the first run stays."""
    models = parts("first", "second")
    async with store.opened() as saver:
        await store.run(eirene.build_graph(models, checkpointer=saver), begin())
    async with store.opened() as saver:
        graph = eirene.build_graph(models, checkpointer=saver)
        before = next(s for s in await store.history(graph) if s.next == ("refine",))
        critique = before.values["critique"]
        critique["sentences"][0]["reason"] = "Noise is missing."
        branch = await store.fork(graph, before.config, {"critique": critique}, as_node="select_critique")
        state = await store.run(graph, None, branch)
        record = record_of(state, models)
        assert (record.status, record.answer) == ("accepted", "second")
        found = record.rounds[0].critique
        assert found is not None and found.sentences[0].reason == "Noise is missing."
        assert record.usage.calls == 21
        answers = [s.values["best"] for s in await store.history(graph) if not s.next]
    assert answers == ["second", "first"]


@OF_EACH
async def test_a_branch_may_run_with_other_settings(store: Store) -> None:
    """From before the rewriting again, with a gate that wants more than there is: the same vote, another outcome."""
    models = parts("first", "second", "third")
    async with store.opened() as saver:
        await store.run(eirene.build_graph(models, checkpointer=saver), begin())
        strict = eirene.Settings(min_gain=0.9, max_rounds=1)
        graph = eirene.build_graph(models, settings=strict, checkpointer=saver)
        before = next(s for s in await store.history(graph) if s.next == ("refine",))
        record = eirene.make_record(await store.run(graph, None, before.config), parts=models, settings=strict)
    assert (record.status, record.answer, len(record.rounds)) == ("kept", ORIGINAL, 1)
    assert "gate:0.05/0.02/0.9" in record.signature


@dataclass
class Foreign:
    """A type that nobody told the checkpointer of."""

    value: int


async def test_no_store_gives_back_an_object_that_it_was_not_told_of(store: Store) -> None:
    """With LANGGRAPH_STRICT_MSGPACK set, as in all tests: what a checkpoint holds is data, and calls nothing."""
    checkpoint = {**empty_checkpoint(), "channel_values": {"x": Foreign(1)}, "channel_versions": {"x": 1}}
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    async with store.opened() as saver:
        if store.is_async:
            await saver.aput(config, checkpoint, {}, {"x": 1})
            found = await saver.aget_tuple(config)
        else:
            saver.put(config, checkpoint, {}, {"x": 1})
            found = saver.get_tuple(config)
    assert not isinstance(found.checkpoint["channel_values"].get("x"), Foreign)
