"""A reviewed run that can be resumed: up to the question, and on from the answer, now or in a later process.

Everything that a run knows is in its checkpointer, under a thread named by the item, the settings and the models. The
same ones thus find their thread again: at the question, if it was left there, without a critique drawn twice.
`checkpoint_file` is a checkpointer on an SQLite file, which keeps it until that person comes back.
"""

from __future__ import annotations

import contextlib
import errno
import sqlite3
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command, Overwrite, StateSnapshot

from eirene.agent.loop import Loop, OnEvent
from eirene.agent.review import critique_in, reviewed
from eirene.agent.settings import Settings
from eirene.agent.state import Json, Parts, State
from eirene.core.critique import Review, parse_review
from eirene.core.errors import InputError
from eirene.core.extras import importing
from eirene.core.records import Item, Record
from eirene.core.tracing import Tracing
from eirene.data.json_rows import reason
from eirene.data.line_checksum import DamagedError
from eirene.models.cache import check_owner

Found = Literal["nothing", "question", "unfinished", "failed", "finished"]
"""How far a thread had come when it was opened."""


class ReviewedRun:
    """One item's run with a review: `begin`, then `answer` as long as there is a `question`, then the `record`.

    `found` says what the checkpointer held of it: `nothing`; a `question` that was not answered, which is asked again;
    an `unfinished` run, which goes on after its last step; a `failed` one, which tries the step that failed once more;
    a `finished` one, whose record is given again and for which nothing is done. What earlier processes spent counts.

    `tracing` is that of `refine`: a trace for each stretch between two questions. Raises `InputError` for a mode
    without a critique, and for notes that do not fit the answer.
    """

    def __init__(
        self,
        item: Item,
        *,
        parts: Parts,
        settings: Settings,
        checkpointer: BaseCheckpointSaver[Any],
        tracing: Tracing | bool = False,
    ) -> None:
        self._loop = Loop(parts, settings, checkpointer=checkpointer, review=True, tracing=tracing)
        self._item = self._loop.checked(item)
        self.thread_id = self._loop.row_hash(item)
        self.found: Found = "nothing"
        self.question: Json | None = None
        self._state: State | None = None

    @property
    def record(self) -> Record:
        """The output row; raises `InputError` while there is a question to answer."""
        if self._state is None:
            raise InputError("the run has not begun")
        return self._loop.record(self._state)

    async def look(self) -> Found:
        """How far the thread has come, before anything is done."""
        self.found = _found(await self._snapshot())
        return self.found

    async def begin(self, *, on_event: OnEvent | None = None) -> None:
        """Goes on from where the thread stands, up to the next question or the end.

        A thread that has not begun begins. `on_event` is told what happens.
        """
        snapshot = await self._snapshot()
        self.found = _found(snapshot)
        if self.found == "nothing":
            await self._run(self._start(), self._start_state(), on_event)
        elif self.found == "failed":
            await self._try_again(snapshot, on_event)
        elif self.found == "unfinished":
            await self._run(None, cast(State, snapshot.values), on_event)
        else:
            self._take(snapshot)

    async def answer(self, review: Review | Json, *, on_event: OnEvent | None = None) -> None:
        """Goes on with a person's review, up to the next question or the end.

        Raises `InputError` where it does not fit the critique in question; the question then stands as it was.
        """
        if self.question is None or self._state is None:
            raise InputError("there is no question to answer")
        given = parse_review(review)
        reviewed(critique_in(self.question), given)
        await self._run(Command(resume=given.model_dump(mode="json")), self._state, on_event)

    async def _run(self, start: Json | Command[Any] | None, before: State, on_event: OnEvent | None) -> None:
        state = await self._loop.ainvoke(start, thread_id=self.thread_id, before=before, on_event=on_event)
        snapshot = await self._snapshot()
        self._take(snapshot)
        if self.question is None and not _is_at_end(snapshot):  # past the deadline: the thread stands before that step
            self._state = state

    async def _try_again(self, failed: StateSnapshot, on_event: OnEvent | None) -> None:
        """Goes back to before the step that failed, with what it cost; what a person answered before it stays."""
        spent: Json = failed.values.get("usage", {})
        before = await self._before_failure()
        if before is None or not before.values.get("item") or before.next == ("__start__",):
            await self._run({**self._start(), "usage": Overwrite(spent)}, self._start_state(), on_event)
            return
        await self._loop.graph.aupdate_state(before.config, {"usage": Overwrite(spent)})
        await self._run(None, cast(State, before.values), on_event)

    async def _before_failure(self) -> StateSnapshot | None:
        async for snapshot in self._loop.graph.aget_state_history(self._config):
            if snapshot.values.get("status") != "failed":
                return snapshot
        return None

    async def _snapshot(self) -> StateSnapshot:
        return await self._loop.graph.aget_state(self._config)

    def _take(self, snapshot: StateSnapshot) -> None:
        self._state = cast(State, snapshot.values)
        self.question = snapshot.interrupts[0].value if snapshot.interrupts else None

    def _start(self) -> Json:
        # `meta` is free data that no step reads; it need not be written to a checkpoint, nor fit into one.
        return self._loop.start(self._item.model_copy(update={"meta": {}}))

    def _start_state(self) -> State:
        return {"item": self._item.model_dump(mode="json"), "seed": self._loop.settings.seed}

    @property
    def _config(self) -> RunnableConfig:
        return self._loop.config(self.thread_id)


