"""Comparison of modes: runs every mode on every item, a journal row each, and has the texts judged.

`compare_summary` makes the figures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from eirene.agent.batch.rows import RowJournal, RowKind
from eirene.agent.batch.runner import raise_permanent
from eirene.agent.critics import critique_from_notes
from eirene.agent.detectors import CachedDetector, cached
from eirene.agent.record import row_hash, run_signature
from eirene.agent.run import arefine, make_settings
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import PERMANENT_ERRORS, BackendError, InputError
from eirene.core.grounding import Source, grounding_for
from eirene.core.logs import get_logger
from eirene.core.records import MODES, Item, Mode, Record
from eirene.core.scores import Unscored
from eirene.core.signature import check_seed, derive_seed, digest, settings_changed
from eirene.core.tracing import root_span
from eirene.core.usage import Meter, Usage
from eirene.core.validation import FrozenModel
from eirene.data.output import make_folder
from eirene.eval.base import Case, case_of
from eirene.eval.detectors.judge import ErrorJudge, Judgement
from eirene.models.limits import DEFAULT_CONCURRENCY
from eirene.prompts.history import history_key
from eirene.text.sentences import split_sentences

logger = get_logger(__name__)

ROWS, JUDGEMENTS = "rows.jsonl", "judgements.jsonl"


class CompareRow(FrozenModel):
    """One line of `rows.jsonl`. `hash` stands for everything that the record hangs on.

    `given` says what the answers were compared with: scores against what was `derived` from a critique do not compare
    between modes, whose critiques differ.
    """

    id: str
    mode: Mode
    seed: int
    hash: str
    given: Source
    record: Record

    @property
    def key(self) -> str:
        """What makes the row one of its kind."""
        return _row_key(self.id, self.mode, self.seed)

    @property
    def pair(self) -> tuple[str, int]:
        """What two modes' rows must share to be compared."""
        return self.id, self.seed


def _row_key(item_id: str, mode: str, seed: int) -> str:
    """Item, mode and seed as JSON, so that no id can pass for another."""
    return json.dumps([item_id, mode, seed], ensure_ascii=False)


class JudgedText(FrozenModel):
    """One line of `judgements.jsonl`: what the judge said of one text. `failed`: the model could not be reached."""

    key: str
    id: str
    judge: str
    judgement: Judgement | Unscored
    failed: bool = False
    usage: Usage


OnRow = Callable[[CompareRow], None]
OnJudged = Callable[[JudgedText], None]


