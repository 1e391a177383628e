"""`eirene batch`: a data set through the loop, resumable, with progress; its status, dry run, provider batch files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eirene.cli import flags
from eirene.cli.batch.flags import BatchModels, DryRunFlags, LimitFlags, OfflineFlags, RunFlags, runner_for, stoppable
from eirene.cli.data_flags import IN_HELP, CorpusFlags, DataFlags, SkipBad, tell_skipped
from eirene.cli.flags import Group, LoopFlags, TraceFlags, with_groups
from eirene.cli.model_flags import ModelFlags
from eirene.cli.terminal import console, output, say
from eirene.core.errors import BackendError, InputError

if TYPE_CHECKING:
    from eirene.agent.batch.control import Limits
    from eirene.agent.batch.engine import Batch
    from eirene.agent.batch.offline import Imported
    from eirene.agent.batch.runner import Runner
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.cli.progress import BatchWatch

In = Annotated[str, typer.Argument(metavar="IN", help=IN_HELP)]
Out = Annotated[str, typer.Option(metavar="OUT.jsonl", help="The journal: a line for each finished row.")]


class _RunByDefault(Group):
    """`batch IN ...` is `batch run IN ...`: what is no command's name is the data's."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if args and args[0] in self.commands else ["run", *args])


app = typer.Typer(cls=_RunByDefault, help="Refine a whole data set; run the same command again to resume.")


@app.command("run")
@with_groups(
    "backend", "base-url", "out", "map", "skip-bad", "limit", "cache", "max-cost", "dry-run", "retry-failed"
)  # fmt: skip
def batch(
    file: In,
    *,
    out: Out,
    data: DataFlags,
    skip_bad: SkipBad = False,
    corpus: CorpusFlags,
    models: ModelFlags,
    loop: LoopFlags,
    tracing: TraceFlags,
    run: RunFlags,
    limit_flags: LimitFlags,
    dry: DryRunFlags,
    offline: OfflineFlags,
    config: flags.Config = None,
) -> None:
    """Refine a whole data set. Run the same command again to resume.

    `eirene batch status OUT.jsonl` says how a run stands, at any time.
    """
    with output():
        from eirene.agent.batch.engine import Again, open_batch
        from eirene.agent.record import RowHash
        from eirene.cli.progress import watch_batch
        from eirene.cli.terminal import few_warnings
        from eirene.data import check_outside
        from eirene.models.limits import Limiter

        settings, limits = loop.settings(), limit_flags.limits()
        check_outside(out, file)
        if dry.as_json and not dry.dry_run:
            raise InputError("--json goes with --dry-run", field="json")
        cache = models.open_cache()
        built = _models(models, loop, run, limits)
        limiter = Limiter(run.concurrency, adaptive=True)
        parts = built.parts(limiter, cache=cache, offline=dry.dry_run or offline.export_requests is not None)
        dataset = data.open(file, each=corpus.filler(), skip_bad=skip_bad)
        again = Again(run.retry_failed, run.replace_changed, run.replace_damaged)
        with few_warnings(), tracing.active(), watch_batch() as shown, open_batch(
            dataset, out=out, hashes=RowHash(parts, settings), settings=settings, again=again,
            on_look=shown.on_look, on_scan=shown.on_scan,
        ) as opened:  # fmt: skip
            if offline:
                _exchange(opened, parts, settings, offline)
            if dry.dry_run:
                _dry_run(opened, as_json=dry.as_json)
            running = runner_for(built, run, parts, settings, limiter=limiter, n_rows=opened.n_left)
            code = _run(opened, running, limits=limits, grace_s=run.grace, shown=shown)
        _tell(opened, out, wall_s=shown.passed_s)
        tell_skipped(dataset, Path(f"{out}.skipped"))
    if code or opened.totals.statuses["failed"] > run.fail_on_error * opened.totals.rows:
        raise typer.Exit(code or 1)


def _models(models: ModelFlags, loop: LoopFlags, run: RunFlags, limits: Limits) -> BatchModels:
    """The models, once it is known that they fit workers and limits; raises `InputError` otherwise."""
    built = BatchModels(
        flags=models, seed=loop.seed,
        price=models.price_of(models.backend, base_url=models.base_url), judge_price=models.judge_price,
    )  # fmt: skip
    if run.workers is not None and run.workers > 1 and not (models.is_embedded_alone or run.ray):
        raise InputError("--workers goes with --backend embedded and its own detectors, or with --ray", field="workers")
    if limits.max_cost_usd is not None and built.without_price:
        unknown = " and ".join(built.without_price)
        raise InputError(
            f"--max-cost needs to know what the tokens of {unknown} cost: give --price for the backend, or a file with "
            "all models", field="max-cost",
        )  # fmt: skip
    return built


def _run(
    opened: Batch,
    running: AbstractContextManager[Runner],
    *,
    limits: Limits,
    grace_s: float,
    shown: BatchWatch,
) -> int:
    """Makes the missing rows; 130 where the user stopped it, else 0."""
    import asyncio

    from eirene.agent.batch.engine import run_batch
    from eirene.core.process import settings_for_rows

    if not opened.n_left:
        opened.tidy()
        return 0

    async def work(runner: Runner) -> bool:
        with stoppable(grace_s=grace_s, under_way=lambda: len(opened.under_way)) as stop:
            await run_batch(opened, runner, limits=limits, control=stop.control, on_row=partial(shown.on_row, opened))
        return stop.by_user

    try:
        with running as runner, settings_for_rows():
            shown.start()
            return 130 if asyncio.run(work(runner)) else 0
    except (BackendError, OSError):
        say(f"{opened.made.rows:,} rows were made and {opened.n_left:,} are left; run the same command again to resume")
        raise


