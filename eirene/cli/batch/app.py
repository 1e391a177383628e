"""`eirene batch`: a whole data set, resumable, bounded in memory, and watched."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from eirene.cli import data_flags
from eirene.cli import flags as options
from eirene.cli.batch import flags
from eirene.cli.batch.flags import PartsFlags, ray_runner
from eirene.cli.batch.log import seldom
from eirene.cli.batch.plan import DryRun, exchange
from eirene.cli.batch.plan import dry_run as estimate
from eirene.cli.batch.progress import watch
from eirene.cli.batch.status import status
from eirene.cli.data_flags import CallFlags, CorpusFlags
from eirene.cli.flags import with_groups
from eirene.cli.terminal import output, say
from eirene.core.errors import BackendError, InputError

if TYPE_CHECKING:
    from eirene.agent.batch.control import Limits
    from eirene.agent.batch.engine import Batch, OnRow
    from eirene.agent.batch.runner import Runner
    from eirene.cli.batch.progress import Watch
    from eirene.core.records import Record


class _RunByDefault(TyperGroup):
    """`batch IN ...` is `batch run IN ...`: what is no command's name is the data's."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["run", *args])


app = typer.Typer(cls=_RunByDefault, help="Refine a whole data set; the same command again goes on.")
app.command("status")(status)


@app.command("run")
@with_groups()
def batch(
    file: flags.In,
    *,
    out: flags.Out,
    parquet: flags.Parquet = None,
    mode: options.Mode = "fine-grained",
    critic: options.Critic = "completeness",
    removal: options.Removal = "remove",
    backend: options.Backend = "embedded",
    base_url: options.BaseUrl = None,
    detectors: options.Detectors = None,
    judge: options.Judge = None,
    judge_base_url: options.JudgeBaseUrl = None,
    local_model: options.LocalModel = None,
    classifier: options.Classifier = None,
    nli: options.Nli = None,
    polls: options.Polls = 5,
    concurrency: flags.Concurrency = 32,
    workers: flags.Workers = None,
    ray: flags.Ray = None,
    timeout: flags.Timeout = 60.0,
    grace: flags.Grace = 60.0,
    max_cost: flags.MaxCost = None,
    max_tokens: flags.MaxTokens = None,
    deadline: flags.Deadline = None,
    calls: CallFlags,
    corpus: CorpusFlags,
    export_requests: flags.ExportRequests = None,
    one_reply: flags.OneReply = False,
    import_replies: flags.ImportReplies = None,
    dry_run: flags.DryRun = False,
    dry_run_sample: flags.DryRunSample = 0,
    as_json: flags.AsJson = False,
    fail_on_error: flags.FailOnError = 0.1,
    retry_failed: flags.RetryFailed = False,
    replace_changed: flags.ReplaceChanged = False,
    replace_damaged: flags.ReplaceDamaged = False,
    format: data_flags.Format = "auto",
    columns: data_flags.Map = None,
    reader: data_flags.ReaderName = None,
    drop_unmapped: data_flags.DropUnmapped = False,
    limit: data_flags.Limit = 0,
    sample: data_flags.Sample = 0,
    sample_seed: data_flags.SampleSeed = 0,
    samples: options.Samples = 20,
    stop: options.Stop = "none",
    max_rounds: options.MaxRounds = 2,
    patience: options.Patience = 1,
    seed: options.Seed = 0,
    min_consistency: options.MinConsistency = 0.0,
    tolerance: options.Tolerance = 0.02,
    min_gain: options.MinGain = 0.02,
    when_gain_unmeasured: options.WhenGainUnmeasured = "accept",
    config: options.Config = None,
) -> None:
    """Refine a whole data set. The same command again goes on where it was stopped.

    `eirene batch status OUT.jsonl` says how a run stands, at any time.
    """
    with output():
        from eirene.agent.backends import resolve_backend
        from eirene.agent.batch.control import Limits
        from eirene.agent.batch.engine import Again, open_batch
        from eirene.agent.batch.parquet import check_parquet, write_parquet
        from eirene.agent.batch.processes import ProcessRunner, workers_for
        from eirene.agent.batch.runner import LocalRunner
        from eirene.agent.record import RowHash
        from eirene.agent.settings import Settings
        from eirene.data import check_outside
        from eirene.models.limits import Limiter

        settings = Settings.of(
            mode=mode, critic=critic, removal=removal, samples=samples, stop=stop, max_rounds=max_rounds,
            patience=patience, seed=seed, min_consistency=min_consistency, tolerance=tolerance, min_gain=min_gain,
            when_gain_unmeasured=when_gain_unmeasured,
        )  # fmt: skip
        check_outside(out, file)
        if as_json and not (dry_run or dry_run_sample):
            raise InputError("--json goes with --dry-run", field="json")
        check_parquet(parquet, out=out, data=file)
        limits, judge_url = Limits(max_cost, max_tokens, deadline), judge_base_url or base_url
        cache, money = calls.open_cache(), calls.price_of(backend, base_url=base_url)
        judge_price = calls.listed_price(judge, base_url=judge_url)
        models = PartsFlags(
            backend=backend, base_url=base_url, detectors=detectors, judge=judge, judge_url=judge_url,
            local_model=local_model, classifier=tuple(classifier or ()), nli=nli, polls=polls, seed=seed, price=money,
            judge_price=judge_price, calls=calls, timeout_s=timeout,
        )  # fmt: skip
        if workers is not None and workers > 1 and not (models.is_embedded_alone or ray):
            raise InputError("--workers goes with --backend embedded and its own detectors, or with --ray",
                             field="workers")  # fmt: skip
        if max_cost is not None and models.without_price:
            unknown = " and ".join(models.without_price)
            raise InputError(f"--max-cost needs to know what the tokens of {unknown} cost: give --price for the "
                             "backend, or --prices with all models", field="max-cost")  # fmt: skip
        limiter = Limiter(concurrency, adaptive=True)
        calls_nothing = export_requests is not None or (dry_run and not dry_run_sample)
        parts = models.build(limiter, cache=cache, offline=calls_nothing)
        dataset = data_flags.open_data(
            file, format=format, columns=columns, reader=reader, drop_unmapped=drop_unmapped,
            selection=data_flags.selection_of(limit, sample, sample_seed), each=corpus.filler(),
        )  # fmt: skip
        with seldom(), watch() as shown, open_batch(
            dataset, out=out, hashes=RowHash(parts, settings), settings=settings,
            again=Again(retry_failed, replace_changed, replace_damaged), on_look=shown.on_look, on_scan=shown.on_scan,
        ) as opened:  # fmt: skip
            if export_requests is not None or import_replies:
                exchange(opened, parts, settings, export_requests, import_replies or [], one_reply=one_reply)
            n_workers = min(workers or workers_for(opened.n_left), opened.n_left) if models.is_embedded_alone else 1
            runner: Runner = LocalRunner(parts, settings, limiter=limiter if models.asks else None)
            running: AbstractContextManager[Runner] = nullcontext(runner)
            if ray is not None:
                running = ray_runner(ray, models, parts, settings, workers=workers, concurrency=concurrency,
                                     n_rows=opened.n_left)  # fmt: skip
            elif n_workers > 1:
                running = nullcontext(ProcessRunner(functools.partial(resolve_backend, backend), settings,
                                                    workers=n_workers))  # fmt: skip
            if dry_run or dry_run_sample:
                what = DryRun(sample=dry_run_sample, polls=polls, price=money, judge_price=judge_price, as_json=as_json)
                estimate(opened, parts, settings, what, lambda keep: _run(
                    opened, running, limits=limits, grace_s=grace, shown=shown, keep=keep
                ))  # fmt: skip
            code = _run(opened, running, limits=limits, grace_s=grace, shown=shown)
        _tell(opened, out)
        if parquet is not None:
            write_parquet(out, parquet)
            say(f"wrote {parquet}")
    if code or opened.totals.statuses["failed"] > fail_on_error * opened.totals.rows:
        raise typer.Exit(code or 1)


