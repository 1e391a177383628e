"""Many rows from Python: refined (`batch`), refined by several modes (`compare`), scored (`score`), checked (`check`).

What each needs is imported where it is used: to score takes no loop, whose packages take a second to load.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from eirene.core.concurrency import run_blocking
from eirene.core.display import Printed
from eirene.core.errors import InputError
from eirene.core.loop_settings import MODES, Mode
from eirene.core.records import Item, parse_item
from eirene.core.scores import Scores
from eirene.core.validation import described
from eirene.data import Dataset, open_dataset
from eirene.data.dataset import HeldRows

if TYPE_CHECKING:
    from eirene.agent.backends import Backend, BackendOptions
    from eirene.agent.batch.control import Limits
    from eirene.agent.batch.engine import OnRow
    from eirene.agent.batch.journal import BatchStatus
    from eirene.agent.run import SettingKeywords, SettingsLike
    from eirene.agent.state import Parts
    from eirene.core.quality import QualityReport
    from eirene.eval.base import Detector
    from eirene.eval.resources import Resources
    from eirene.models.limits import Limiter

RowLike = Item | Mapping[str, Any]
Data = str | Dataset | RowLike | Iterable[RowLike]
"""A file or data set by its name, as the commands take it, or as `eirene.data.open_dataset` opens it (with `columns`
and `skip_bad`), or the rows themselves; one by itself is one row."""
GRACE_S = 60.0
"""Seconds for rows under way when a limit is reached."""


class AnswerScores(Printed, list[dict[str, Scores]]):
    """The scores of each row's answer, by detector; a list that prints as lines."""

    width = 10_000


class Comparison(Printed, dict[str, Any]):
    """The figures of a comparison, JSON values; `print` shows the verdict and the tables."""


def dataset_of(data: Data) -> Dataset:
    """The rows that `data` names or holds. Raises `InputError` for what is neither."""
    if isinstance(data, Dataset):
        return data
    if isinstance(data, str):
        return open_dataset(data)
    if not isinstance(data, Iterable):
        raise InputError(f"data must be the name of a file or rows, got {described(data)}", field="data")
    rows = [data] if isinstance(data, Item | Mapping) else data
    return Dataset(HeldRows([parse_item(row, where=f"data, row {n}") for n, row in enumerate(rows, start=1)]))


def batch(
    data: Data,
    *,
    out: str | Path,
    backend: Backend = "embedded",
    settings: SettingsLike | None = None,
    base_url: str | None = None,
    backend_options: BackendOptions | Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    retry_failed: bool = False,
    replace_changed: bool = False,
    replace_damaged: bool = False,
    on_row: OnRow | None = None,
    **options: Unpack[SettingKeywords],
) -> BatchStatus:
    """Refines every row of a data set that the journal `out` lacks, as `eirene batch` does; returns what it has then.

    Each record is on disk before `on_row` is told of it: the same call after any end goes on from there. `backend`,
    `settings`, `base_url`, `backend_options` and the settings themselves are those of `eirene.refine`; the calls under
    way are at most `backend_options.concurrency`. `limits` ends a run at a cost, a number of tokens or a deadline.
    Raises `InputError` for rows that cannot be used and for a journal that was made otherwise or is in use,
    `AuthError` and `QuotaError` from the model. A row whose model fails is `failed`, and `retry_failed` does it again;
    `replace_changed` and `replace_damaged` do rows again that were made otherwise, and lines that cannot be read.

    Examples:
        >>> import eirene, tempfile
        >>> rows = [{"question": "Is homework useful?", "answer": "It depends."}]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     eirene.batch(rows, out=f"{folder}/refined.jsonl", samples=4).totals.statuses["not_checked"]
        1
    """
    from eirene.agent.batch.control import Control
    from eirene.agent.batch.engine import Again, open_batch, run_batch
    from eirene.agent.batch.journal import read_status
    from eirene.agent.batch.runner import LocalRunner
    from eirene.agent.record import RowHash
    from eirene.agent.run import make_backend_options, make_settings

    told, reached = make_settings(settings, options), make_backend_options(backend_options, base_url)
    parts, limiter = _limited(backend, reached)
    hashes, again = RowHash(parts, told), Again(retry_failed, replace_changed, replace_damaged)
    with open_batch(dataset_of(data), out=out, hashes=hashes, settings=told, again=again) as opened:

        async def work() -> None:
            runner = LocalRunner(parts, told, limiter=limiter)
            await run_batch(opened, runner, limits=limits, control=Control(grace_s=GRACE_S), on_row=on_row)

        if opened.n_left:
            run_blocking(work, name="eirene-batch")
        else:
            opened.tidy()
    return read_status(out)