def _tell(opened: Batch, out: str, *, wall_s: float) -> None:
    from eirene.views.facts import cost

    others = f"; {opened.n_others:,} other rows in it were left alone" if opened.n_others else ""
    if not opened.made.rows and not opened.n_left:
        say(f"nothing to do: all {opened.n_rows:,} rows are in {out}{others}")
        return
    counts = ", ".join(f"{n:,} {status}" for status, n in opened.made.statuses.items() if n) or "none"
    spent = cost(opened.made.usage, summed=True, wall_s=wall_s)
    before = f" ({opened.n_done:,} were there before)" if opened.n_done else ""
    say(f"made {opened.made.rows:,} rows{before}: {counts}; {spent}{others}")
    if opened.n_left:
        say(
            f"stopped ({opened.stopped}): {opened.n_left:,} of {opened.n_rows:,} rows are left; "
            "run the same command again to resume"
        )
    failed = opened.totals.statuses["failed"]
    if failed:
        say(f"{failed:,} rows of {out} are failed: --retry-failed does them again, `eirene batch status` says why")


Journal = Annotated[str, typer.Argument(metavar="JOURNAL", help="What `eirene batch` wrote with --out.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as one line of JSON.")]


@app.command("status")
def status(journal: Journal, *, as_json: AsJson = False) -> None:
    """Show the state of a batch: rows by status, cost, and why some failed. It may be running."""
    with output():
        from eirene.agent.batch.journal import read_status
        from eirene.cli.progress import watch_batch

        with watch_batch() as shown:
            found = read_status(journal, on_scan=shown.on_scan)
        if as_json:
            typer.echo(found.to_json())
            return
        found.show(console())


_SHOWN = {"calls": "calls", "input_tokens": "tokens in", "output_tokens": "tokens out", "cost_usd": "US dollars"}


def _dry_run(opened: Batch, *, as_json: bool) -> None:
    """Says how many rows are left, and what they would take at the mean of those that are done; ends the command."""
    done, took = opened.totals.rows, opened.totals.usage
    sums = {name: getattr(took, name) for name in _SHOWN}
    a_row = {name: None if found is None else found / done for name, found in sums.items()} if done else None
    left = {name: None if n is None else n * opened.n_left for name, n in a_row.items()} if a_row else None
    rows = {"total": opened.n_rows, "done": opened.n_done, "left": opened.n_left}
    report = {"rows": rows, "a_row_took": a_row, "the_rest_may_take": left}
    typer.echo(json.dumps(report, ensure_ascii=False) if as_json else _text(report))
    raise typer.Exit  # an exception, so that a journal that was made for this alone goes again


def _text(report: Mapping[str, Any]) -> str:
    rows = report["rows"]
    lines = [f"{rows['total']:,} rows: {rows['done']:,} are done, {rows['left']:,} are left"]
    if report["a_row_took"] is None:
        return f"{lines[0]}; what a row takes is known once some are done: make a few with --sample 5"
    for title, name in (("A row of the journal took", "a_row_took"), ("At that, the rest takes", "the_rest_may_take")):
        lines.append(f"{title} {', '.join(_figures(report[name]))}")
    return "\n".join(lines)


def _figures(found: Mapping[str, float | None]) -> Iterator[str]:
    for name, shown in _SHOWN.items():
        n = found[name]
        amount = "" if n is None else f"{n:,.4g}" if n < 1000 else f"{n:,.0f}"
        yield f"{amount} {shown}" if amount else f"{shown} unknown (--price IN,OUT)"


def _exchange(opened: Batch, parts: Parts, settings: Settings, offline: OfflineFlags) -> None:
    """Writes the requests of the rows that are missing and ends the command, or reads replies in and lets it go on."""
    from eirene.agent.batch.offline import SamplingStep, export_requests, import_replies

    export, replies = offline.export_requests, offline.import_replies or []
    if export is not None and replies:
        raise InputError("give --export-requests or --import-replies, not both", field="import-replies")
    step, items = SamplingStep(parts, settings), (work.item for work in opened.work())
    if export is None:
        _tell_imported(import_replies(replies, items, step))
        return
    rows, requests = export_requests(items, step, export, one_reply=offline.one_reply)
    say(f"wrote {requests:,} requests for {rows:,} rows to {export}; {opened.n_done:,} rows were done before")
    raise typer.Exit  # an exception, so that a journal that was made for this alone goes again


def _tell_imported(found: Imported) -> None:
    """What the replies are good for, and what is wrong with the rest."""
    say(
        f"read {found.replies:,} critiques: {found.complete:,} of {found.rows:,} rows have all of theirs, "
        f"{found.partial:,} have some; the rest is asked for now "
        f"({found.input_tokens:,} tokens in and {found.output_tokens:,} out by the provider's count)"
    )
    problems = [
        (found.errors, f"requests failed, the first with: {found.first_error}"),
        (found.unusable, "replies were cut off, filtered or empty"),
        (found.others, "lines are not of these rows (finished, changed, another file's), or repeat an id"),
    ]
    for n, what in problems:
        if n:
            say(f"of these files {n:,} {what}")
