"""The record of a run: its rounds, its signature, and the row hash that a resume looks up."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any, cast

from eirene.agent.critics import readout_of
from eirene.agent.ending import FAILED, failed_with
from eirene.agent.evidence import verified_by
from eirene.agent.findings import with_findings
from eirene.agent.settings import Settings
from eirene.agent.state import Parts, State, load_scores
from eirene.agent.thinking import with_thinking
from eirene.agent.tries import form_of
from eirene.core.errors import InputError
from eirene.core.records import (
    VOTED_MODES,
    BeforeAfter,
    ErrorInfo,
    Item,
    Record,
    Round,
    Status,
    found_ids,
)
from eirene.core.signature import canonical, signature
from eirene.core.usage import Usage
from eirene.gate.checks.registry import CHECKS, VERSION
from eirene.prompts.history import history_version
from eirene.text.unicode import mend_surrogates


def make_record(state: State, *, parts: Parts, settings: Settings) -> Record:
    """The output row of a finished state; raises `InputError` for one that still waits for a person's review."""
    if not state.get("status"):
        raise InputError(
            "the run has not ended: it waits for a review; go on with Command(resume={'action': 'go on'})"
            if "__interrupt__" in state
            else "the run has not ended: its state has no status"
        )
    item = Item.model_validate(state["item"])
    status = state["status"]
    accepted = status == "accepted"
    original_scores = state.get("original_scores", {})
    error, shown = state.get("error"), state.get("best", item.answer) if accepted else item.answer
    verified = None if status == "failed" else verified_by(item, shown, parts)
    claims = () if verified is None else verified.claims
    record = Record(
        id=item.id,
        question=item.question,
        history=None if item.history is None else tuple(item.history),
        original=item.answer,
        answer=shown,
        status=cast(Status, status),
        why=state.get("why", ""),
        mode=settings.mode,
        backend=parts.backend,
        seed=state["seed"],
        signature=run_signature(parts, settings, item),
        rounds=tuple(Round.model_validate(r) for r in state.get("rounds") or []),
        scores=BeforeAfter(
            original=load_scores(original_scores),
            final=load_scores(state.get("best_scores", {}) if accepted else original_scores),
        ),
        usage=Usage.model_validate(state.get("usage") or {}),
        passages=found_ids(item),
        advisory=tuple(d.name for d in parts.detectors if d.name in parts.advisory),
        verdicts=dict(Counter(claim.verdict for claim in claims)),
        unclear=tuple(claim.text for claim in claims if claim.verdict == "unclear"),
        unsaid=() if verified is None else verified.unsaid,
        error=None if error is None else ErrorInfo.model_validate(error),
    )
    return with_thinking(record, state.get("whole") or item.answer)


_SELECTS = {"completeness": "tag+reason", "hallucination": "findings", "both": "tag+reason+findings"}


def run_signature(parts: Parts, settings: Settings, item: Item | None = None) -> str:
    """The settings that made a record, as one line.

    With an item that has a history, also how prompts show one; the line of all others says nothing of it.
    """
    from eirene._version import __version__

    parts = with_findings(parts, settings)
    votes = settings.mode in VOTED_MODES
    finds = votes and settings.critic != "completeness"
    return signature(
        mode=settings.mode,
        critic=settings.critic if finds else None,
        removal=settings.removal if settings.mode == "edit" and settings.removal != "remove" else None,
        n=settings.samples if votes else None,
        select=_SELECTS[settings.critic] if votes else None,
        readout="probabilities" if votes and readout_of(parts, settings) == "probabilities" else None,
        evidence=settings.evidence if parts.shows_evidence else None,
        stop=settings.stop if votes else None,
        min=settings.min_consistency if votes and settings.min_consistency else None,
        rounds=settings.max_rounds,
        patience=settings.patience,
        after=settings.after_accept,
        gate=f"{settings.gate_risk:g}/{settings.tolerance:g}/{settings.min_gain:g}/{settings.when_gain_unmeasured}",
        checks=_checks(parts, settings),
        rewrite=_drawing(parts, settings),
        judge=f"{settings.judge_risk:g}" if parts.pairwise is not None else None,
        detectors="+".join(f"({d.name})" if d.name in parts.advisory else d.name for d in parts.detectors),
        backend=parts.backend,
        model=parts.version,
        history=history_version() if item is not None and item.history else None,
        seed=settings.seed,
        v=__version__,
    )


def _drawing(parts: Parts, settings: Settings) -> str | None:
    """How rewrites are drawn: form, how many at once, temperatures; None where no model draws any."""
    if settings.mode == "edit" or not getattr(parts.refiner, "draws", False):
        return None
    count = settings.candidates or parts.candidates
    first = settings.rewrite_temperature if count > 1 else 0.0
    return f"{form_of(parts, settings)}/{count}/{first:g}/{settings.retry_temperature:g}"


def _checks(parts: Parts, settings: Settings) -> str | None:
    """The checks of the gate: the version of those that ship, else their names; with the verifier that they ask.

    None where there are none.
    """
    if not parts.checks:
        return None
    named = str(VERSION) if parts.checks is CHECKS else "+".join(check.name for check in parts.checks)
    if parts.verifier is not None:
        from eirene.gate.comparison import shipped_fit

        calibration = parts.gate_calibration or shipped_fit().calibration
        named += f"+verifier={parts.verifier.digest}+comparison={calibration.digest}"
    return named if settings.partial == "undo" else f"{named}/{settings.partial}"


def record_outcome(record: Record) -> dict[str, Any]:
    """A record without its rounds: what came out, why, and what it cost."""
    return record.model_dump(
        mode="json", include={"id", "status", "why", "original", "mode", "scores", "advisory", "usage", "error"}
    )


def row_hash(item: Item, parts: Parts, settings: Settings) -> str:
    """16 hex digits for the item, every setting, the models and prompts: the same ones are the same piece of work."""
    return RowHash(parts, settings).of(item)


class RowHash:
    """`row_hash` for many items: what they have in common is looked at once."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self.signature = run_signature(parts, settings)
        names = [parts.feedback_model.name, parts.refiner.name]
        self.common = [settings.model_dump(mode="json"), self.signature, *names]
        self._rest = canonical(self.common).removeprefix("[")

    def of(self, item: Item) -> str:
        """The item's hash."""
        shown = f"{canonical(history_version())}," if item.history else ""
        text = f"[{canonical(item.model_dump(mode='json'))},{shown}{self._rest}"  # the list of the item and the rest
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def failed_record(item: Item, error: Exception, *, parts: Parts, settings: Settings) -> Record:
    """The record of an item that could not be run, and the error, whatever it is."""
    kind, message = type(error).__name__, mend_surrogates(str(error)) or "no message"
    failed = {**failed_with(kind, message), "why": f"{FAILED}: {kind}: {message}"}
    state = {"item": item.model_dump(mode="json"), "seed": settings.seed, **failed}
    return make_record(cast(State, state), parts=parts, settings=settings)
