"""`eirene serve`: the OpenAI-compatible server with the loop, and its page."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eirene.cli import flags
from eirene.cli.data_flags import CorpusFlags
from eirene.cli.flags import LoopFlags, TraceFlags, Without, with_groups
from eirene.cli.model_flags import CALL_TIMEOUT_S, ModelFlags, is_named
from eirene.cli.refine import page_of
from eirene.cli.terminal import output, say
from eirene.core.errors import InputError
from eirene.core.extras import require

if TYPE_CHECKING:
    from eirene.agent.server.engine import Engine
    from eirene.agent.settings import Settings
    from eirene.core.records import Item, Perspective

_server_option = partial(typer.Option, rich_help_panel="The server")
_limits_option = partial(typer.Option, rich_help_panel="Limits")
_MIB, _LEAST_BODY = 2**20, 2**10
_LAST_S = 2.0  # for threads of others, once the server has ended

Upstream = Annotated[
    str | None, typer.Option(help="The model that writes drafts (default: the backend).", rich_help_panel="The loop")
]
Host = Annotated[str, _server_option(help="The address to listen on.")]
Port = Annotated[int, _server_option(help="The port; 0 takes a free one.")]
ApiKey = Annotated[str | None, _server_option(help="The key that clients must send; better set in EIRENE_API_KEY.")]
RunsFile = Annotated[str | None, _server_option("--runs", metavar="FILE.jsonl", help="Append every run here.")]
MaxBody = Annotated[float, _limits_option(help="Largest request, in MiB.")]
Timeout = Annotated[float, _limits_option(help="Seconds for a whole answer.")]
Concurrency = Annotated[int, _limits_option(help="Most chats at once.")]
Queue = Annotated[int, _limits_option(help="Chats that may wait; more get a 429.")]
Connections = Annotated[int, _limits_option(help="Most open connections; others get a 503.")]
CallTimeout = Annotated[
    float | None,
    _limits_option(
        metavar="S", min=0.1, help="Seconds that an attempt of a model call may take.",
        show_default=f"{CALL_TIMEOUT_S:g}, and no more than --timeout",
    ),
]  # fmt: skip
UpstreamCalls = Annotated[int, _limits_option(help="Most calls of the model by the loop at once.")]
Grace = Annotated[float, _limits_option(help="Seconds for running requests to finish when the server stops.")]


@with_groups(
    "backend", "base-url", "upstream", "host", "port", "api-key", "corpus", "timeout", "runs", "config"
)  # fmt: skip
def serve(
    *,
    models: Annotated[ModelFlags, Without("timeout", "word_maps")],
    upstream: Upstream = None,
    loop: LoopFlags,
    corpus: CorpusFlags,
    tracing: TraceFlags,
    host: Host = "127.0.0.1",
    port: Port = 8400,
    api_key: ApiKey = None,
    max_body: MaxBody = 4.0,
    timeout: Timeout = 300.0,
    concurrency: Concurrency = 64,
    queue: Queue = 256,
    connections: Connections = 512,
    upstream_calls: UpstreamCalls = 64,
    call_timeout: CallTimeout = None,
    grace: Grace = 30.0,
    runs: RunsFile = None,
    config: flags.Config = None,
) -> None:
    """Serve the loop to anything that speaks OpenAI's protocol, with a page at /."""
    with output():
        require("fastapi", "uvicorn", "prometheus_client")
        from eirene.agent.server.access import ServeOptions

        key = os.environ.get("EIRENE_API_KEY") if api_key is None else api_key
        listening = ServeOptions(
            host=host, port=port, key=key or None, max_body=_bytes(max_body), timeout_s=timeout,
            concurrency=concurrency, queue=queue, connections=connections, grace_s=grace, runs=runs,
        )  # fmt: skip
        settings = loop.settings()
        # Chats side by side use the cores; the threads of one encoder run would wait for each other in between.
        os.environ.setdefault("EIRENE_THREADS", "1")
        engine = build_engine(
            models, settings, upstream=upstream, calls=upstream_calls, fill=corpus.filler(),
            timeout_s=min(timeout, CALL_TIMEOUT_S) if call_timeout is None else call_timeout,
        )  # fmt: skip
        from eirene.agent.server.app import create_app
        from eirene.agent.server.serve import serve as run

        with tracing.active():
            app = create_app(engine, listening, render=page_of)
            _quiet()
            code = run(
                app, listening, on_ready=lambda address: say(f"{engine.model} at {address} (page) and {address}/v1")
            )
        from eirene.agent.server.serve import end_process_within

        end_process_within(_LAST_S, code)  # a local model may still be at a reply that nobody waits for
    if code:
        raise typer.Exit(code)


def _bytes(mib: float) -> int:
    if not (math.isfinite(mib) and mib * _MIB >= _LEAST_BODY):
        raise InputError(f"max-body must be a number of MiB, at least 0.001, got {mib:g}", field="max-body")
    return round(mib * _MIB)


def build_engine(
    models: ModelFlags,
    settings: Settings,
    *,
    upstream: str | None = None,
    calls: int,
    timeout_s: float,
    fill: Callable[[Item], Item] | None = None,
) -> Engine:
    """The engine behind names: of the loop, and of the model that writes drafts, if there is one.

    `--base-url` is the server of each of the two that is a chat model; `timeout_s`: of an attempt of a call to either,
    and to the judge; `fill` finds passages. Raises `InputError`, `MissingExtraError`.
    """
    from eirene.agent.server.drafts import Upstream
    from eirene.agent.server.engine import Engine
    from eirene.models.resolve import ChatOptions, chat_builder

    loop_is_chat = is_named(models.backend)
    more: dict[str, Any] = (
        {} if loop_is_chat or upstream is None else {"base_url": None}
    )  # then it is that of the drafts alone
    parts = models.parts(seed=settings.seed, concurrency=calls, timeout_s=timeout_s, **more)
    name = upstream if upstream is not None else models.backend if loop_is_chat else None
    if name is None:
        return Engine(parts, settings, write_draft=_write_draft, fill=fill)
    build = chat_builder(name, ChatOptions(base_url=models.base_url))
    writer = Upstream(build(), name=name, rebuild=build, timeout_s=timeout_s)
    return Engine(parts, settings, upstream=writer, fill=fill)


def _write_draft(question: str, perspectives: list[Perspective], seed: int) -> str:
    from eirene.data.topics import parse_topic
    from eirene.npov.respond import to_be_said
    from eirene.npov.writers import compose

    sides = [{"name": side.name, "arguments": list(side.arguments)} for side in perspectives]
    topic, _ = to_be_said(parse_topic({"id": "perspectives", "question": question, "perspectives": sides}))
    draft = compose(topic, seed=seed)
    return f"{draft.introduction}\n\n{draft.main}"


def _quiet() -> None:
    """Keeps what models say out of the log: the loop's warnings may quote them. `--verbose` shows all of it."""
    if logging.getLogger("eirene").getEffectiveLevel() > logging.DEBUG:
        for name in ("eirene.agent.nodes", "eirene.models", "eirene.eval", "eirene.feedback_model", "eirene.refiners"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        # It quotes no model, and says which server failed: clients are not told.
        logging.getLogger("eirene.models.failures").setLevel(logging.WARNING)
        logging.getLogger("uvicorn").setLevel(logging.ERROR)
