"""The flags of `eirene batch` alone, and what they ask for: models, the runner of the rows, a stop by Ctrl-C."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import flags
from eirene.cli.terminal import say
from eirene.core.errors import InputError
from eirene.core.process import Terminals, stop_signals

if TYPE_CHECKING:
    from eirene.agent.batch.control import Control, Limits
    from eirene.agent.batch.runner import Runner
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.cli.model_flags import ModelFlags
    from eirene.models.cache import CallCache
    from eirene.models.costs import Price
    from eirene.models.limits import Limiter

_run_option = partial(typer.Option, rich_help_panel="The run")
_limits_option = partial(typer.Option, rich_help_panel="Limits")
_offline_option = partial(typer.Option, rich_help_panel="Provider batch files")

Concurrency = Annotated[int, _run_option(help="Most model calls at once; fewer where the provider refuses.")]
Ray = Annotated[
    str | None,
    _run_option(
        metavar="local|HOST:PORT",
        help="Make the rows in Ray actors, here or on the cluster at this address (docs/guides/scaling.md).",
    ),
]
AsJson = Annotated[bool, _limits_option("--json", help="Print a dry run as JSON.")]


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """How rows are run, and which are done again."""

    concurrency: Concurrency = 32
    workers: Annotated[
        int | None,
        _run_option(
            min=1,
            show_default="one a core",
            help="Processes that share the rows, for the embedded backend; 1: this one. With --ray: actors.",
        ),
    ] = None
    ray: Ray = None
    grace: Annotated[
        float, _run_option(metavar="S", min=0, help="Seconds for running rows to finish when the run stops.")
    ] = 60.0
    fail_on_error: flags.FailOnError = 0.1
    retry_failed: flags.RetryFailed = False
    replace_changed: Annotated[
        bool, _run_option("--replace-changed", help="Run rows again that were made with another configuration.")
    ] = False
    replace_damaged: Annotated[
        bool,
        _run_option(
            "--replace-damaged",
            help="Run rows again whose lines are damaged; the lines are kept in another file.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class LimitFlags:
    """What a run may cost and take."""

    max_cost: Annotated[
        float | None,
        _limits_option(metavar="USD", help="Start no more rows once the journal's have cost this."),
    ] = None
    max_tokens: Annotated[int | None, _limits_option(metavar="N", help="The same for tokens, input and output.")] = None
    deadline: Annotated[float | None, _limits_option(metavar="S", help="Start no more rows after so many seconds.")] = (
        None
    )

    def limits(self) -> Limits:
        """The limits; raises `InputError` for one that makes no sense."""
        from eirene.agent.batch.control import Limits

        return Limits(self.max_cost, self.max_tokens, self.deadline)


@dataclass(frozen=True, kw_only=True)
class DryRunFlags:
    """Whether only what is left is told, and how that is shown."""

    dry_run: Annotated[bool, _limits_option("--dry-run", help="Send nothing: say what the rest may take.")] = False
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class OfflineFlags:
    """What goes to a provider's batch endpoint, and comes back."""

    export_requests: Annotated[
        str | None,
        _offline_option(
            metavar="FILE",
            help="Send nothing: write the requests for critiques as a file for a provider's batch endpoint.",
        ),
    ] = None
    one_reply: Annotated[
        bool,
        _offline_option("--one-reply-a-request", help="Ask for one critique a request, for models that do not take n."),
    ] = False
    import_replies: Annotated[
        list[str] | None,
        _offline_option(metavar="FILE", help="Read a batch endpoint's replies into --cache first; repeatable."),
    ] = None

    def __bool__(self) -> bool:
        return self.export_requests is not None or bool(self.import_replies)


@dataclass(frozen=True, kw_only=True)
class BatchModels:
    """The models of a batch: built in this process, and once more wherever rows are made. Can be pickled."""

    flags: ModelFlags
    seed: int
    price: Price | None
    judge_price: Price | None

    @property
    def without_price(self) -> list[str]:
        """The models whose tokens cost nobody knows what."""
        from eirene.cli.model_flags import is_named

        priced = ((self.flags.backend, self.price), (self.flags.judge, self.judge_price))
        return [name for name, price in priced if name is not None and is_named(name) and price is None]

    def parts(self, limiter: Limiter, *, cache: CallCache | None, offline: bool = False) -> Parts:
        """The models, whose calls go through the limiter; `offline`: there will be none, so that no key is missed."""
        if self.flags.asks_a_server:
            # The event loop has a core of its own to fill; an encoder run on one core does more a CPU second.
            os.environ.setdefault("EIRENE_THREADS", "1")
        return self.flags.parts(
            seed=self.seed, limiter=limiter, price=self.price, judge_price=self.judge_price, cache=cache,
            offline=offline,
        )  # fmt: skip


