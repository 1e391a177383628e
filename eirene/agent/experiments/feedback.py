"""Runs a feedback model over labelled answers: a row each, on disk as it comes; `eirene.eval` makes figures of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from eirene.agent.experiments.rows import MadeRows, RowKind, make_rows
from eirene.agent.run import Asked, make_settings
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import PERMANENT_ERRORS, BackendError
from eirene.core.signature import derive_seed, digest, signature
from eirene.core.usage import Meter
from eirene.eval.datasets.feedback import FeedbackCase
from eirene.eval.metrics.feedback_rows import FeedbackRow, scored_row
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.sampling import draw_samples
from eirene.feedback_model.vote import select

OnRow = Callable[[FeedbackRow], None]


async def aevaluate_feedback(
    cases: Sequence[FeedbackCase],
    parts: Parts,
    *,
    settings: Asked | None = None,
    journal: str | Path | None = None,
    concurrency: int = 8,
    retry_failed: bool = False,
    on_row: OnRow | None = None,
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
    return await make_rows(
        [(case_key(case, line), case) for case in cases], make, kind=kind, journal=journal, concurrency=concurrency,
        retry_failed=retry_failed, on_row=on_row,
    )  # fmt: skip


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
    )
    if chosen.critique is None:
        n_valid = sum(s.is_valid for s in drawn.samples)
        why = chosen.abstained or "no critique"
        return unscored("abstained", why, n_drawn=len(drawn.samples), n_valid=n_valid)
    return scored_row(case, drawn.samples, chosen.critique, key=key, signature=line, usage=meter.total)
