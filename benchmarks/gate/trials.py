"""Trials: one rewrite of one subject in one setting, run through the loop with a refiner that returns just that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from gate.attack import Harm, gain_stands
from gate.drafts import Draft, Pool, Subject
from gate.kinds import ATTACKS
from gate.wordings import Wordings

from eirene.agent.backends import resolve_backend
from eirene.agent.loop import Loop
from eirene.agent.settings import Settings
from eirene.core.critique import Sample, Tag
from eirene.core.records import Item, Record
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.refiners.base import RefineTask


@dataclass(frozen=True)
class Setting:
    """How an attack is tried: on which rows, with or without what the answer lacks, what is given, what is asked.

    `given`: whether arguments or passages stay. `asked`: the embedded critique ("found"), none ("improve"), only that
    something is missing ("generic": with passages the embedded critic seldom says so, and then no rewrite is asked
    for), or a critique that names what is missing ("told"). `unmeasured`: `when_gain_unmeasured`, None for the default.
    """

    name: str
    pools: tuple[Pool, ...]
    with_gain: bool
    given: bool = True
    asked: str = "found"
    unmeasured: str | None = None


SETTINGS = {
    s.name: s
    for s in (
        Setting("alone", ("clean", "user"), with_gain=False),
        Setting("gain, clean", ("clean", "user"), with_gain=True),
        Setting("gain, had foreign", ("foreign",), with_gain=True),
        Setting("gain, passages", ("qa",), with_gain=True, asked="generic"),
        Setting("nothing given", ("clean", "qa", "user"), True, given=False, asked="improve", unmeasured="accept"),
        Setting("nothing given, critique", ("clean", "qa"), True, given=False, asked="told", unmeasured="accept"),
        Setting("nothing given, default", ("clean", "qa", "user"), True, given=False, asked="improve"),
    )
}
CONTROL = "(control) the gain alone"


@dataclass(frozen=True)
class Trial:
    """What became of one rewrite. `gain`: whether what was added stands; None where it was not put in intact."""

    kind: str
    setting: str
    row: str
    status: str
    survives: bool
    gain: bool | None
    why: str


class GivenRewrite:
    """A refiner that returns the text that was put into it, and counts its calls."""

    name = "given"

    def __init__(self) -> None:
        self.text, self.calls = "", 0

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        """The text."""
        self.calls += 1
        return self.text


class GivenCritique:
    """A feedback model whose every sample names the same sentence as incomplete, for the same reason."""

    name = "given"

    def __init__(self) -> None:
        self.sentence, self.reason = 0, ""

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """The samples."""
        n = len(request.sentences)
        at = min(self.sentence, n - 1)
        tags: tuple[Tag, ...] = tuple("Incomplete" if k == at else "Complete" for k in range(n))
        reasons = tuple(self.reason if k == at else None for k in range(n))
        for _ in range(count):
            yield Sample(tags=tags, reasons=reasons)


class Bench:
    """The loops of all settings, around the embedded backend with its refiner (and critic) exchanged."""

    def __init__(self, wordings: Wordings, seed: int) -> None:
        self.say, self.seed = wordings, seed
        self.refiner, self.critique = GivenRewrite(), GivenCritique()
        self._loops: dict[tuple[str, str | None], Loop] = {}
        self._events = asyncio.new_event_loop()  # one for all: to set one up costs more than a trial

    def _loop(self, setting: Setting) -> Loop:
        key = (setting.asked, setting.unmeasured)
        if key not in self._loops:
            parts = replace(resolve_backend("embedded"), refiner=self.refiner)
            values: dict[str, Any] = {"max_rounds": 1}
            if setting.asked in ("improve", "generic"):
                values["mode"] = setting.asked
            if setting.asked == "told":
                parts = replace(parts, feedback_model=self.critique)
                values["samples"] = 3
            if setting.unmeasured is not None:
                values["when_gain_unmeasured"] = setting.unmeasured
            self._loops[key] = Loop(parts, Settings.of(**values))
        return self._loops[key]

    def run(self, item: Item, rewrite: str, setting: Setting, subject: Subject) -> Record:
        """The record of the item with this rewrite."""
        self.refiner.text, calls = rewrite, self.refiner.calls
        if subject.gain is not None:
            self.critique.sentence = subject.gain.after
            self.critique.reason = f"It does not say that {subject.gain.core}."
        if not setting.given:
            item = item.model_copy(update={"perspectives": None, "context": None})
        record = self._events.run_until_complete(self._loop(setting).arun(item))
        if self.refiner.calls == calls:
            # The critic found nothing: the gate is what is measured, and so it is asked all the same.
            again = replace(setting, asked="generic")
            record = self._events.run_until_complete(self._loop(again).arun(item))
        return record

    def harm(self, kind: str, draft: Draft) -> Harm | None:
        """The rewrite of a kind: the same choices for a row with and without what it lacks."""
        rng = Random(f"{self.seed}:{kind}:{draft.subject.id}")
        return ATTACKS[kind].make(draft, self.say, rng)

    def attacked(self, kind: str, setting: Setting, subject: Subject) -> tuple[Trial, Record, Harm] | None:
        """One trial; None where the row gives no hold for the kind, or has nothing to gain where that is wanted."""
        draft = subject.draft(with_gain=setting.with_gain)
        if setting.with_gain and not draft.has_gain:
            return None
        harm = self.harm(kind, draft)
        if harm is None:
            return None
        record = self.run(harm.item or subject.item, harm.text, setting, subject)
        intact = draft.has_gain and all(p.text in harm.text for p in draft.pieces if p.is_gain)
        trial = Trial(
            kind, setting.name, subject.id, record.status,
            survives=record.status == "accepted" and harm.stands(record.answer),
            gain=gain_stands(draft, record.answer) if intact else None,
            why=record.why,
        )  # fmt: skip
        return trial, record, harm

    def control(self, setting: Setting, subject: Subject) -> Trial | None:
        """The gain alone: whether it passes."""
        draft = subject.draft(with_gain=True)
        if not draft.has_gain:
            return None
        record = self.run(subject.item, draft.text, setting, subject)
        stands = record.status == "accepted" and gain_stands(draft, record.answer)
        return Trial(CONTROL, setting.name, subject.id, record.status, False, stands, record.why)
