"""Evaluates a critic over labelled answers: its critiques, its findings, and what its edits gain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import ConfigDict

from eirene.agent.batch.rows import MadeRows, RowJournal, RowKind
from eirene.agent.critics import chosen_critique, critics_of
from eirene.agent.run import SettingsLike, make_settings
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.critique import Finding, Sample
from eirene.core.errors import PERMANENT_ERRORS, BackendError, EireneError
from eirene.core.findings.edits import apply_findings
from eirene.core.scores import Unscored
from eirene.core.signature import derive_seed, digest, signature
from eirene.core.usage import Meter, Usage
from eirene.core.validation import CheckedModel
from eirene.eval.base import Detector, case_of
from eirene.eval.datasets.annotated import Annotated
from eirene.eval.datasets.base import FeedbackCase
from eirene.eval.datasets.predictions import Prediction, findings_of
from eirene.eval.metrics.feedback import FeedbackRow, scored_row
from eirene.eval.metrics.findings import CaseFindings
from eirene.eval.scoring import Scorer, in_order
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.sampling import draw_samples
from eirene.feedback_model.vote import select


class CriticRow(CheckedModel):
    """What a critic found in one answer; `findings` is null where there is no usable critique, and `why` says so."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    id: str
    findings: tuple[Finding, ...] | None
    why: str | None = None
    failed: bool = False
    usage: Usage = Usage()


OnCriticRow = Callable[[CriticRow], None]

_CRITIC_ROWS = RowKind(model=CriticRow, name="rows of a critic", is_failed=lambda row: row.failed)


async def arun_critic(
    cases: Sequence[Annotated],
    parts: Parts,
    *,
    settings: SettingsLike | None = None,
    journal: str | Path | None = None,
    concurrency: int = 8,
    retry_failed: bool = False,
    on_row: OnCriticRow | None = None,
) -> list[CriticRow]:
    """A row for each case, in order: critiques are drawn and voted on as in a run.

    With `journal`, rows are on disk as they come, and a rerun does what is missing. Raises what every case would meet
    (no access, no credit), and `InputError` for a journal that holds something else.
    """
    settings = make_settings(settings, {})
    line = f"{evaluation_signature(parts, settings)}|critic:{settings.critic}|{parts.hallucination_version or ''}"

    async def make(key: str, case: Annotated) -> CriticRow:
        return await _criticise(key, case, parts, settings)

    keyed = [(_critic_key(case, line), case) for case in cases]
    with RowJournal(journal, _CRITIC_ROWS) as rows:
        made = await rows.make(keyed, make, concurrency=concurrency, retry_failed=retry_failed, on_row=on_row)
    return list(made.rows)


async def _criticise(key: str, case: Annotated, parts: Parts, settings: Settings) -> CriticRow:
    item, meter = case.item, Meter()
    samples: list[Sample] = []
    early_stop, stop = False, None
    try:
        for kind, critic in critics_of(parts, settings):  # seeds and stops as in a run of the loop
            is_first = kind == "completeness"
            seed = derive_seed(settings.seed, item.id, "feedback" if is_first else kind, 1)
            drawn = await draw_samples(
                critic, FeedbackRequest(item, item.answer, case.sentences, seed), n=settings.samples,
                stop=settings.stop if is_first else "none", meter=meter, min_consistency=settings.min_consistency,
            )  # fmt: skip
            samples += drawn.samples
            early_stop = early_stop or drawn.early_stop
            stop = drawn.stop if is_first else stop
    except PERMANENT_ERRORS:
        raise
    except EireneError as error:
        why = f"{error.kind}: {error}"
        return CriticRow(key=key, id=item.id, findings=None, why=why, failed=True, usage=meter.total)
    chosen = chosen_critique(samples, case.sentences, settings=settings, early_stop=early_stop, stop=stop)
    found = None if chosen.critique is None else findings_of(chosen.critique)
    return CriticRow(key=key, id=item.id, findings=found, why=chosen.abstained, usage=meter.total)


async def ameasure_gain(found: Sequence[CaseFindings], detectors: Sequence[Detector]) -> list[CaseFindings]:
    """The same with each detector's error score of the answer less that of the answer after its findings' edits."""
    scorer = Scorer(detectors)

    async def one(one: CaseFindings) -> Mapping[str, float | None]:
        if one.findings is None:
            return {}
        answer = one.case.item.answer
        edited = apply_findings(answer, one.findings).text
        if edited == answer:
            return {d.name: 0.0 for d in detectors}
        before = await scorer.score(case_of(one.case.item))
        after = await scorer.score(case_of(one.case.item, answer=edited))
        return {name: _less(before[name].scores.hallucination, after[name].scores.hallucination) for name in before}

    gains = [gain async for _, gain in in_order(found, one, workers=4)]
    return [CaseFindings(f.case, f.findings, f.unscored, gain) for f, gain in zip(found, gains, strict=True)]


