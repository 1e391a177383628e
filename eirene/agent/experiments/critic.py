"""Evaluates a critic over labelled answers: its critiques and its findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eirene.agent.batch.rows import MadeRows, RowJournal, RowKind
from eirene.agent.critics import chosen_critique, criticise, critics_of, readout_of
from eirene.agent.evidence import first_request
from eirene.agent.run import SettingsLike, make_settings
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.critique import Critique, Finding, Sample, findings_in
from eirene.core.errors import PERMANENT_ERRORS, EireneError, FormError, InputError
from eirene.core.findings.tagged_reply import findings_in_reply
from eirene.core.signature import digest, settings_changed, signature
from eirene.core.usage import Meter, Usage
from eirene.core.validation import FrozenModel
from eirene.data import open_source
from eirene.data.json_rows import Row
from eirene.eval.datasets.annotated import Annotated
from eirene.eval.datasets.base import FeedbackCase
from eirene.eval.metrics.feedback import FeedbackRow, scored_row
from eirene.eval.metrics.findings import CaseFindings
from eirene.feedback_model.vote import VoteResult


class CriticRow(FrozenModel):
    """What a critic found in one answer; `findings` is null where there is no usable critique, and `why` says so."""

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
        meter = Meter()
        drawn = await _criticised(case, parts, settings, meter)
        if isinstance(drawn, str):
            return CriticRow(key=key, id=case.item.id, findings=None, why=drawn, failed=True, usage=meter.total)
        _, chosen = drawn
        found = None if chosen.critique is None else findings_of(chosen.critique)
        return CriticRow(key=key, id=case.item.id, findings=found, why=chosen.abstained, usage=meter.total)

    keyed = [(_key(case, line), case) for case in cases]
    with RowJournal(journal, _CRITIC_ROWS) as rows:
        made = await rows.make(keyed, make, concurrency=concurrency, retry_failed=retry_failed, on_row=on_row)
    return list(made.rows)


async def _criticised(
    case: Annotated | FeedbackCase, parts: Parts, settings: Settings, meter: Meter
) -> tuple[list[Sample], VoteResult] | str:
    """The samples of the critics that the settings ask, and their vote; or why a critic failed."""
    item, samples = case.item, list[Sample]()
    early_stop, stop = False, None
    try:
        for kind, critic in critics_of(parts, settings):  # seeds and stops as in a run of the loop
            is_first = kind == "completeness"
            request = first_request(kind, item, parts, settings, sentences=case.sentences)
            drawn = await criticise(kind, critic, request, settings, parts=parts, meter=meter)
            samples += drawn.samples
            early_stop = early_stop or drawn.early_stop
            stop = drawn.stop if is_first else stop
    except PERMANENT_ERRORS:
        raise
    except EireneError as error:
        return f"{error.kind}: {error}"
    return samples, chosen_critique(
        samples, case.sentences, parts=parts, settings=settings, early_stop=early_stop, stop=stop
    )


def _key(case: Annotated | FeedbackCase, line: str, *labels: object) -> str:
    """A hash of everything that a row hangs on: the item, its cut, its labels and the signature."""
    cut = [[s.start, s.end] for s in case.sentences]
    return digest([case.item.model_dump(mode="json"), cut, list(labels), line])[:24]


def found_by(cases: Sequence[Annotated], made: Sequence[CriticRow | Prediction]) -> list[CaseFindings]:
    """Rows of a critic, or predictions of a file, beside the cases that they are of."""
    return [
        CaseFindings(case, one.findings, one.why if isinstance(one, CriticRow) else one.unscored)
        for case, one in zip(cases, made, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Prediction:
    """The findings of one answer, or why there are none to count; `unplaced`: some whose words are not in it."""

    findings: tuple[Finding, ...] | None
    unscored: str | None = None
    unplaced: int = 0


def findings_of(critique: Critique) -> tuple[Finding, ...]:
    """The findings of a critique; a sentence tagged Incomplete for a reason alone is one of kind `completeness`."""
    found: list[Finding] = []
    for s in critique.sentences:
        found += s.findings
        if s.tag == "Incomplete" and not s.findings:
            found.append(Finding(kind="completeness", start=s.start, end=s.end, reason=s.reason or "incomplete"))
    return tuple(dict.fromkeys(found))


def read_predictions(path: str, cases: Sequence[Annotated]) -> list[Prediction]:
    """A prediction for each case, in order, from rows with the cases' ids, or without any id in the cases' order.

    A row has `tagged` (or `annotated`), a list of `findings`, a `critique`, or is a record, whose first critique
    counts. A tagged text is laid over the answer word by word; one of another text is unscored, and so is a case
    without a row. Raises `InputError` for a row that fits no case, two of one id, and findings that do not lie in their
    answer.
    """
    rows = list(open_source(path).rows())
    by_id = {case.item.id: case for case in cases}
    named = [isinstance(row.data, dict) and "id" in row.data for row in rows]
    if rows and not any(named):
        if len(rows) != len(cases):
            raise InputError(f"{len(rows)} rows without ids for {len(cases)} answers; give rows ids", where=path)
        return [_prediction(row, case) for row, case in zip(rows, cases, strict=True)]
    found: dict[str, Prediction] = {}
    for row in rows:
        data: Mapping[str, Any] = row.data if isinstance(row.data, dict) else {}
        name = str(data.get("id"))
        if name not in by_id:
            raise InputError(f"no answer of the data has the id {name!r}", field="id", where=row.where)
        if name in found:
            raise InputError(f"the id {name!r} occurs twice", field="id", where=row.where)
        found[name] = _prediction(row, by_id[name])
    return [found.get(case.item.id, Prediction(None, "no prediction with its id")) for case in cases]


def _prediction(row: Row, case: Annotated) -> Prediction:
    data: Mapping[str, Any] = row.data if isinstance(row.data, dict) else {}
    tagged = data.get("tagged", data.get("annotated"))
    if isinstance(tagged, str):
        reply = findings_in_reply(tagged, case.item.answer)
        if reply.no_copy is not None:
            return Prediction(None, reply.no_copy, unplaced=reply.unplaced)
        return Prediction(reply.findings, unplaced=reply.unplaced)
    try:
        if "findings" in data:
            return Prediction(_inside(findings_in(data["findings"]), case))
        critique = data["critique"] if "critique" in data else _first_critique(data)
        if critique is None:
            return Prediction(None, str(data.get("why") or "no critique"))
        return Prediction(_inside(findings_of(Critique.model_validate(critique)), case))
    except (KeyError, TypeError, FormError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"is no prediction: it needs 'tagged', 'findings', 'critique' or 'rounds' ({said})", where=row.where
        ) from None
    except ValueError as error:
        raise InputError(str(error), where=row.where) from None


def _first_critique(record: Mapping[str, Any]) -> Any:
    """The critique of the original; None in a record that abstained or failed before there was one."""
    rounds = record["rounds"]
    return rounds[0]["critique"] if rounds else None


def _inside(findings: Iterable[Finding], case: Annotated) -> tuple[Finding, ...]:
    found = tuple(findings)
    if any(not f.start <= f.end <= len(case.item.answer) for f in found):
        raise ValueError("a finding does not lie within the answer of its id")
    return found


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
    """Draws, selects and compares with what is true, for every case, as `arun_critic` does for the critic of
    completeness.

    Of the settings, `samples`, `stop`, `min_consistency` and `seed` count. A case whose model fails is a `failed` row.
    One journal may hold the rows of several seeds. Raises `InputError` for a journal of other settings or data,
    `AuthError` and `QuotaError` from the model.
    """
    settings = make_settings(settings, {}).model_copy(update={"critic": "completeness"})
    line = evaluation_signature(parts, settings)

    async def make(key: str, case: FeedbackCase) -> FeedbackRow:
        meter = Meter()
        drawn = await _criticised(case, parts, settings, meter)
        samples, chosen = ([], None) if isinstance(drawn, str) else drawn
        if chosen is not None and chosen.critique is not None:
            return scored_row(case, samples, chosen.critique, key=key, signature=line, usage=meter.total)
        status, why = ("failed", drawn) if chosen is None else ("abstained", chosen.abstained or "no critique")
        return FeedbackRow.model_validate(
            {"id": case.item.id, "key": key, "signature": line, "n_sentences": len(case.sentences), "gold": case.tags,
             "lacks": case.lacks, "status": status, "why": why, "n_drawn": len(samples),
             "n_valid": sum(s.is_valid for s in samples), "usage": meter.total.model_dump()}
        )  # fmt: skip

    def fault(row: FeedbackRow) -> str | None:
        changed = settings_changed(re.sub(r"(?<=\|seed:)\d+", str(settings.seed), row.signature), line)
        return f"was made with other settings: {changed}" if changed else None

    kind = RowKind(
        model=FeedbackRow, name="rows of an evaluation", is_failed=lambda row: row.status == "failed", fault=fault
    )
    keyed = [(_key(case, line, case.lacks, list(case.tags or ()), list(case.reasons)), case) for case in cases]
    with RowJournal(journal, kind) as rows:
        return await rows.make(keyed, make, concurrency=concurrency, retry_failed=retry_failed, on_row=on_row)


def evaluation_signature(parts: Parts, settings: Settings) -> str:
    """The settings that made a row, as one line."""
    from eirene._version import __version__

    return signature(
        n=settings.samples,
        select="probabilities" if readout_of(parts, settings) == "probabilities" else "tag+reason",
        stop=settings.stop,
        evidence=settings.evidence,
        min=settings.min_consistency or None,
        backend=parts.backend,
        critic=parts.feedback_model.name if parts.feedback_model.name != parts.backend else None,
        model=parts.version,
        seed=settings.seed,
        v=__version__,
    )
