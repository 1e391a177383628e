"""The flags of `eirene batch` alone: how rows are run, limits of a run, dry runs, and provider batch files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import flags

if TYPE_CHECKING:
    from eirene.agent.batch.control import Limits

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
    """What is to be estimated, and how it is shown. `dry_run_sample`: rows that are run for it, into the journal."""

    dry_run: Annotated[bool, _limits_option("--dry-run", help="Send nothing: estimate what the rest will take.")] = (
        False
    )
    dry_run_sample: Annotated[int, _limits_option(metavar="K", help="Run K rows and estimate the rest from them.")] = 0
    as_json: AsJson = False

    def __bool__(self) -> bool:
        return self.dry_run or bool(self.dry_run_sample)


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
