"""The web page at `/`, with a policy that lets nothing else run, and the pages of runs."""

from __future__ import annotations

import asyncio
import contextvars
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from eirene import views
from eirene.agent.server.errors import ApiError
from eirene.agent.server.runs import Runs, ServerRun
from eirene.core.concurrency import DaemonExecutor
from eirene.core.errors import FormError
from eirene.core.grounding import NOTHING_GIVEN
from eirene.core.records import Item, Record
from eirene.text.cancellation import cancel_scope
from eirene.views.page import digest_of, script_safe

_asset = partial(views.asset, package="eirene.agent.server")
RenderPage = Callable[[Record, Item], str]
"""Makes a web page of a record."""


def page(
    *, models: Sequence[str], mode: str, modes: Sequence[str], drafts: bool, wants_key: bool, needs_given: bool
) -> str:
    """The page. `modes` may be chosen, `mode` is at first.

    `drafts`: whether the server can write an answer to a question without arguments. `needs_given`: whether an answer
    is judged only where arguments or passages are given.
    """
    facts = json.dumps(
        {
            "model": models[0],
            "mode": mode,
            "modes": list(modes),
            "drafts": drafts,
            "wantsKey": wants_key,
            "needsGiven": needs_given,
            "nothingGiven": NOTHING_GIVEN,
        }
    )
    scripts = "".join(map(_asset, ("edits.js", "result.js", "page.js")))
    parts = {"css": views.asset("design.css") + _asset("page.css"), "js": scripts, "facts": script_safe(facts)}
    return re.sub(r"\{\{ (\w+) \}\}", lambda found: parts[found[1]], _asset("page.html"))


def policy_of(text: str) -> str:
    """The content security policy: the page's own style and script by digest, requests to this server alone."""
    style, script = (text.partition(f"<{name}>")[2].partition(f"</{name}>")[0] for name in ("style", "script"))
    assert style and script  # both stand in page.html
    rules = ["default-src 'none'", f"style-src {digest_of(style)}", f"script-src {digest_of(script)}"]
    more = ["connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
    return "; ".join([*rules, *more])


class Pages:
    """Pages of one server's runs: each is made once and kept with its run, one after the other.

    `render` makes them, in a thread of its own: chats do not wait for theirs. Who goes away while it is made ends that.
    """

    def __init__(self, runs: Runs, render: RenderPage) -> None:
        self._runs = runs
        self._render = render
        self._pool = DaemonExecutor(1)
        self._turn = asyncio.Lock()

    async def page(self, run: ServerRun, choice: int) -> bytes:
        """The page of a run's choice. Raises `ApiError` 404 where there is none."""
        async with self._turn:
            if choice not in run.pages:
                with cancel_scope():  # at whose end the thread gives up, if it is still at it
                    work = contextvars.copy_context().run
                    loop = asyncio.get_running_loop()
                    made = await loop.run_in_executor(self._pool, work, self._rendered, run, choice)
                self._runs.keep_page(run, choice, made)
                return made
            return run.pages[choice]

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
