"""Tries: how a round's rewrites are drawn, and drawn again where nothing new came.

The first are drawn in the form that the settings name (`patch`, `sentences` or `whole`), one alone at temperature 0.
After a rewrite that was turned down others are drawn, at another temperature; after one that changed nothing, in
another form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from eirene.agent.attempt import Attempt
from eirene.agent.settings import Settings
from eirene.agent.state import Parts, State, best_text
from eirene.core.loop_settings import RewriteForm
from eirene.core.records import CRITIQUED_MODES, PATCHED_MODES, Drawn
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.gate import unusable
from eirene.refiners.base import DrawnText, Refiner, RefineTask


@dataclass(frozen=True)
class Tries:
    """The rewrites of one round."""

    parts: Parts
    refiner: Refiner
    settings: Settings
    meter: Meter

    async def attempts(self, task: RefineTask, state: State) -> list[Attempt]:
        """The rewrites to be tried, at least one. One that says nothing new is drawn again, once.

        In the modes without a critique a text that comes back unchanged says that nothing is to be bettered: to draw
        again would only press for it.
        """
        task = self._drawing(task, state)
        found = await self.refiner.refine(task, meter=self.meter)
        if isinstance(found, str):
            return [Attempt(candidate=found, unusable=_against(found, task))]
        first = _attempts(found, task)
        is_content = task.mode not in CRITIQUED_MODES and any(_is_unchanged(a, task) for a in first)
        if is_content or any(a.scorable is not None for a in first):
            return _usable_first(first)
        again = replace(
            task,
            seed=derive_seed(task.seed, "again"),
            temperature=self.settings.retry_temperature,
            form=_other(found[0].form, task) if _brought_nothing(first, task) else found[0].form,
        )
        second = await self.refiner.refine(again, meter=self.meter)
        more = [] if isinstance(second, str) else _attempts(second, again)
        return _usable_first([*first, *more])

    def _drawing(self, task: RefineTask, state: State) -> RefineTask:
        """The task with what a model is told of its drawing."""
        form, count = form_of(self.parts, self.settings), self.settings.candidates or self.parts.candidates
        temperature = self.settings.rewrite_temperature if count > 1 else 0.0
        if task.rejections:
            temperature = self.settings.retry_temperature
            last = state["rounds"][-1]
            drawn = last.get("drawn")
            is_unchanged = (last["candidate"] or "").strip() == best_text(state).strip()
            if drawn and (is_unchanged or (drawn["form"] != "whole" and not drawn.get("changes"))):
                form = _other(drawn["form"], task)
        return replace(task, form=form, count=count, temperature=temperature)


def _attempts(drafts: Sequence[DrawnText], task: RefineTask) -> list[Attempt]:
    """The drafts as attempts, each text once; why one is not worth scoring."""
    from eirene.agent.composing import with_what_stays  # where a language model rewrites

    found: list[Attempt] = []
    for n, draft in enumerate((with_what_stays(draft, task) for draft in drafts), start=1):
        drawn = Drawn(
            form=draft.form, n=n, of=len(drafts), seed=draft.seed, temperature=task.temperature,
            changes=draft.changes, refused=draft.refused,
        )  # fmt: skip
        why = draft.unusable or _against(draft.text, task)
        same = next((a for a in found if (a.candidate or "").strip() == draft.text.strip()), None)
        if why is None and same is not None and same.drawn is not None:
            why = f"the same as number {same.drawn.n}"
        if why is not None and draft.refused and not draft.changes:
            why = f"{why}: {'; '.join(draft.refused)}"
        found.append(Attempt(candidate=draft.text, unusable=why, drawn=drawn))
    return found


def _usable_first(attempts: list[Attempt]) -> list[Attempt]:
    """Those that can be scored, or the first; it tells of the others."""
    usable = [a for a in attempts if a.scorable is not None] or attempts[:1]
    others = [a for a in attempts if all(a is not other for other in usable)]
    return [usable[0].passing_over(others), *usable[1:]]


def _against(text: str, task: RefineTask) -> str | None:
    """Why a text is no new rewrite."""
    rejected = [r.candidate for r in task.rejections]
    return unusable(text, answer=task.item.answer, best=task.answer, rejected=rejected)


def _is_unchanged(attempt: Attempt, task: RefineTask) -> bool:
    """Whether a model found nothing to change."""
    is_refused = attempt.drawn is not None and bool(attempt.drawn.refused)
    return (attempt.candidate or "").strip() == task.answer.strip() and not is_refused


def _brought_nothing(attempts: Sequence[Attempt], task: RefineTask) -> bool:
    """Whether no draft changed anything, or none could be read."""
    rejected = {r.candidate.strip() for r in task.rejections}
    return all((a.candidate or "").strip() not in rejected for a in attempts)


def form_of(parts: Parts, settings: Settings) -> RewriteForm:
    """The form in which rewrites are drawn first."""
    if settings.mode not in PATCHED_MODES:
        return "whole"
    return parts.rewrite if settings.rewrite == "auto" else settings.rewrite


def _other(form: RewriteForm, task: RefineTask) -> RewriteForm:
    return "whole" if form == "patch" or task.mode not in PATCHED_MODES else "patch"
