"""The flags of `eirene batch` alone."""

from __future__ import annotations

from typing import Annotated

import typer

from eirene.cli import data_flags

_RUN, _LIMITS, _OFFLINE = "The run", "Limits", "Provider batch files"

In = Annotated[str, typer.Argument(metavar="IN", help=data_flags.IN_HELP)]
Out = Annotated[str, typer.Option(metavar="OUT.jsonl", help="The journal: a line for each finished row.")]
Parquet = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write the journal as Parquet too, at the end (extra 'data')."),
]
Concurrency = Annotated[int, typer.Option(help="Model calls under way at most; fewer where the provider says no.",
                                          rich_help_panel=_RUN)]  # fmt: skip
Workers = Annotated[
    int | None,
    typer.Option(min=1, show_default="one a core", rich_help_panel=_RUN,
                 help="Processes that share the rows, for the embedded backend; 1: this one. With --ray: actors."),
]  # fmt: skip
Ray = Annotated[
    str | None,
    typer.Option(metavar="local|HOST:PORT", rich_help_panel=_RUN,
                 help="Make the rows in Ray actors, here or on the cluster at this address (docs/scaling.md)."),
]  # fmt: skip
Timeout = Annotated[
    float,
    typer.Option(metavar="S", min=0.1, help="Seconds that an attempt of a call to the backend's server may take.",
                 rich_help_panel=_RUN),
]  # fmt: skip
Grace = Annotated[
    float,
    typer.Option(
        metavar="S", min=0, help="Seconds that rows under way have to end when the run stops.", rich_help_panel=_RUN
    ),
]
FailOnError = Annotated[
    float,
    typer.Option(min=0, max=1, help="Share of failed rows above which the exit code is 1.", rich_help_panel=_RUN),
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Do failed rows of the journal again.", rich_help_panel=_RUN)
]
ReplaceChanged = Annotated[
    bool,
    typer.Option("--replace-changed", help="Do rows again that were made with another configuration.",
                 rich_help_panel=_RUN),
]  # fmt: skip
ReplaceDamaged = Annotated[
    bool,
    typer.Option("--replace-damaged", help="Do rows again whose lines are damaged; the lines go to a file beside.",
                 rich_help_panel=_RUN),
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
        metavar="FILE",
        help="Send nothing: write the requests for critiques as a file for a provider's batch endpoint.",
        rich_help_panel=_OFFLINE,
    ),
]
OneReply = Annotated[
    bool,
    typer.Option(
        "--one-reply-a-request", help="Ask for one critique a request, for models that do not take n.",
        rich_help_panel=_OFFLINE,
    ),
]  # fmt: skip
ImportReplies = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Read an endpoint's replies into --cache first; once a file.",
        rich_help_panel=_OFFLINE,
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
