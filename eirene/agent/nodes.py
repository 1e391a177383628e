"""The five nodes of the graph. Each reads the state, does one step, and returns what it changes.

A step that fails ends the run with status `failed`; what was found until then stays in the state, and so in the record.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, cast

from langgraph.config import get_stream_writer
from langgraph.errors import GraphBubbleUp

from eirene.agent.comparison import votes_on_rewrite
from eirene.agent.critics import critics_of, critique_from_notes, selected
from eirene.agent.detectors.findings import detectors_for
from eirene.agent.gate import Verdict, judge, unusable
from eirene.agent.gate.edits import CheckedRewrite, Rewrite, check_edits
from eirene.agent.gate.verdict import harm_by_scores
from eirene.agent.record import critique_scope, failure, new_round, why_kept
from eirene.agent.rejections import describe_undone, rejections, undone_before
from eirene.agent.settings import Settings
from eirene.agent.spans import step_span, tell_checks, tell_step
from eirene.agent.state import (
    Event,
    EventKind,
    Json,
    Parts,
    State,
    best_text,
    dump_scores,
    ended,
    item_of,
    load_critique,
    load_pairwise,
    load_scores,
)
from eirene.core.concurrency import off_loop
from eirene.core.critique import Sample
from eirene.core.errors import EireneError, UnsupportedLanguageError, UnusableReplyError
from eirene.core.grounding import Grounding, grounding_for
from eirene.core.logs import get_logger
from eirene.core.records import CRITIQUED_MODES, Item
from eirene.core.scores import Scores
from eirene.core.signature import derive_seed
from eirene.core.tracing import note, span
from eirene.core.usage import Meter, Usage
from eirene.eval.base import Detector, case_of
from eirene.eval.scoring import Scorer
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.sampling import draw_samples
from eirene.models.encoder.runtime import shipped_encoder
from eirene.prompts.history import history_lines
from eirene.refiners.base import Refiner, RefineTask
from eirene.refiners.edit import EditRefiner
from eirene.text.cancellation import WorkCancelledError, check_cancelled
from eirene.text.sentences import split_sentences
from eirene.text.unicode import mend_json

logger = get_logger(__name__)

Step = Callable[[State, Meter], Awaitable[Json]]
_UNCHECKED: Json = {"written": None, "edits": [], "mended": [], "sound": None, "sound_scores": {}, "pairwise": None}


class _Node(Protocol):
    """What LangGraph takes for an async node."""

    def __call__(self, state: State) -> Awaitable[Json]: ...


class Nodes:
    """The node functions, bound to the models and settings of a graph."""

    def __init__(self, parts: Parts, settings: Settings, *, review: bool = False) -> None:
        self.parts = parts
        self.settings = settings
        edits = settings.mode == "edit"
        self.refiner: Refiner = EditRefiner(removal=settings.removal) if edits else parts.refiner
        self.review = review  # a person is asked, and so may bring the notes that a row lacks

    def node(self, step: Step) -> _Node:
        """Makes a node of a step: events around it, its usage counted, its failure turned into the status `failed`.

        The catch is broad on purpose: detectors, refiners and models are other people's code, and whatever goes wrong
        in them must leave the user with the original answer and the record, not with a traceback.
        """

        async def run(state: State) -> Json:
            meter, began = Meter(), time.perf_counter()
            self.emit(state, step.__name__, "node_started")
            with step_span(step.__name__, state) as found:
                try:
                    changes = await step(state, meter)
                    check_cancelled()
                except (GraphBubbleUp, WorkCancelledError):  # a step that waits for a person, or that nobody waits for
                    raise
                except Exception as error:
                    # A known error is told in the record; only an unknown one is worth its traceback.
                    unknown = not isinstance(error, EireneError)
                    logger.warning("%s failed: %s", step.__name__, error, exc_info=unknown)
                    changes = failure(state, error)
                if found is not None:
                    tell_step(found, changes, meter.total)
            seconds = time.perf_counter() - began
            self.emit(state, step.__name__, "node_finished", seconds=seconds)
            # Parts are other people's code, too: what no UTF-8 text can hold goes no further than this.
            return {**mend_json(changes), "usage": (meter.total + Usage(seconds=seconds)).model_dump()}

        return run

    def emit(self, state: State, node: str, kind: EventKind, **more: Any) -> None:
        """Sends an event to whoever streams the graph."""
        event: Event = {"kind": kind, "node": node, "round": state.get("round", 1)}
        event.update(more)  # type: ignore[typeddict-item]  # the keys of `more` are those of Event; a test checks them
        get_stream_writer()(event)

    async def sample_feedback(self, state: State, meter: Meter) -> Json:
        """Draws critiques of the best text so far."""
        best = best_text(state)
        item = item_of(state)
        sentences = await off_loop(lambda: split_sentences(best), characters=len(best))
        critics = critics_of(self.parts, self.settings)
        total = self.settings.samples * len(critics)
        samples: list[Sample] = []

        def on_sample(index: int, sample: Sample) -> None:
            n = sum(self.settings.samples for kind, _ in critics[1:] if sample.critic == kind) + index + 1
            self.emit(state, "sample_feedback", "sample", n=n, total=total, valid=sample.is_valid)

        early_stop, stop = False, None
        for kind, critic in critics:
            is_first = kind == "completeness"
            drawn = await draw_samples(
                critic,
                FeedbackRequest(item, best, sentences, self._seed(state, "feedback" if is_first else kind)),
                n=self.settings.samples,
                stop=self.settings.stop if is_first else "none",  # the rules count tag sequences, not findings
                meter=meter,
                on_sample=on_sample,
                min_consistency=self.settings.min_consistency,
            )
            samples += drawn.samples
            early_stop = early_stop or drawn.early_stop
            stop = drawn.stop if is_first else stop
        dumped = await off_loop(lambda: [s.model_dump(mode="json") for s in samples], characters=len(best))
        return {"samples": dumped, "early_stop": early_stop, "stop": stop, "critique": None, "candidate": None}

    async def select_critique(self, state: State, meter: Meter) -> Json:
        """Picks the critique that the samples agree on most, or takes the person's notes."""
        if self.settings.mode == "human":
            critique = critique_from_notes(item_of(state), split_sentences(best_text(state)), needed=not self.review)
        else:
            selection = await off_loop(lambda: selected(state, self.settings), characters=len(best_text(state)))
            if selection.critique is None:
                self.emit(state, "select_critique", "critique", text=f"abstained: {selection.abstained}")
                return ended(state, "abstained", selection.abstained or "no usable critique")
            critique = selection.critique
        reach = critique_scope(critique, item_of(state), self.parts, self.settings)
        critique = critique.model_copy(update={"unchecked": reach.unchecked})
        found = len(critique.incomplete)
        text = f"{found} of {len(critique.sentences)} sentences incomplete"
        self.emit(state, "select_critique", "critique", text=text)
        changes: Json = {"critique": critique.model_dump(mode="json")}
        if critique.is_complete:
            changes |= ended(state, "complete", str(reach))
        return changes

    async def refine(self, state: State, meter: Meter) -> Json:
        """Has the best text so far rewritten."""
        best = best_text(state)
        turned_down = rejections(state, advisory=self.parts.advisory)
        task = RefineTask(
            item=item_of(state),
            answer=best,
            mode=self.settings.mode,
            critique=load_critique(state),
            rejections=turned_down,
            seed=self._seed(state, "refine"),
            undone=undone_before(state),
        )
        try:
            candidate = await self.refiner.refine(task, meter=meter)
        except UnusableReplyError as error:  # cut off or filtered: this round is lost, not the run
            return {"candidate": error.reply or "", "unusable": str(error), **_UNCHECKED}
        except UnsupportedLanguageError as error:
            return ended(state, "abstained", str(error))
        why = unusable(candidate, answer=task.item.answer, best=best, rejected=[r.candidate for r in turned_down])
        return {"candidate": candidate, "unusable": why, **_UNCHECKED}

    async def rescore(self, state: State, meter: Meter) -> Json:
        """Undoes what may not stay of the rewrite; scores it, the original and the best text so far."""
        item, critique = item_of(state), load_critique(state)
        given = grounding_for(item, critique)
        derived = given.source == "derived"
        checked = await self._checked(state, given)
        candidate = None if checked["unusable"] else checked["candidate"]
        if derived and candidate is None:
            return {**checked, "candidate_scores": {}, "gain_measurable": False}
        known: dict[str, dict[str, Scores]] = {}
        if not derived:  # derived groups change with the critique, and with them every score
            known = {item.answer: load_scores(state.get("original_scores", {}))}
            known[best_text(state)] = load_scores(state.get("best_scores", {})) or known[item.answer]
        wanted = [item.answer, best_text(state)] + ([] if candidate is None else [candidate])
        detectors = detectors_for(self.parts, rewritten=candidate is not None)
        missing = {t: [d for d in detectors if d.name not in known.get(t, {})] for t in wanted}
        found = await self._score(item, missing, given, meter, best=best_text(state))
        known = {text: known.get(text, {}) | found.get(text, {}) for text in wanted}
        changes: Json = {
            **checked,
            "original_scores": dump_scores(known[item.answer]),
            "best_scores": dump_scores(known[best_text(state)]),
            "candidate_scores": {} if candidate is None else dump_scores(known[candidate]),
            "gain_measurable": self._gain_measurable(given, known[best_text(state)]),
        }
        self.emit(state, "rescore", "scores", text=f"{len(detectors)} detectors")
        changes["sound_scores"] = await self._sound_scores(cast(State, {**state, **changes}), given, meter)
        scored = cast(State, {**state, **changes})
        return {**changes, "pairwise": await votes_on_rewrite(scored, self.parts, self.settings, meter)}

    async def gate(self, state: State, meter: Meter) -> Json:
        """Accepts the rewrite, asks for another round, or keeps what there is."""
        if state.get("status"):
            why = state["why"]
            return {"rounds": new_round(state, candidate_scores={}, decision="reject", why=why), **_closed(state)}
        verdict = self._judge(state)
        self.emit(state, "gate", "decision", text=verdict.why)
        note(lambda: {"eirene.gate.test": verdict.test})
        scores = state.get("candidate_scores", {})
        decision: Literal["accept", "reject"] = "accept" if verdict.accept else "reject"
        changes: Json = {"rounds": new_round(state, candidate_scores=scores, decision=decision, why=verdict.why)}
        changes |= self._accepted(state, verdict) if verdict.accept else self._rejected(state, verdict)
        return changes

    async def _checked(self, state: State, given: Grounding) -> Json:
        """The rewrite with every edit undone that may not stay; `unusable` where none may, or none is to be undone."""
        candidate, best = state.get("candidate"), best_text(state)
        if state.get("unusable") or candidate is None:
            return {"candidate": candidate, "unusable": state.get("unusable")}
        item = item_of(state)
        drafts = () if item.answer == best else (item.answer,)
        asks_a_judge = bool(self.parts.judges) or (self.parts.pairwise is not None and self.settings.judge_votes > 0)
        marks = self.settings.mode == "edit" and self.settings.removal == "mark"
        rewrite = Rewrite(
            item.query,
            best,
            candidate,
            given,
            load_critique(state),
            drafts,
            is_judged=asks_a_judge,
            is_marked=marks,
            history=history_lines(item.history),
        )
        with span("gate checks", shown_as="GUARDRAIL") as traced:
            found = await asyncio.to_thread(self._checked_edits, rewrite)
            if traced is not None:
                tell_checks(traced, found)
        edits = [d.model_dump(mode="json") for d in found.decisions]
        checked: Json = {"candidate": candidate, "unusable": None, "edits": edits, "mended": list(found.mended)}
        checked["sound"] = found.without_errors
        why = self._refused(state, found)
        if why is not None:
            return {**checked, "unusable": why}
        return checked if found.text == candidate else {**checked, "candidate": found.text, "written": candidate}

    async def _sound_scores(self, state: State, given: Grounding, meter: Meter) -> Json:
        """The scores of the best text without what mended faults made false, where the rewrite seems to do harm: only
        then it matters whether what is missing now was said by anything else.
        """
        sound, before = state.get("sound"), load_scores(state.get("best_scores", {}))
        after = load_scores(state.get("candidate_scores", {}))
        deciding = {name: s for name, s in before.items() if name not in self.parts.advisory}
        mended = state.get("mended", [])
        if sound is None or not after or harm_by_scores(deciding, after, settings=self.settings, mended=mended) is None:
            return {}
        asked = [d for d in self.parts.detectors if d.name in deciding and deciding[d.name].arguments]
        found = await self._score(
            item_of(state), {sound: asked}, given, meter, best=best_text(state), other="sound part"
        )
        return dump_scores(found.get(sound, {}))

    def _checked_edits(self, rewrite: Rewrite) -> CheckedRewrite:
        parts = self.parts
        if not parts.checks:
            return check_edits(rewrite, (), None)
        return check_edits(rewrite, parts.checks, parts.encoder or shipped_encoder(), parts.verifier)

    def _refused(self, state: State, found: CheckedRewrite) -> str | None:
        """Why nothing of a checked rewrite is scored, or None where what is left of it is."""
        said = describe_undone(found.undone)
        if not said:
            return None
        if self.settings.partial == "reject":
            return f"the rewrite has edits that may not stay: {said}"
        before = best_text(state)
        if found.text.strip() == before.strip():
            return f"no edit of the rewrite may stay: {said}"
        tried = [r["candidate"] or "" for r in state.get("rounds", [])]
        return unusable(found.text, answer=item_of(state).answer, best=before, rejected=tried)

    def _judge(self, state: State) -> Verdict:
        reason = state.get("unusable")
        if reason:
            return Verdict(False, "unusable", reason)
        before = load_scores(state.get("best_scores", {}))
        return judge(
            {name: s for name, s in before.items() if name not in self.parts.advisory},
            load_scores(state.get("candidate_scores", {})),
            gain_measurable=state.get("gain_measurable", False),
            mended=state.get("mended", []),
            without_errors=load_scores(state.get("sound_scores", {})),
            pairwise=load_pairwise(state),
            settings=self.settings,
        )

    def _accepted(self, state: State, verdict: Verdict) -> Json:
        round_ = state.get("round", 1)
        goes_on = (
            self.settings.after_accept == "continue"
            and round_ < self.settings.max_rounds
            and self.settings.mode != "human"  # the notes speak of sentences that are gone
        )
        return {
            "best": state["candidate"],
            "best_scores": state.get("candidate_scores", {}),
            "rejected_in_a_row": 0,
            "round": round_ + 1 if goes_on else round_,
            "status": "" if goes_on else "accepted",
            "why": verdict.why,
            # The accepted text is a new text: the old critique and vote do not speak of it.
            "samples": [],
            "critique": None,
            "candidate": None,
            **_UNCHECKED,
        }

    def _rejected(self, state: State, verdict: Verdict) -> Json:
        round_, in_a_row = state.get("round", 1), state.get("rejected_in_a_row", 0) + 1
        common: Json = {"rejected_in_a_row": in_a_row, "samples": [], "candidate": None}
        # Without a critique, an unchanged text says that nothing is to be mended: to ask again would only press for it.
        is_content = self.settings.mode not in CRITIQUED_MODES and _is_unchanged(state)
        if round_ < self.settings.max_rounds and in_a_row <= self.settings.patience and not is_content:
            return {**common, "round": round_ + 1}
        return {**common, **ended(state, "kept", why_kept(state, verdict.why))}

    async def _score(
        self,
        item: Item,
        wanted: Mapping[str, Sequence[Detector]],
        given: Grounding,
        meter: Meter,
        *,
        best: str,
        other: str = "candidate",
    ) -> dict[str, dict[str, Scores]]:
        """The scores of each text by its detectors, side by side; one that fails leaves its scores unscored, and the
        gate is told so. Traces call a text that is neither original nor best `other`.
        """
        names = {best: "best", item.answer: "original"}
        texts = [text for text, detectors in wanted.items() if detectors]
        cases = (case_of(item, answer=text, given=given) for text in texts)
        shared: dict[tuple[str, ...], Scorer] = {}  # what one text has shown to be hopeless is not asked for another
        scorers = (shared.setdefault(tuple(d.name for d in wanted[t]), Scorer(wanted[t])) for t in texts)
        labels = (names.get(text, other) for text in texts)
        found = await asyncio.gather(
            *(s.score(case, label=label) for s, case, label in zip(scorers, cases, labels, strict=True))
        )
        for outcome in (outcome for by_name in found for outcome in by_name.values()):
            meter.add(outcome.usage.model_copy(update={"seconds": 0.0}))  # the node's own seconds hold them
        return {t: {name: o.scores for name, o in by_name.items()} for t, by_name in zip(texts, found, strict=True)}

    def _gain_measurable(self, given: Grounding, scores: dict[str, Scores]) -> bool:
        if given.source != "derived" or any(group.name == "asked" for group in given.groups):
            return True
        return any(name in self.parts.judges for name in scores)

    def _seed(self, state: State, role: str) -> int:
        return derive_seed(state["seed"], state["item"]["id"], role, state.get("round", 1))


def _is_unchanged(state: State) -> bool:
    return (state.get("candidate") or "").strip() == best_text(state).strip()


def _closed(state: State) -> Json:
    return {"samples": [], "candidate": None}
