"""Runs a critic over annotated answers: its findings, and what its edits gain; a row each, on disk as it comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from eirene.agent.critics import chosen_critique, critics_of
from eirene.agent.experiments.feedback import evaluation_signature
from eirene.agent.experiments.rows import RowKind, make_rows
from eirene.agent.run import Asked, make_settings
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.critique import Finding, Sample
from eirene.core.errors import PERMANENT_ERRORS, EireneError
from eirene.core.findings.edits import apply_findings
from eirene.core.scores import Unscored
from eirene.core.signature import derive_seed, digest
from eirene.core.usage import Meter, Usage
from eirene.core.validation import CheckedModel
from eirene.eval.base import Detector, case_of
from eirene.eval.datasets.predictions import Prediction, findings_of
from eirene.eval.metrics import Annotated, Found
from eirene.eval.scoring import Scorer, in_order
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.sampling import draw_samples


class CriticRow(CheckedModel):
    """What a critic found in one answer; `findings` is null where there is no usable critique, and `why` says so."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    id: str
    findings: tuple[Finding, ...] | None
    why: str | None = None
    failed: bool = False
    usage: Usage = Usage()


OnRow = Callable[[CriticRow], None]

_KIND = RowKind(model=CriticRow, name="rows of a critic", is_failed=lambda row: row.failed)


async def arun_critic(
    cases: Sequence[Annotated],
    parts: Parts,
    *,
    settings: Asked | None = None,
    journal: str | Path | None = None,
    concurrency: int = 8,
    retry_failed: bool = False,
    on_row: OnRow | None = None,
) -> list[CriticRow]:
    """A row for each case, in order: critiques are drawn and voted on as in a run.

    With `journal`, rows are on disk as they come, and a rerun does what is missing. Raises what every case would meet
    (no access, no credit), and `InputError` for a journal that holds something else.
    """
    settings = make_settings(settings, {})
    line = f"{evaluation_signature(parts, settings)}|critic:{settings.critic}|{parts.hallucination_version or ''}"

    async def make(key: str, case: Annotated) -> CriticRow:
        return await _criticise(key, case, parts, settings)

    made = await make_rows(
        [(_key(case, line), case) for case in cases], make, kind=_KIND, journal=journal, concurrency=concurrency,
        retry_failed=retry_failed, on_row=on_row,
    )  # fmt: skip
    return list(made.rows)


async def _criticise(key: str, case: Annotated, parts: Parts, settings: Settings) -> CriticRow:
    item, meter = case.item, Meter()
    samples: list[Sample] = []
    early_stop = False
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
    except PERMANENT_ERRORS:
        raise
    except EireneError as error:
        why = f"{error.kind}: {error}"
        return CriticRow(key=key, id=item.id, findings=None, why=why, failed=True, usage=meter.total)
    chosen = chosen_critique(samples, case.sentences, settings=settings, early_stop=early_stop)
    found = None if chosen.critique is None else findings_of(chosen.critique)
    return CriticRow(key=key, id=item.id, findings=found, why=chosen.abstained, usage=meter.total)


async def ameasure_gain(found: Sequence[Found], detectors: Sequence[Detector]) -> list[Found]:
    """The same with each detector's error score of the answer less that of the answer after its findings' edits."""
    scorer = Scorer(detectors)

    async def one(one: Found) -> Mapping[str, float | None]:
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
    return [Found(f.case, f.findings, f.unscored, gain) for f, gain in zip(found, gains, strict=True)]


def found_by(cases: Sequence[Annotated], made: Sequence[CriticRow | Prediction]) -> list[Found]:
    """Rows of a critic, or predictions of a file, beside the cases that they are of."""
    return [
        Found(case, one.findings, one.why if isinstance(one, CriticRow) else one.unscored)
        for case, one in zip(cases, made, strict=True)
    ]


def _less(before: float | Unscored, after: float | Unscored) -> float | None:
    if isinstance(before, Unscored) or isinstance(after, Unscored):
        return None
    return before - after


def _key(case: Annotated, line: str) -> str:
    cut = [[s.start, s.end] for s in case.sentences]
    return digest([case.item.model_dump(mode="json"), cut, line])[:24]


def lines_of(found: Sequence[Found]) -> list[dict[str, Any]]:
    """What was found and what was marked, an object for each answer: for looking at single cases."""
    return [
        {
            "id": f.case.item.id,
            "marked": [g.model_dump(mode="json") for g in f.case.findings],
            "findings": None if f.findings is None else [g.model_dump(mode="json") for g in f.findings],
        }
        for f in found
    ]