def _run(
    opened: Batch,
    running: AbstractContextManager[Runner],
    *,
    limits: Limits,
    grace_s: float,
    shown: Watch,
    keep: OnRow | None = None,
) -> int:
    """Makes the missing rows, and shows each to `keep`; 130 where the user stopped it, else 0."""
    import asyncio

    from eirene.agent.batch.engine import run_batch
    from eirene.cli.batch.stop import stoppable
    from eirene.core.concurrency import short_switch_interval

    if not opened.n_left:
        return 0

    def on_row(row: Record) -> None:
        shown.on_row(opened, row)
        if keep is not None:
            keep(row)

    async def work(runner: Runner) -> bool:
        with stoppable(grace_s=grace_s, under_way=lambda: len(opened.under_way)) as stop:
            await run_batch(opened, runner, limits=limits, control=stop.control, on_row=on_row)
        return stop.by_user

    try:
        with running as runner, short_switch_interval():
            shown.start()
            return 130 if asyncio.run(work(runner)) else 0
    except (BackendError, OSError):
        say(f"{opened.made.rows:,} rows were made and {opened.n_left:,} are left; the same command goes on from there")
        raise


def _tell(opened: Batch, out: str) -> None:
    """What was done, what is left, and why."""
    from eirene.views.facts import cost

    others = f"; {opened.n_others:,} other rows in it were left alone" if opened.n_others else ""
    if not opened.made.rows and not opened.n_left:
        say(f"nothing to do: all {opened.n_rows:,} rows are in {out}{others}")
        return
    counts = ", ".join(f"{n:,} {status}" for status, n in opened.made.statuses.items() if n) or "none"
    before = f" ({opened.n_done:,} were there before)" if opened.n_done else ""
    say(f"made {opened.made.rows:,} rows{before}: {counts}; {cost(opened.made.usage)}{others}")
    if opened.n_left:
        say(
            f"stopped ({opened.stopped}): {opened.n_left:,} of {opened.n_rows:,} rows are left; "
            "the same command goes on from there"
        )
    failed = opened.totals.statuses["failed"]
    if failed:
        say(f"{failed:,} rows of {out} are failed: --retry-failed does them again, `eirene batch status` says why")
