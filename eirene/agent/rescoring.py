"""Rescoring: the scores of a rewrite, of the original and of the best text so far, and the pairwise judge."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from eirene.agent.attempt import Attempt
from eirene.agent.findings import detectors_for
from eirene.agent.settings import Settings
from eirene.agent.state import Json, Parts, State, best_text, dump_scores, item_of, load_critique, load_scores
from eirene.core.grounding import Grounding, grounding_for
from eirene.core.records import Item
from eirene.core.scores import PairJudgement, Scores, number
from eirene.core.signature import derive_seed
from eirene.core.tracing import span
from eirene.core.usage import Meter
from eirene.eval.base import Detector, Pair, case_of
from eirene.eval.scoring import Scorer
from eirene.gate.verdict import harm_by_scores


@dataclass(frozen=True)
class Rescoring:
    """The scoring of one attempt; what it costs goes on `meter`."""

    parts: Parts
    settings: Settings
    state: State
    meter: Meter

    @cached_property
    def attempt(self) -> Attempt:
        """The attempt before it is scored."""
        return Attempt.of(self.state)

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to compare: a rewrite, or what was given."""
        return self._given.source != "derived" or self.attempt.scorable is not None

    @cached_property
    def detectors(self) -> Sequence[Detector]:
        """The detectors to be run."""
        return detectors_for(self.parts, rewritten=self.attempt.scorable is not None)

    @cached_property
    def _item(self) -> Item:
        return item_of(self.state)

    @cached_property
    def _best(self) -> str:
        return best_text(self.state)

    @cached_property
    def _given(self) -> Grounding:
        return grounding_for(self._item, load_critique(self.state))

    async def changes(self) -> Json:
        """What the scores change in the state."""
        original, best, candidate = self._item.answer, self._best, self.attempt.scorable
        known: dict[str, dict[str, Scores]] = {}
        if self._given.source != "derived":  # derived groups change with the critique, and with them every score
            known = {original: load_scores(self.state.get("original_scores", {}))}
            known[best] = load_scores(self.state.get("best_scores", {})) or known[original]
        wanted = [original, best] + ([] if candidate is None else [candidate])
        missing = {t: [d for d in self.detectors if d.name not in known.get(t, {})] for t in wanted}
        found = await self._score(missing)
        known = {text: known.get(text, {}) | found.get(text, {}) for text in wanted}
        attempt = self.attempt.scored(
            {} if candidate is None else known[candidate], gain_measurable=self._gain_measurable(known[best])
        )
        attempt = await self._compared(attempt, self.parts.deciding(known[best]))
        scored = {"original_scores": dump_scores(known[original]), "best_scores": dump_scores(known[best])}
        return {**scored, **attempt.in_state()}

    async def _compared(self, attempt: Attempt, before: Mapping[str, Scores]) -> Attempt:
        """The attempt with the scores of the best text without its errors, where the rewrite seems to do harm (only
        then it matters whether what is missing now was said by anything else), and with the judgement on it.
        """
        rest = await self._without_errors(attempt, before)
        return attempt.compared(rest, await self._judgement(attempt, before, rest))

    async def _without_errors(self, attempt: Attempt, before: Mapping[str, Scores]) -> dict[str, Scores]:
        text = attempt.without_errors
        if text is None or not attempt.scores:
            return {}
        if harm_by_scores(before, attempt.scores, settings=self.settings, mended=attempt.mended) is None:
            return {}
        asked = [d for d in self.parts.detectors if d.name in before and before[d.name].arguments]
        return (await self._score({text: asked}, other="without errors")).get(text, {})

    async def _judgement(
        self, attempt: Attempt, before: Mapping[str, Scores], without_errors: Mapping[str, Scores]
    ) -> PairJudgement | None:
        """The pairwise judge's where nothing was given, no other judge measures, and no score shows harm, which costs
        no call; None where it is not asked.
        """
        parts, settings, item, candidate, after = (
            self.parts, self.settings, self._item, attempt.scorable, attempt.scores,
        )  # fmt: skip
        if parts.pairwise is None or not settings.judge_risk or candidate is None:
            return None
        if item.perspectives or item.context:
            return None
        if any(number(after[name].hallucination) is not None for name in parts.judges & after.keys()):
            return None
        harm = harm_by_scores(before, after, settings=settings, mended=attempt.mended, without_errors=without_errors)
        if harm is not None:
            return None
        seed = derive_seed(self.state["seed"], item.id, "pairwise", self.state.get("round", 1))
        pair = Pair(item.question, self._best, candidate, tuple(item.history or ()))
        with span("detector pairwise", shown_as="EVALUATOR") as found:
            judged = await parts.pairwise.compare(pair, seed=seed, meter=self.meter)
            if found is not None:
                better = number(judged.better)
                found.set({} if better is None else {"eirene.pairwise.better": better})
        return judged

    async def _score(
        self, wanted: Mapping[str, Sequence[Detector]], *, other: str = "candidate"
    ) -> dict[str, dict[str, Scores]]:
        """The scores of each text by its detectors, side by side; one that fails leaves its scores unscored, and the
        gate is told so. Traces call a text that is neither original nor best `other`.
        """
        names = {self._best: "best", self._item.answer: "original"}
        texts = [text for text, detectors in wanted.items() if detectors]
        cases = (case_of(self._item, answer=text, given=self._given) for text in texts)
        shared: dict[tuple[str, ...], Scorer] = {}  # what one text has shown to be hopeless is not asked for another
        scorers = (shared.setdefault(tuple(d.name for d in wanted[t]), Scorer(wanted[t])) for t in texts)
        labels = (names.get(text, other) for text in texts)
        found = await asyncio.gather(
            *(s.score(case, label=label) for s, case, label in zip(scorers, cases, labels, strict=True))
        )
        for outcome in (outcome for by_name in found for outcome in by_name.values()):
            self.meter.add(outcome.usage.model_copy(update={"seconds": 0.0}))  # the node's own seconds hold them
        return {t: {name: o.scores for name, o in by_name.items()} for t, by_name in zip(texts, found, strict=True)}

    def _gain_measurable(self, scores: Mapping[str, Scores]) -> bool:
        if self._given.source != "derived" or any(group.name == "asked" for group in self._given.groups):
            return True
        return any(name in self.parts.judges for name in scores)
