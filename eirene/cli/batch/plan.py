"""`eirene batch --dry-run`, and request and reply files of a provider's batch endpoint: an estimate, export, import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from eirene.cli.terminal import say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.agent.batch.engine import Batch
    from eirene.agent.batch.estimate import BatchEstimate
    from eirene.agent.batch.offline import Imported
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.cli.batch.flags import BatchModels, OfflineFlags
    from eirene.core.records import Item

LOOKED_AT = 2000
"""Rows whose text is counted; of more, so many are drawn."""
_NAMES = ("calls", "input_tokens", "output_tokens")
_SHOWN = {"calls": "calls", "input_tokens": "tokens in", "output_tokens": "tokens out", "cost_usd": "cost, USD"}


def dry_run(opened: Batch, parts: Parts, settings: Settings, *, models: BatchModels, as_json: bool) -> None:
    """Shows the estimate and ends the command."""
    from eirene.agent.batch.estimate import estimate
    from eirene.core.signature import rng_for
    from eirene.models.costs import counter_for

    order = rng_for(settings.seed, "dry-run").permutation(len(opened.missing))
    looked_at = sorted(opened.missing[int(at)] for at in order[:LOOKED_AT])
    count, counted_by = counter_for(parts.backend)
    items: Iterator[Item] = opened.dataset.part(looked_at).items() if looked_at else iter(())
    found = estimate(items, rows=opened.n_left, parts=parts, settings=settings, polls=models.flags.polls, count=count)
    report = {**_report(opened, found, models), "counted_by": counted_by}
    typer.echo(json.dumps(report, ensure_ascii=False) if as_json else _text(report))
    raise typer.Exit  # an exception, so that a journal that was made for this alone goes again


def _report(opened: Batch, found: BatchEstimate, models: BatchModels) -> dict[str, Any]:
    """The figures: of each its least and most, null where it is not known; and what the rows that are done took."""
    cost = found.cost_usd(models.price, models.judge_price)
    bounds = {
        name: [round(float(found.loop[end, at] + found.judge[end, at])) for end in (0, 1)]
        for at, name in enumerate(_NAMES)
    }
    judge = {name: [round(float(found.judge[end, at])) for end in (0, 1)] for at, name in enumerate(_NAMES)}
    done, took = opened.totals.rows, opened.totals.usage
    return {
        "rows": {"total": opened.n_rows, "done": opened.n_done, "left": found.rows, "looked_at": found.looked_at},
        "estimate": {**bounds, "cost_usd": None if cost is None else list(cost)},
        "of_which_judge": judge if found.judge[1].any() else None,
        "a_row_took": {
            name: None if (sum_ := getattr(took, name)) is None else sum_ / done for name in _SHOWN
        } if done else None,
        "not_counted": list(found.not_counted),
    }  # fmt: skip


def _text(report: dict[str, Any]) -> str:
    rows, lines = report["rows"], []
    drawn = f", of which {rows['looked_at']:,} were looked at" if rows["looked_at"] < rows["left"] else ""
    lines.append(f"{rows['total']:,} rows: {rows['done']:,} are done, {rows['left']:,} are left{drawn}")
    lines += _table("What these may take", "at least", "at most", report["estimate"])
    if report["a_row_took"] is not None:
        took = (f"{n:,.4g} {_SHOWN[name]}" for name, n in report["a_row_took"].items() if n is not None)
        lines += ["", f"A row of the journal took {', '.join(took)}"]
    said = "without retries and provider prompt caches; what replies are taken for: docs/guides/costs.md"
    lines += ["", f"Tokens are counted by {report['counted_by']}, {said}"]
    if report["not_counted"]:
        lines.append(f"These detectors call a model as well and are not counted: {', '.join(report['not_counted'])}")
    return "\n".join(lines)


def _table(title: str, low: str, high: str, figures: dict[str, Any]) -> list[str]:
    lines = ["", title, f"  {'':<12}{low:>16}{high:>16}"]
    for name, shown in _SHOWN.items():
        pair = figures[name]
        if pair is None:
            lines.append(f"  {shown:<12}{'unknown':>16}{'unknown':>16}  (--price IN,OUT or --price FILE)")
        elif name == "cost_usd":
            lines.append(f"  {shown:<12}{pair[0]:>16,.4f}{pair[1]:>16,.4f}")
        else:
            lines.append(f"  {shown:<12}{pair[0]:>16,.0f}{pair[1]:>16,.0f}")
    return lines


def exchange(opened: Batch, parts: Parts, settings: Settings, offline: OfflineFlags) -> None:
    """Writes the requests of the rows that are missing and ends the command, or reads replies in and lets it go on."""
    from eirene.agent.batch.offline import SamplingStep, export_requests, import_replies

    export, replies = offline.export_requests, offline.import_replies or []
    if export is not None and replies:
        raise InputError("give --export-requests or --import-replies, not both", field="import-replies")
    step = SamplingStep(parts, settings)
    if export is None:
        _tell(import_replies(replies, _items(opened), step))
        return
    done = export_requests(_items(opened), step, export, one_reply=offline.one_reply)
    names = ", ".join(str(path) for path in done.files)
    say(f"wrote {done.requests:,} requests for {done.rows:,} rows to {names}; {opened.n_done:,} rows were done before")
    raise typer.Exit  # an exception, so that a journal that was made for this alone goes again


def _items(opened: Batch) -> Iterator[Item]:
    return (work.item for work in opened.work())


def _tell(found: Imported) -> None:
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
