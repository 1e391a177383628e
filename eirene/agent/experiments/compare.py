"""Comparison of modes: runs every mode on every item, a journal row each; `compare_summary` makes the figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from eirene.agent.batch.rows import RowJournal, RowKind
from eirene.agent.batch.runner import raise_permanent
from eirene.agent.critics import critique_from_notes
from eirene.agent.detectors.cache import CachedDetector, cached
from eirene.agent.experiments.compare_rows import (
    CompareJob,
    CompareRow,
    JudgedText,
    jobs_for,
    judged_case,
    text_key,
)
from eirene.agent.run import arefine, make_settings
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import PERMANENT_ERRORS, BackendError, InputError
from eirene.core.grounding import grounding_for
from eirene.core.logs import get_logger
from eirene.core.records import MODES, Item, Mode
from eirene.core.scores import Unscored
from eirene.core.signature import check_seed, derive_seed
from eirene.core.tracing import root_span
from eirene.core.usage import Meter
from eirene.data.output import make_folder
from eirene.eval.base import Detector, case_of
from eirene.eval.detectors.judge import ErrorJudge
from eirene.models.limits import DEFAULT_CONCURRENCY
from eirene.text.sentences import split_sentences

logger = get_logger(__name__)

ROWS, JUDGEMENTS = "rows.jsonl", "judgements.jsonl"

OnRow = Callable[[CompareRow], None]
OnJudged = Callable[[JudgedText], None]


@dataclass(frozen=True, slots=True)
class ComparePlan:
    """What is to be compared: modes, seeds, and how each row is made.

    `concurrency` bounds the calls under way of a chat model (give it the same one) and, with it, the rows in memory.
    `retry_failed` does rows and judgements again whose model failed.
    """

    modes: Sequence[Mode]
    seeds: Sequence[int] = (0,)
    settings: Settings = field(default_factory=Settings)
    concurrency: int = DEFAULT_CONCURRENCY
    retry_failed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", make_settings(self.settings, {}))

    def check(self, items: Sequence[Item]) -> None:
        """Raises `InputError` for what cannot be compared, before anything is spent."""
        unknown = [mode for mode in self.modes if mode not in MODES]
        if unknown or not self.modes:
            what = f"unknown mode {unknown[0]!r}" if unknown else "no mode named"
            raise InputError(f"{what}; known: {', '.join(MODES)}", field="modes")
        for name, values in (("mode", self.modes), ("seed", self.seeds)):
            twice = [v for v in values if list(values).count(v) > 1]
            if twice:
                raise InputError(f"the {name} {twice[0]!r} is named twice", field=f"{name}s")
        if not self.seeds:
            raise InputError("give at least one seed", field="seeds")
        for seed in self.seeds:
            check_seed(seed)
        for mode in self.modes:  # not every mode goes with every critic
            Settings.of(**{**self.settings.model_dump(), "mode": mode})
        if self.concurrency < 1:
            raise InputError(f"concurrency must be at least 1, got {self.concurrency}", field="concurrency")
        if not items:
            raise InputError("there is no item to compare on")
        if "human" in self.modes:
            for item in items:
                try:
                    critique_from_notes(item, split_sentences(item.answer))
                except InputError as error:
                    raise InputError(str(error), field=error.field, where=f"row {item.id!r}") from None


@dataclass(frozen=True, slots=True)
class Gathered:
    """The rows in the order of the plan and the judgements by text, from disk or new.

    `n_from_journal`: rows that were there before; `n_left_out`: rows in the journal that this plan does not ask for.
    `judge` is the judge's version, None where there was none.
    """

    rows: tuple[CompareRow, ...]
    judgements: dict[tuple[str, str], JudgedText]
    n_from_journal: int
    n_left_out: int
    judge: str | None = None


async def acompare(
    items: Sequence[Item],
    *,
    plan: ComparePlan,
    parts: Parts,
    out: str | Path,
    judge: ErrorJudge | None = None,
    on_row: OnRow | None = None,
    on_judged: OnJudged | None = None,
) -> Gathered:
    """Makes the rows that the folder `out` does not have yet, and has their texts judged where there is a judge.

    The folder is made where there is none.

    Each row is on disk before `on_row` hears of it; a rerun after any end does only what is missing. A row whose model
    fails is a `failed` row. Raises `InputError` for a folder whose rows were made otherwise or that another run holds,
    `AuthError` and `QuotaError` from the models.
    """
    plan.check(items)
    folder = make_folder(out)
    parts = replace(parts, detectors=tuple(cached(d) for d in parts.detectors))
    jobs = {job.key: job for job in jobs_for(items, parts, plan.settings, modes=plan.modes, seeds=plan.seeds)}
    kind = RowKind(
        model=CompareRow, name="rows of a comparison", is_failed=lambda row: row.record.status == "failed",
        fault=lambda row: _fault(row, jobs.get(row.key)), place="folder",
    )  # fmt: skip
    with ExitStack() as stack:
        rows = stack.enter_context(RowJournal(folder / ROWS, kind))
        texts = None if judge is None else stack.enter_context(RowJournal(folder / JUDGEMENTS, _JUDGED))

        async def make(_: str, job: CompareJob) -> CompareRow:
            return await _row(job, parts)

        made = await rows.make(
            jobs.items(), make, concurrency=_workers(parts, plan), retry_failed=plan.retry_failed, on_row=on_row
        )
        judgements: dict[tuple[str, str], JudgedText] = {}
        if judge is not None and texts is not None:
            judgements = await _judged(items, made.rows, judge=judge, journal=texts, plan=plan, on_judged=on_judged)
    return Gathered(
        made.rows, judgements, made.n_from_journal, made.n_left_out, None if judge is None else judge.version
    )


def _workers(parts: Parts, plan: ComparePlan) -> int:
    """How many rows are under way: more than calls, so that rows that compute leave no call's place empty.

    The embedded parts only compute. Side by side they are no faster, and each row's seconds would be those of all.
    """
    return 1 if parts.backend == "embedded" else 2 * plan.concurrency


async def _row(job: CompareJob, parts: Parts) -> CompareRow:
    await _score_original(job.item, parts.detectors)
    record = await arefine(job.item, backend=parts, settings=job.settings)
    raise_permanent(record)
    return CompareRow(
        id=job.item.id,
        mode=job.settings.mode,
        seed=job.settings.seed,
        hash=job.hash,
        given=grounding_for(job.item).source,
        record=record,
    )


async def _score_original(item: Item, detectors: Sequence[Detector]) -> None:
    """Scores what all modes have in common before any of them is timed: the first would pay for the others.

    A detector that fails here fails in the row as well, and is heard of there.
    """
    given = grounding_for(item)
    if given.source == "derived":
        return  # each mode's critique gives another case
    for detector in detectors:
        if isinstance(detector, CachedDetector):
            with suppress(BackendError):
                await detector.score(case_of(item, given=given), meter=Meter())


def _fault(row: CompareRow, job: CompareJob | None) -> str | None:
    """Why a row cannot stand for the job of its key."""
    if job is None or row.hash == job.hash:
        return None
    settings = f"other settings: {row.record.signature}, now {job.signature}"
    why = settings if row.record.signature != job.signature else "another input, or other models"
    return f"has the row {row.id!r} in mode {row.mode} with seed {row.seed}, made from {why}"


_JUDGED = RowKind(
    model=JudgedText, name="judgements of a comparison", is_failed=lambda judged: judged.failed, place="folder"
)


async def _judged(
    items: Sequence[Item],
    rows: Sequence[CompareRow],
    *,
    judge: ErrorJudge,
    journal: RowJournal[JudgedText],
    plan: ComparePlan,
    on_judged: OnJudged | None,
) -> dict[tuple[str, str], JudgedText]:
    """What the judge says of each text, by item and text: an original is judged once for all modes and seeds."""
    by_id = {item.id: item for item in items}
    texts = dict.fromkeys((row.id, text) for row in rows for text in (row.record.original, row.record.answer))
    keys = {(name, text): text_key(by_id[name], text, judge.version) for name, text in texts}

    async def make(key: str, text: tuple[str, str]) -> JudgedText:
        return await _judge(key, by_id[text[0]], text[1], judge)

    made = await journal.make(
        ((keys[text], text) for text in texts), make, concurrency=2 * plan.concurrency, retry_failed=plan.retry_failed,
        on_row=on_judged,
    )  # fmt: skip
    return dict(zip(texts, made.rows, strict=True))


async def _judge(key: str, item: Item, text: str, judge: ErrorJudge) -> JudgedText:
    meter = Meter()
    failed = False
    try:
        with root_span("judge", lambda: {"eirene.item.id": item.id}):
            found = await judge.judge(judged_case(item, text), seed=derive_seed(0, item.id, "judge"), meter=meter)
    except PERMANENT_ERRORS:
        raise
    except BackendError as error:
        logger.warning("the judge failed on %s: %s", item.id, error)
        failed, found = True, Unscored(unscored=f"{error.kind}: {error}")
    return JudgedText(key=key, id=item.id, judge=judge.version, judgement=found, failed=failed, usage=meter.total)


__all__ = ["JUDGEMENTS", "ROWS", "ComparePlan", "Gathered", "OnJudged", "OnRow", "acompare"]
