"""The flags of `eirene batch` alone.

The models of a batch, as its flags say: built in this process, and once more wherever rows are made.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import data_flags
from eirene.cli.data_flags import CallFlags, is_named
from eirene.cli.flags import with_named
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.agent.batch.runner import Runner
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.models.cache import CallCache
    from eirene.models.chat import Price
    from eirene.models.limits import Limiter

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


@dataclass(frozen=True, kw_only=True)
class PartsFlags:
    """Everything that says which models a batch has. Can be pickled; holds no key."""

    backend: str
    base_url: str | None = None
    detectors: str | None = None
    judge: str | None = None
    judge_url: str | None = None
    local_model: str | None = None
    classifier: tuple[str, ...] = ()
    nli: str | None = None
    polls: int = 5
    seed: int = 0
    price: Price | None = None
    judge_price: Price | None = None
    calls: CallFlags
    timeout_s: float = 60.0

    @property
    def asks(self) -> bool:
        """Whether a server is asked, so that rows wait and many can be under way."""
        return self.judge is not None or not (self.backend == "embedded" or self.backend.startswith("hf:"))

    @property
    def without_price(self) -> list[str]:
        """The models whose tokens cost nobody knows what."""
        priced = ((self.backend, self.price), (self.judge, self.judge_price))
        return [name for name, price in priced if name is not None and is_named(name) and price is None]

    @property
    def is_embedded_alone(self) -> bool:
        """Whether nothing but the embedded backend and its own detectors has a part."""
        named = (self.detectors, self.judge, self.local_model, self.classifier, self.nli)
        return self.backend == "embedded" and not any(named)

    @property
    def has_local_model(self) -> bool:
        """Whether a model is loaded that would use a GPU."""
        return self.backend.startswith("hf:") or any((self.local_model, self.classifier, self.nli))

    def build(self, limiter: Limiter, *, cache: CallCache | None, offline: bool = False) -> Parts:
        """The models, whose calls go through the limiter; `offline`: there will be none, so that no key is missed."""
        from eirene.agent.backends import BackendOptions, resolve_backend

        if self.asks:
            # The event loop has a core of its own to fill; an encoder run on one core does more a CPU second.
            os.environ.setdefault("EIRENE_THREADS", "1")
        options = BackendOptions(base_url=self.base_url, limiter=limiter, price=self.price, cache=cache,
                                 timeout_s=self.timeout_s, offline=offline)  # fmt: skip
        parts = with_named(
            resolve_backend(self.backend, options), self.detectors, judge_model=self.judge, base_url=self.judge_url,
            local=self.local_model, cache=cache, classifiers_named=self.classifier, nli_named=self.nli,
            polls=self.polls, seed=self.seed, concurrency=limiter.max_concurrent, price=self.judge_price,
            offline=offline,
        )  # fmt: skip
        if self.detectors is None and self.judge is not None:
            from eirene.agent.detectors import with_judge

            parts = with_judge(parts, self.judge, base_url=self.judge_url, polls=self.polls, seed=self.seed,
                               price=self.judge_price, cache=cache, offline=offline)  # fmt: skip
        return parts


def in_an_actor(flags: PartsFlags, concurrency: int) -> Parts:
    """The models of one actor, which may have so many calls under way; a cache is the file of its machine."""
    from eirene.models.limits import Limiter

    return flags.build(Limiter(concurrency, adaptive=True), cache=flags.calls.open_cache())


@contextmanager
def ray_runner(
    address: str,
    flags: PartsFlags,
    parts: Parts,
    settings: Settings,
    *,
    workers: int | None,
    concurrency: int,
    n_rows: int,
) -> Iterator[Runner]:
    """The runner on a Ray cluster, which is up as long as this lasts.

    `workers` None: an actor for each GPU where a local model has use for one, else for each core. `concurrency` is that
    of all actors together, and each gets the same share.
    """
    import functools

    from eirene.agent.batch.processes import CHUNK_ROWS, usable_cores
    from eirene.agent.batch.ray import ActorShape, RayRunner
    from eirene.agent.batch.ray_cluster import LOCAL, cluster_slots, ray_session

    with ray_session(address, slots=workers or usable_cores()) as ray:
        gpus = cluster_slots(ray, "GPU") if flags.has_local_model else 0
        n = workers or gpus or (usable_cores() if address == LOCAL else cluster_slots(ray, "CPU"))
        n = max(1, min(n, n_rows))
        if flags.asks and n > concurrency:
            raise InputError(f"must be at least the number of actors, {n}, got {concurrency}", field="concurrency")
        share = concurrency // n if flags.asks else 1
        shape = ActorShape(
            side_by_side=2 * share if flags.asks else 1,  # rows that compute leave no call's place empty
            chunk_rows=max(1, min(CHUNK_ROWS, n_rows // (2 * n))) if flags.is_embedded_alone else 1,
            gpus=1.0 if gpus else 0.0,
        )
        make = functools.partial(in_an_actor, flags, share)
        yield RayRunner(ray, make, settings, parts=parts, workers=n, shape=shape)