def runner_for(
    models: BatchModels, run: RunFlags, parts: Parts, settings: Settings, *, limiter: Limiter, n_rows: int
) -> AbstractContextManager[Runner]:
    """The runner that the flags ask for, up as long as the context lasts; `n_rows` are left to be made."""
    from eirene.agent.backends import resolve_backend
    from eirene.agent.batch.processes import ProcessRunner, workers_for
    from eirene.agent.batch.runner import LocalRunner

    if run.ray is not None:
        return _ray_runner(run.ray, models, run, parts, settings, n_rows=n_rows)
    n_workers = min(run.workers or workers_for(n_rows), n_rows) if models.flags.is_embedded_alone else 1
    if n_workers > 1:
        build = partial(resolve_backend, models.flags.backend)
        return nullcontext(ProcessRunner(build, settings, workers=n_workers))
    return nullcontext(LocalRunner(parts, settings, limiter=limiter if models.flags.asks_a_server else None))


def _in_an_actor(models: BatchModels, concurrency: int) -> Parts:
    """The models of one actor, which may have so many calls under way; a cache is the file of its machine."""
    from eirene.models.limits import Limiter

    return models.parts(Limiter(concurrency, adaptive=True), cache=models.flags.open_cache())


@contextmanager
def _ray_runner(
    address: str, models: BatchModels, run: RunFlags, parts: Parts, settings: Settings, *, n_rows: int
) -> Iterator[Runner]:
    """The runner on a Ray cluster.

    Without `--workers`: an actor for each GPU where a local model has use for one, else for each core. `--concurrency`
    is that of all actors together, and each gets the same share.
    """
    from eirene.agent.batch.pool import PoolShape
    from eirene.agent.batch.processes import CHUNK_ROWS
    from eirene.agent.batch.ray import LOCAL, RayRunner, cluster_slots, ray_session
    from eirene.core.concurrency import usable_cores

    given = models.flags
    with ray_session(address, slots=run.workers or usable_cores()) as ray:
        gpus = cluster_slots(ray, "GPU") if given.has_local_model else 0
        n = run.workers or gpus or (usable_cores() if address == LOCAL else cluster_slots(ray, "CPU"))
        n = max(1, min(n, n_rows))
        if given.asks_a_server and n > run.concurrency:
            raise InputError(f"must be at least the number of actors, {n}, got {run.concurrency}", field="concurrency")
        share = run.concurrency // n if given.asks_a_server else 1
        shape = PoolShape(
            n,
            calls=2 * share if given.asks_a_server else 1,  # rows that compute leave no call's place empty
            chunk_rows=max(1, min(CHUNK_ROWS, n_rows // (2 * n))) if given.is_embedded_alone else 1,
        )
        make = partial(_in_an_actor, models, share)
        yield RayRunner(ray, make, settings, parts=parts, shape=shape, gpus=1.0 if gpus else 0.0)


@dataclass(slots=True)
class Stop:
    """What the user did."""

    control: Control
    by_user: bool = False


@contextmanager
def stoppable(*, grace_s: float, under_way: Callable[[], int]) -> Iterator[Stop]:
    """A control that Ctrl-C, SIGTERM and SIGHUP reach, inside a running event loop.

    The first finishes the rows under way, the second stops at once.
    """
    import asyncio

    from eirene.agent.batch.control import Control

    stop, outputs = Stop(Control(grace_s=grace_s)), Terminals()

    def told(number: int) -> None:
        outputs.lost(number)
        if stop.by_user:
            stop.control.stop_now("by the user")
            return
        stop.by_user = True
        stop.control.stop("by the user")
        say(f"stopping: {under_way()} rows under way have {grace_s:g} s to end; Ctrl-C again gives them up")

    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in stop_signals()}
    with suppress(NotImplementedError):  # Windows: Ctrl-C is a KeyboardInterrupt there
        for number in before:
            loop.add_signal_handler(number, told, number)
    try:
        yield stop
    finally:
        with suppress(NotImplementedError):
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)  # which the loop has forgotten
