"""Pages of runs: each is made once and kept with its run, one after the other, and only while somebody waits for it."""

from __future__ import annotations

import asyncio
import contextvars
import json
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from eirene.agent.server.errors import ApiError
from eirene.agent.server.runs import Runs, ServerRun
from eirene.agent.server.service import RenderPage
from eirene.agent.server.streaming import while_client_waits
from eirene.core.concurrency import DaemonExecutor
from eirene.core.errors import FormError
from eirene.core.records import Item, Record
from eirene.text.cancellation import cancel_scope


@dataclass(eq=False, slots=True)
class _Making:
    """A page that is being made, and how many clients wait for it."""

    task: asyncio.Task[bytes]
    waiting: int = 0


class Pages:
    """Pages of one server's runs. `render` makes them, in a thread of its own: chats do not wait for theirs."""

    def __init__(self, runs: Runs, render: RenderPage) -> None:
        self._runs = runs
        self._render = render
        self._pool = DaemonExecutor(1)
        self._making: dict[tuple[str, int], _Making] = {}

    async def page(self, run: ServerRun, choice: int, request: Request) -> bytes:
        """The page of a run's choice. Raises `ApiError` 404 where there is none, `ClientGoneError`."""
        known = run.pages.get(choice)
        if known is not None:
            return known
        key = (run.id, choice)
        making = self._making.get(key)
        if making is None:
            task = asyncio.create_task(self._make(run, choice), name=run.id)
            making = self._making[key] = _Making(task)
        making.waiting += 1
        try:
            return await while_client_waits(request, _joined(making.task))
        finally:
            making.waiting -= 1
            if not making.waiting:
                del self._making[key]
                making.task.cancel()

    async def _make(self, run: ServerRun, choice: int) -> bytes:
        with cancel_scope():  # at whose end the thread gives up, if it is still at it
            work = contextvars.copy_context().run
            made = await asyncio.get_running_loop().run_in_executor(self._pool, work, self._rendered, run, choice)
        self._runs.keep_page(run, choice, made)
        return made

    def _rendered(self, run: ServerRun, choice: int) -> bytes:
        found = json.loads(run.data or b"{}")
        records = found.get("records") or []
        if not 0 <= choice < len(records) or records[choice] is None:
            raise ApiError(404, "this run has no record to show", code="not_found")
        return self._render(*recorded(found, choice)).encode("utf-8")


def recorded(found: dict[str, Any], choice: int) -> tuple[Record, Item]:
    """A choice's record and item in the JSON of a run; raises `ApiError` 404 for that of another version."""
    try:
        return Record.model_validate(found["records"][choice]), Item.model_validate(found["items"][choice])
    except FormError:  # the file of runs may be an older one
        said = "another version of Eirene made this run; it has no page here"
        raise ApiError(404, said, code="not_found") from None


async def _joined(task: asyncio.Task[bytes]) -> bytes:
    """The task's result; who is cancelled while it waits leaves the task to the others."""
    return await asyncio.shield(task)