@dataclass(frozen=True, slots=True)
class _Job:
    item: Item
    settings: Settings
    hash: str
    signature: str

    @property
    def key(self) -> str:
        return _row_key(self.item.id, self.settings.mode, self.settings.seed)

    def fault(self, row: CompareRow) -> str | None:
        """Why a row of this key cannot stand for the job; None where it can."""
        if row.hash == self.hash:
            return None
        settings = f"other settings: {settings_changed(row.record.signature, self.signature)}"
        why = settings if row.record.signature != self.signature else "another input, or other models"
        return f"has the row {row.id!r} in mode {row.mode} with seed {row.seed}, made from {why}"


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

    def jobs(self, items: Sequence[Item], parts: Parts) -> dict[str, _Job]:
        """Every row wanted by its key, all modes and seeds of an item together: what they share is then at hand."""
        jobs = []
        for item in items:
            for mode in self.modes:
                for seed in self.seeds:
                    own = Settings.of(**{**self.settings.model_dump(), "mode": mode, "seed": seed})
                    jobs.append(_Job(item, own, row_hash(item, parts, own), run_signature(parts, own, item)))
        return {job.key: job for job in jobs}


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

    The folder is made where there is none. Each row is on disk before `on_row` hears of it; a rerun after any end does
    only what is missing. A row whose model fails is a `failed` row. Raises `InputError` for a folder whose rows were
    made otherwise or that another run holds, `AuthError` and `QuotaError` from the models.
    """
    plan.check(items)
    if parts.backend == "embedded":
        _warn_of_idle(plan.modes, items)
    folder = make_folder(out)
    parts = replace(parts, detectors=tuple(cached(d) for d in parts.detectors))
    jobs = plan.jobs(items, parts)
    kind = RowKind(
        model=CompareRow, name="rows of a comparison", is_failed=lambda row: row.record.status == "failed",
        fault=lambda row: jobs[row.key].fault(row) if row.key in jobs else None, place="folder",
    )  # fmt: skip

    async def make(_: str, job: _Job) -> CompareRow:
        return await _row(job, parts)

    # The embedded parts only compute: side by side they are no faster, and each row's seconds would be those of all.
    # Elsewhere more rows are under way than calls, so that rows that compute leave no call's place empty.
    workers = 1 if parts.backend == "embedded" else 2 * plan.concurrency
    with ExitStack() as stack:
        rows = stack.enter_context(RowJournal(folder / ROWS, kind))
        # Opened before the first row is paid for: it may be a file of somebody else's.
        judged = None if judge is None else stack.enter_context(RowJournal(folder / JUDGEMENTS, _JUDGED))
        made = await rows.make(jobs.items(), make, concurrency=workers, retry_failed=plan.retry_failed, on_row=on_row)
        judgements: dict[tuple[str, str], JudgedText] = {}
        if judge is not None and judged is not None:
            judgements = await _judged(items, made.rows, judge=judge, journal=judged, plan=plan, on_judged=on_judged)
    return Gathered(
        made.rows, judgements, made.n_from_journal, made.n_left_out, None if judge is None else judge.version
    )


_JUDGED = RowKind(
    model=JudgedText, name="judgements of a comparison", is_failed=lambda judged: judged.failed, place="folder"
)


def _warn_of_idle(modes: Sequence[Mode], items: Sequence[Item]) -> None:
    """Says before the work in which modes the embedded refiner is told nothing that it could do (see there)."""
    has_sides = any(item.perspectives for item in items)
    idle = [mode for mode in modes if mode == "improve" or (mode == "generic" and not has_sides)]
    if idle:
        what = f"hardly anything in mode {' and '.join(idle)}" + ("" if has_sides else " without given arguments")
        logger.warning("the embedded backend rewrites %s: leave them out, or take a model as the backend", what)


async def _row(job: _Job, parts: Parts) -> CompareRow:
    given = grounding_for(job.item)
    # What all modes have in common is scored before any of them is timed: the first would pay for the others. A
    # detector that fails here fails in the row as well. Against a critique each mode's answer is another case.
    for detector in parts.detectors if given.source != "derived" else ():
        if isinstance(detector, CachedDetector):
            with suppress(BackendError):
                await detector.score(case_of(job.item, given=given), meter=Meter())
    record = await arefine(job.item, backend=parts, settings=job.settings)
    raise_permanent(record)
    return CompareRow(
        id=job.item.id, mode=job.settings.mode, seed=job.settings.seed, hash=job.hash, given=given.source,
        record=record,
    )  # fmt: skip


async def _judged(
    items: Sequence[Item], rows: Sequence[CompareRow], *, judge: ErrorJudge, journal: RowJournal[JudgedText],
    plan: ComparePlan, on_judged: OnJudged | None,
) -> dict[tuple[str, str], JudgedText]:  # fmt: skip
    """What the judge says of each text, by item and text: an original is judged once for all modes and seeds."""
    by_id = {item.id: item for item in items}
    texts = dict.fromkeys((row.id, text) for row in rows for text in (row.record.original, row.record.answer))
    shown = [(_shown(by_id[name], text), name) for name, text in texts]

    async def make(key: str, asked: tuple[Case, str]) -> JudgedText:
        return await _judge(key, asked[1], asked[0], judge)

    made = await journal.make(
        [(_text_key(case, judge.version), (case, name)) for case, name in shown], make,
        concurrency=2 * plan.concurrency, retry_failed=plan.retry_failed, on_row=on_judged,
    )  # fmt: skip
    return dict(zip(texts, made.rows, strict=True))


def _shown(item: Item, answer: str) -> Case:
    return Case(item.question, answer, grounding_for(item), history=tuple(item.history or ()))


def _text_key(case: Case, judge: str) -> str:
    """The key of a text's judgement: the judge, and everything that it is shown."""
    groups = [[g.name, *g.arguments] for g in case.given.groups] if case.given.source != "derived" else []
    return digest([judge, case.question, groups, case.answer, *history_key(case.history)])[:16]


async def _judge(key: str, item_id: str, case: Case, judge: ErrorJudge) -> JudgedText:
    meter, failed = Meter(), False
    try:
        with root_span("judge", lambda: {"eirene.item.id": item_id}):
            found = await judge.judge(case, seed=derive_seed(0, item_id, "judge"), meter=meter)
    except PERMANENT_ERRORS:
        raise
    except BackendError as error:
        logger.warning("the judge failed on %s: %s", item_id, error)
        failed, found = True, Unscored(unscored=f"{error.kind}: {error}")
    return JudgedText(key=key, id=item_id, judge=judge.version, judgement=found, failed=failed, usage=meter.total)
