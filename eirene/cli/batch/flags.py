"""The flags of `eirene batch` alone: how rows are run, limits of a run, dry runs, and provider batch files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import flags

if TYPE_CHECKING:
    from eirene.agent.batch.control import Limits

_RUN, _LIMITS, _OFFLINE = "The run", "Limits", "Provider batch files"

Concurrency = Annotated[
    int, typer.Option(help="Model calls under way at most; fewer where the provider says no.", rich_help_panel=_RUN)
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1, show_default="one a core", rich_help_panel=_RUN,
        help="Processes that share the rows, for the embedded backend; 1: this one. With --ray: actors.",
    ),
]  # fmt: skip
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="local|HOST:PORT", rich_help_panel=_RUN,
        help="Make the rows in Ray actors, here or on the cluster at this address (docs/scaling.md).",
    ),
]  # fmt: skip
Timeout = Annotated[
    float,
    typer.Option(
        metavar="S", min=0.1, help="Seconds that an attempt of a call to the backend's server may take.",
        rich_help_panel=_RUN,
    ),
]  # fmt: skip
Grace = Annotated[
    float,
    typer.Option(
        metavar="S", min=0, help="Seconds that rows under way have to end when the run stops.", rich_help_panel=_RUN
    ),
]
ReplaceChanged = Annotated[
    bool,
    typer.Option(
        "--replace-changed", help="Do rows again that were made with another configuration.", rich_help_panel=_RUN
    ),
]
ReplaceDamaged = Annotated[
    bool,
    typer.Option(
        "--replace-damaged", help="Do rows again whose lines are damaged; the lines go to a file beside.",
        rich_help_panel=_RUN,
    ),
]  # fmt: skip
MaxCost = Annotated[
    float | None,
    typer.Option(metavar="USD", help="Take no more rows when the journal's have cost this.", rich_help_panel=_LIMITS),
]
MaxTokens = Annotated[
    int | None, typer.Option(metavar="N", help="The same for tokens, read and written.", rich_help_panel=_LIMITS)
]
Deadline = Annotated[
    float | None, typer.Option(metavar="S", help="Take no more rows after so many seconds.", rich_help_panel=_LIMITS)
]
ExportRequests = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", rich_help_panel=_OFFLINE,
        help="Send nothing: write the requests for critiques as a file for a provider's batch endpoint.",
    ),
]  # fmt: skip
OneReply = Annotated[
    bool,
    typer.Option(
        "--one-reply-a-request", rich_help_panel=_OFFLINE,
        help="Ask for one critique a request, for models that do not take n.",
    ),
]  # fmt: skip
ImportReplies = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE", help="Read an endpoint's replies into --cache first; once a file.", rich_help_panel=_OFFLINE
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Send nothing: say what the rows left may take.", rich_help_panel=_LIMITS)
]
DryRunSample = Annotated[
    int,
    typer.Option(
        metavar="K", help="A dry run that makes K rows and says what they tell of the rest.", rich_help_panel=_LIMITS
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print a dry run as JSON.", rich_help_panel=_LIMITS)]


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """How rows are run, and which are done again."""

    concurrency: Concurrency = 32
    workers: Workers = None
    ray: Ray = None
    timeout: Timeout = 60.0
    grace: Grace = 60.0
    fail_on_error: flags.FailOnError = 0.1
    retry_failed: flags.RetryFailed = False
    replace_changed: ReplaceChanged = False
    replace_damaged: ReplaceDamaged = False


@dataclass(frozen=True, kw_only=True)
class LimitFlags:
    """What a run may cost and take."""

    max_cost: MaxCost = None
    max_tokens: MaxTokens = None
    deadline: Deadline = None

    def limits(self) -> Limits:
        """The limits; raises `InputError` for one that makes no sense."""
        from eirene.agent.batch.control import Limits

        return Limits(self.max_cost, self.max_tokens, self.deadline)


@dataclass(frozen=True, kw_only=True)
class DryRunFlags:
    """What is to be estimated, and how it is shown. `dry_run_sample`: rows that are run for it, into the journal."""

    dry_run: DryRun = False
    dry_run_sample: DryRunSample = 0
    as_json: AsJson = False

    def __bool__(self) -> bool:
        return self.dry_run or bool(self.dry_run_sample)


@dataclass(frozen=True, kw_only=True)
class OfflineFlags:
    """What goes to a provider's batch endpoint, and comes back."""

    export_requests: ExportRequests = None
    one_reply: OneReply = False
    import_replies: ImportReplies = None

    def __bool__(self) -> bool:
        return self.export_requests is not None or bool(self.import_replies)