def compare(
    data: Data,
    *,
    out: str | Path,
    modes: Sequence[Mode] = MODES[:3],
    seeds: Sequence[int] = (0,),
    backend: Backend = "embedded",
    settings: SettingsLike | None = None,
    base_url: str | None = None,
    backend_options: BackendOptions | Mapping[str, Any] | None = None,
    **options: Unpack[SettingKeywords],
) -> Comparison:
    """Refines the rows in every mode and with every seed, and compares them, as `eirene compare` does.

    The folder `out` keeps the rows: the same call after any end does only what is missing. Returns the figures
    (`per_mode`, `pairs`, ...), JSON values; see docs/guides/compare.md. Raises as `batch` does.
    """
    from eirene.agent.experiments.compare import ComparePlan, acompare
    from eirene.agent.experiments.compare_summary import summarise
    from eirene.agent.run import make_backend_options, make_settings

    told, reached = make_settings(settings, options), make_backend_options(backend_options, base_url)
    parts, _ = _limited(backend, reached)
    plan = ComparePlan(modes, seeds, told, reached.concurrency)
    items = dataset_of(data).read()
    made = run_blocking(lambda: acompare(items, plan=plan, parts=parts, out=out), name="eirene-compare")
    return Comparison(summarise(made.rows, made.judgements))


def score(
    data: Data, *, detectors: str | Sequence[str] | None = None, resources: Resources | None = None
) -> AnswerScores:
    """The scores of each row's answer by each detector's name, in the rows' order; rewrites nothing.

    By default `rouge`, and `verifier` for passages, `alignment` for perspectives. `resources` (of
    `eirene.eval.resources`) has the models that some detectors need, such as
    `Resources(judge_model="openai:gpt-4o-mini")`. A score that a detector cannot give is `Unscored`, with the reason.
    Raises `InputError` for rows and names that cannot be used.

    Examples:
        >>> import eirene
        >>> rows = [{"question": "Trams?", "answer": "Trams are quiet.", "context": "Trams are quiet."}]
        >>> eirene.score(rows, detectors="rouge")[0]["rouge"].hallucination
        0.0
    """
    from eirene.eval.resources import Resources
    from eirene.eval.scoring import USUAL, Scorer, in_order, workers_for

    given = Resources() if resources is None else resources
    built = _built(USUAL if detectors is None else detectors, given)
    items = dataset_of(data).read()
    scorer, workers = Scorer(built, usual=detectors is None), workers_for(built, given.concurrency)

    async def work() -> AnswerScores:
        rows = in_order(items, scorer.score_item, workers=workers)
        return AnswerScores([{name: one.scores for name, one in found.items()} async for _, found in rows])

    return run_blocking(work, name="eirene-score")


def check(
    data: Data,
    *,
    fail_if: str | Sequence[str] = (),
    baseline: str | None = None,
    write_baseline: str | None = None,
    tolerance: float = 0.2,
    detectors: str | Sequence[str] | None = None,
    resources: Resources | None = None,
    force: bool = False,
) -> QualityReport:
    """Measures answers, compares them with a baseline and judges conditions, as `eirene check` does.

    The report's `state` is `passed`, `holds` (of a condition of `fail_if`) or `unmeasured` (one cannot be judged). A
    baseline is written if none holds, over a file that is there with `force`. `resources` is that of `score`; with a
    judge and no `detectors` the judge reads passages where the verifier is unsure. See docs/guides/ci.md.
    Raises `InputError` for rows, names, conditions and a baseline that cannot be used.

    Examples:
        >>> import eirene
        >>> rows = [{"question": "Trams?", "answer": "Trams are loud.", "context": "Trams are quiet."}]
        >>> eirene.check(rows, fail_if="contradicted > 0").state
        'holds'
    """
    from eirene.agent.check.baseline import baseline_text, read_baseline
    from eirene.agent.check.report import make_report, parse_conditions
    from eirene.agent.check.rows import RowMeasure, check_ids, measure_rows
    from eirene.data.output import check_output, write_text
    from eirene.eval.detectors.token_judge import cascade_of
    from eirene.eval.resources import Resources

    given = Resources() if resources is None else resources
    if write_baseline is not None:
        check_output(write_baseline, force=force)
    measure = RowMeasure(judge=cascade_of(given)) if detectors is None else RowMeasure(_built(detectors, given))
    conditions = [fail_if] if isinstance(fail_if, str) else fail_if
    wanted = parse_conditions(conditions, measure.detectors, has_baseline=baseline is not None)
    before = None if baseline is None else read_baseline(baseline, measure.versions)
    items = dataset_of(data).read()
    if baseline is not None or write_baseline is not None:
        check_ids(items)
    rows = run_blocking(lambda: measure_rows(items, measure, concurrency=given.concurrency), name="eirene-check")
    report = make_report(
        rows, wanted, detectors=measure.detectors, versions=measure.versions, baseline=before, tolerance=tolerance
    )
    if write_baseline is not None and report.state == "passed":
        write_text(write_baseline, baseline_text(rows, measure.versions), force=force)
        return replace(report, notes=(*report.notes, f"wrote a baseline of {len(rows)} answers to {write_baseline}"))
    return report


def _built(names: str | Sequence[str], resources: Resources) -> tuple[Detector, ...]:
    from eirene.eval.registry import build_detectors, parse_names

    return build_detectors(parse_names(names if isinstance(names, str) else ",".join(names)), resources)


def _limited(backend: Backend, options: BackendOptions) -> tuple[Parts, Limiter | None]:
    """The parts, and the limiter of their calls; None where they only compute."""
    from eirene.agent.backends import resolve_backend
    from eirene.models.limits import Limiter

    limiter = options.limiter or Limiter(options.concurrency, adaptive=True)
    parts = resolve_backend(backend, replace(options, limiter=limiter))
    return parts, None if parts.backend == "embedded" else limiter