def found_by(cases: Sequence[Annotated], made: Sequence[CriticRow | Prediction]) -> list[CaseFindings]:
    """Rows of a critic, or predictions of a file, beside the cases that they are of."""
    return [
        CaseFindings(case, one.findings, one.why if isinstance(one, CriticRow) else one.unscored)
        for case, one in zip(cases, made, strict=True)
    ]


def _less(before: float | Unscored, after: float | Unscored) -> float | None:
    if isinstance(before, Unscored) or isinstance(after, Unscored):
        return None
    return before - after


def _critic_key(case: Annotated, line: str) -> str:
    cut = [[s.start, s.end] for s in case.sentences]
    return digest([case.item.model_dump(mode="json"), cut, line])[:24]


OnFeedbackRow = Callable[[FeedbackRow], None]


async def aevaluate_feedback(
    cases: Sequence[FeedbackCase],
    parts: Parts,
    *,
    settings: SettingsLike | None = None,
    journal: str | Path | None = None,
    concurrency: int = 8,
    retry_failed: bool = False,
    on_row: OnFeedbackRow | None = None,
) -> MadeRows[FeedbackRow]:
    """Draws, selects and compares with what is true, for every case.

    Of the settings, `samples`, `stop`, `min_consistency` and `seed` count. A case whose model fails is a `failed` row.
    With `journal`, each row is on disk before the next is begun in its place, and a rerun does what is missing (and
    what failed, with `retry_failed`). Raises `InputError` for a journal of other settings or data, `AuthError` and
    `QuotaError` from the model.
    """
    settings = make_settings(settings, {})
    line = evaluation_signature(parts, settings)

    async def make(key: str, case: FeedbackCase) -> FeedbackRow:
        return await _evaluate(case, parts, settings, key=key, line=line)

    def fault(row: FeedbackRow) -> str | None:
        return None if row.signature == line else f"was made with other settings ({row.signature}), now it is {line}"

    kind = RowKind(
        model=FeedbackRow, name="rows of an evaluation", is_failed=lambda row: row.status == "failed", fault=fault
    )
    keyed = [(case_key(case, line), case) for case in cases]
    with RowJournal(journal, kind) as rows:
        return await rows.make(keyed, make, concurrency=concurrency, retry_failed=retry_failed, on_row=on_row)


def evaluation_signature(parts: Parts, settings: Settings) -> str:
    """The settings that made a row, as one line."""
    from eirene._version import __version__

    return signature(
        n=settings.samples,
        select="tag+reason",
        stop=settings.stop,
        min=settings.min_consistency or None,
        backend=parts.backend,
        critic=parts.feedback_model.name if parts.feedback_model.name != parts.backend else None,
        model=parts.version,
        seed=settings.seed,
        v=__version__,
    )


def case_key(case: FeedbackCase, line: str) -> str:
    """A hash of everything that a row hangs on: the item, its cut, its labels and the signature."""
    cut = [[s.start, s.end] for s in case.sentences]
    labels = [case.lacks, list(case.tags or ()), list(case.reasons)]
    return digest([case.item.model_dump(mode="json"), cut, labels, line])[:16]


async def _evaluate(case: FeedbackCase, parts: Parts, settings: Settings, *, key: str, line: str) -> FeedbackRow:
    seed = derive_seed(settings.seed, case.item.id, "feedback", 1)
    request = FeedbackRequest(case.item, case.item.answer, case.sentences, seed)
    meter = Meter()

    def unscored(status: str, why: str, *, n_drawn: int = 0, n_valid: int = 0) -> FeedbackRow:
        return FeedbackRow.model_validate(
            {"id": case.item.id, "key": key, "signature": line, "n_sentences": len(case.sentences), "gold": case.tags,
             "lacks": case.lacks, "status": status, "why": why, "n_drawn": n_drawn, "n_valid": n_valid,
             "usage": meter.total.model_dump()}
        )  # fmt: skip

    try:
        drawn = await draw_samples(
            parts.feedback_model,
            request,
            n=settings.samples,
            stop=settings.stop,
            meter=meter,
            min_consistency=settings.min_consistency,
        )
    except PERMANENT_ERRORS:
        raise
    except BackendError as error:
        return unscored("failed", f"{error.kind}: {error}")
    chosen = select(
        drawn.samples,
        case.sentences,
        n_requested=settings.samples,
        min_consistency=settings.min_consistency,
        early_stop=drawn.early_stop,
        stop=drawn.stop,
    )
    if chosen.critique is None:
        n_valid = sum(s.is_valid for s in drawn.samples)
        why = chosen.abstained or "no critique"
        return unscored("abstained", why, n_drawn=len(drawn.samples), n_valid=n_valid)
    return scored_row(case, drawn.samples, chosen.critique, key=key, signature=line, usage=meter.total)