def _found(snapshot: StateSnapshot) -> Found:
    if not snapshot.values.get("item"):
        return "nothing"
    if snapshot.interrupts:
        return "question"
    if not _is_at_end(snapshot):
        return "unfinished"
    return "failed" if snapshot.values["status"] == "failed" else "finished"


def _is_at_end(snapshot: StateSnapshot) -> bool:
    return not snapshot.next and bool(snapshot.values.get("status"))


_OURS = 0x4569724B  # SQLite's `application_id`: "EirK"
_CHECKED = "+crc32"
_WAIT_S = 1.0
"""How long another run is waited for that holds the file."""


@contextlib.asynccontextmanager
async def checkpoint_file(path: str | Path) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """A checkpointer on the file, which is made where there is none; one run at a time holds it.

    Only plain values are read back from it, whatever it holds, and only as they were written: each has a checksum.
    Raises `InputError` for a file that cannot be used: held by another run, no database, another program's, damaged.
    Raises `MissingExtraError` without the extra `sqlite`.
    """
    with importing("langgraph.checkpoint.sqlite"):
        import aiosqlite
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    file = _checked(path)
    is_open = False
    try:
        async with aiosqlite.connect(file, timeout=_WAIT_S) as connection:
            # The file is this process's until the connection closes, or the process ends in whatever way.
            await connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            await connection.execute("BEGIN IMMEDIATE")
            await connection.execute(f"PRAGMA application_id = {_OURS}")
            await connection.commit()
            saver = AsyncSqliteSaver(connection, serde=_Checked(allowed_msgpack_modules=None))
            await saver.setup()
            is_open = True
            yield saver
    except DamagedError as error:
        raise InputError(f"holds a run that {error}; name another file to begin anew", where=str(path)) from None
    except sqlite3.Error as error:
        if is_open:  # a full disk, a file that was damaged
            raise OSError(errno.EIO, str(error), str(path)) from None
        raise _unusable(error, path) from None


class _Checked(JsonPlusSerializer):
    """A serializer whose values begin with their checksum, which the name of their type says."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        kind, data = super().dumps_typed(obj)
        return f"{kind}{_CHECKED}", zlib.crc32(data).to_bytes(4, "big") + data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Raises `DamagedError` for a value that was changed."""
        kind, value = data
        if not kind.endswith(_CHECKED):
            raise DamagedError(f"has no checksum, as one of kind {kind!r}")
        if int.from_bytes(value[:4], "big") != zlib.crc32(value[4:]):
            raise DamagedError("does not fit its checksum: it was changed since it was written")
        return super().loads_typed((kind.removesuffix(_CHECKED), value[4:]))


def _checked(path: str | Path) -> Path:
    """The file's full path (":memory:" is a file's name as well), after a look at whether it can be used."""
    file = Path(path).absolute()
    try:
        check_owner(file, _OURS)
        # In this thread: what fails in that of `aiosqlite` is told by nobody.
        with contextlib.closing(sqlite3.connect(file, timeout=_WAIT_S)) as connection:
            connection.execute("SELECT name FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        raise _unusable(error, path) from None
    except OSError as error:
        raise InputError(f"cannot be used: {reason(error)}", where=str(path)) from None
    return file


def _unusable(error: sqlite3.Error, path: str | Path) -> InputError:
    held = "locked" in str(error)
    why = "is in use by another run; wait for its end, or name another file" if held else f"cannot be used: {error}"
    return InputError(why, where=str(path))
