"""The six nodes of the graph. Each reads the state, does one step, and returns what it changes.

A step that fails ends the run with status `failed`; what was found until then stays in the state, and so in the record.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Protocol

from langgraph.config import get_stream_writer
from langgraph.errors import GraphBubbleUp

from eirene.agent.attempt import Attempt
from eirene.agent.critics import criticise, critics_of, critique_from_notes, critique_scope, readout_of, selected
from eirene.agent.ending import failure, unchanged, without_critique, without_fault
from eirene.agent.evidence import dumped_evidence, feedback_seed, with_room
from eirene.agent.rejections import describe_undone, rejections, undone_before
from eirene.agent.rescoring import Rescoring
from eirene.agent.settings import Settings
from eirene.agent.spans import step_span, tell_step
from eirene.agent.state import (
    Event,
    EventKind,
    Json,
    Parts,
    State,
    best_text,
    dump_scores,
    item_of,
    load_critique,
    load_scores,
)
from eirene.agent.tries import Tries
from eirene.core.concurrency import off_loop
from eirene.core.critique import Sample
from eirene.core.errors import EireneError, UnsupportedLanguageError, UnusableReplyError
from eirene.core.grounding import grounding_for
from eirene.core.logs import get_logger
from eirene.core.records import CRITIQUED_MODES
from eirene.core.signature import derive_seed
from eirene.core.tracing import note
from eirene.core.usage import Meter, Usage
from eirene.core.verification import NumberedEvidence
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.sampling import DrawResult
from eirene.gate import Verdict, judge, judge_comparison, unusable
from eirene.gate.compared_edits import Comparer
from eirene.gate.edits import CheckedRewrite, Rewrite, check_edits, comparer_for
from eirene.models.encoder.runtime import shipped_encoder
from eirene.prompts.history import history_lines
from eirene.refiners.base import EditRefiner, Refiner, RefineTask
from eirene.text.cancellation import WorkCancelledError, check_cancelled
from eirene.text.sentences import split_sentences
from eirene.text.unicode import mend_json

logger = get_logger(__name__)

Step = Callable[[State, Meter], Awaitable[Json]]
_NO_ATTEMPT: Json = {"samples": [], "attempt": None, "waiting": []}


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
                    logger.warning("the run failed in %s: %s", step.__name__, error, exc_info=unknown)
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
        asked = {kind: self.settings.samples for kind, _ in critics}
        if readout_of(self.parts, self.settings) == "probabilities" and "completeness" in asked:
            asked["completeness"] = 1
        total = sum(asked.values())
        samples: list[Sample] = []

        def on_sample(index: int, sample: Sample) -> None:
            n = (asked["completeness"] if len(asked) > 1 and sample.critic is not None else 0) + index + 1
            self.emit(state, "sample_feedback", "sample", n=n, total=total, valid=sample.is_valid)

        async def draw(evidence: NumberedEvidence | None) -> list[DrawResult]:
            samples.clear()
            found = []
            for kind, critic in critics:
                seed = feedback_seed(kind, item, state["seed"], state.get("round", 1))
                request = FeedbackRequest(item, best, sentences, seed, evidence)
                drawn = await criticise(
                    kind, critic, request, self.settings, parts=self.parts, meter=meter, on_sample=on_sample
                )
                samples.extend(drawn.samples)
                found.append(drawn)
            return found

        drawn, evidence = await with_room(state, self.parts, self.settings, draw)
        dumped = await off_loop(lambda: [s.model_dump(mode="json") for s in samples], characters=len(best))
        by_tags = [result.stop for (kind, _), result in zip(critics, drawn, strict=True) if kind == "completeness"]
        return {
            "samples": dumped,
            "evidence": dumped_evidence(evidence),
            "early_stop": any(result.early_stop for result in drawn),
            "stop": by_tags[0] if by_tags else None,
            "critique": None,
            "attempt": None,
        }

    async def select_critique(self, state: State, meter: Meter) -> Json:
        """Picks the critique that the samples agree on most, or takes the person's notes."""
        if self.settings.mode == "human":
            critique = critique_from_notes(item_of(state), split_sentences(best_text(state)), needed=not self.review)
        else:
            selection = await off_loop(
                lambda: selected(state, self.parts, self.settings), characters=len(best_text(state))
            )
            if selection.critique is None:
                self.emit(state, "select_critique", "critique", text=f"abstained: {selection.abstained}")
                return without_critique(state, selection.abstained)
            critique = selection.critique
        scope = critique_scope(critique, item_of(state), self.parts, self.settings)
        critique = critique.model_copy(update={"unchecked": scope.unchecked})
        found = len(critique.incomplete)
        text = f"{found} of {len(critique.sentences)} sentences incomplete"
        self.emit(state, "select_critique", "critique", text=text)
        changes: Json = {"critique": critique.model_dump(mode="json")}
        if critique.is_complete:
            changes |= without_fault(state, scope)
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
            seed=derive_seed(state["seed"], state["item"]["id"], "refine", state.get("round", 1)),
            undone=undone_before(state),
        )
        tries = Tries(self.parts, self.refiner, self.settings, meter)

        async def rewrite(evidence: NumberedEvidence | None) -> list[Attempt]:
            return await tries.attempts(replace(task, evidence=evidence), state)

        try:
            (attempt, *waiting), evidence = await with_room(state, self.parts, self.settings, rewrite)
        except UnusableReplyError as error:  # cut off or filtered: this round is lost, not the run
            return Attempt(candidate=error.reply or "", unusable=str(error)).in_state()
        except UnsupportedLanguageError as error:
            return unchanged(state, Attempt(), str(error))
        return {"evidence": dumped_evidence(evidence), **attempt.in_state(waiting)}

    async def check(self, state: State, meter: Meter) -> Json:
        """Undoes the edits of a rewrite that a check objects to, and takes the best of those that were drawn together.

        That is the likeliest to be the better answer, where a comparison tells; else the first of which something is
        left, and the others wait for the gate's decision on it.
        """
        drawn = [Attempt.of(state), *Attempt.waiting(state)]
        comparer = self._comparer(self._rewrite(state, best_text(state))) if self.parts.checks else None
        waiting = drawn
        if comparer is not None and drawn[0].scorable is not None and any(a.drawn is not None for a in drawn):
            from eirene.agent.composing import composed  # where a language model rewrites

            waiting = await asyncio.to_thread(composed, drawn, state, comparer, self.settings.mode)
        best, passed = await self._checked(state, waiting.pop(0), comparer), list[Attempt]()
        while waiting and (best.scorable is None or best.comparison is not None):
            other = await self._checked(state, waiting.pop(0), comparer)
            best, worse = (other, best) if other.rank > best.rank else (best, other)
            passed.append(worse)
        edits = {"eirene.edits": len(best.edits), "eirene.edits.undone": sum(not e.taken for e in best.edits)}
        note(lambda: {**edits, "eirene.edits.mended": len(best.mended)})
        return best.passing_over(passed).in_state(waiting)

    async def _checked(self, state: State, attempt: Attempt, comparer: Comparer | None) -> Attempt:
        if attempt.scorable is None:
            return attempt
        rewrite = self._rewrite(state, attempt.scorable)
        if attempt.drawn is not None and attempt.drawn.changes:
            from eirene.agent.composing import patch_edits

            told = patch_edits(rewrite.before, rewrite.written, attempt.drawn.changes)
            rewrite = replace(rewrite, edits=told)
        checks, encoder = self.parts.checks, self.parts.encoder
        if checks and encoder is None:
            encoder = shipped_encoder()
        found = await asyncio.to_thread(check_edits, rewrite, checks, encoder, comparer)
        why = self._nothing_left(state, found)
        return attempt.with_edits(found) if why is None else attempt.refused(found, why)

    async def rescore(self, state: State, meter: Meter) -> Json:
        """Scores the rewrite, the original and the best text so far."""
        rescoring = Rescoring(self.parts, self.settings, state, meter)
        if not rescoring.is_needed:
            return {}
        changes = await rescoring.changes()
        self.emit(state, "rescore", "scores", text=f"{len(rescoring.detectors)} detectors")
        return changes

    async def gate(self, state: State, meter: Meter) -> Json:
        """Accepts the rewrite, asks for another round, or keeps what there is."""
        attempt = Attempt.of(state)
        if state.get("status"):
            return {**attempt.as_round(state, decision="reject", why=state["why"]), **_NO_ATTEMPT}
        verdict = self._judge(state, attempt)
        self.emit(state, "gate", "decision", text=verdict.why)
        note(lambda: {"eirene.gate.test": verdict.test})
        done = attempt.as_round(state, decision="accept" if verdict.accept else "reject", why=verdict.why)
        waiting = Attempt.waiting(state)
        if waiting and not verdict.accept:  # what was drawn with it is tried before anything is drawn again
            return {**done, "samples": [], **waiting[0].in_state(waiting[1:])}
        after = self._accepted if verdict.accept else self._rejected
        return {**done, **_NO_ATTEMPT, **after(state, attempt, verdict)}

    def _rewrite(self, state: State, candidate: str) -> Rewrite:
        item, critique, best = item_of(state), load_critique(state), best_text(state)
        return Rewrite(
            item.query,
            best,
            candidate,
            grounding_for(item, critique),
            critique,
            drafts=() if item.answer == best else (item.answer,),
            is_judged=bool(self.parts.judges) or (self.parts.pairwise is not None and self.settings.judge_risk > 0),
            is_marked=self.settings.mode == "edit" and self.settings.removal == "mark",
            history=history_lines(item.history),
        )

    def _comparer(self, rewrite: Rewrite) -> Comparer | None:
        """What compares the texts; None where the checks and the scores decide."""
        parts, risk = self.parts, self.settings.gate_risk
        return comparer_for(rewrite, parts.verifier, risk=risk, calibration=parts.gate_calibration)

    def _nothing_left(self, state: State, found: CheckedRewrite) -> str | None:
        """Why nothing of a checked rewrite is scored, or None where what is left of it is."""
        if found.too_long:
            return "the texts differ in more than is compared"
        said = describe_undone(found.undone)
        if not said:
            return None
        if self.settings.partial == "reject":
            return f"not all of the rewrite could be kept: {said}"
        before = best_text(state)
        if found.text.strip() == before.strip():
            return f"nothing of the rewrite was kept: {said}"
        if not found.text.strip():
            return f"nothing of the answer would be left: {said}"
        tried = [r["candidate"] or "" for r in state.get("rounds", [])]
        return unusable(found.text, answer=item_of(state).answer, best=before, rejected=tried)

    def _judge(self, state: State, attempt: Attempt) -> Verdict:
        if attempt.unusable:
            return Verdict(False, "unusable", attempt.unusable)
        if attempt.comparison is not None:
            return judge_comparison(attempt.comparison, attempt.edits)
        return judge(
            self.parts.deciding(load_scores(state.get("best_scores", {}))),
            attempt.scores,
            gain_measurable=attempt.gain_measurable,
            mended=attempt.mended,
            without_errors=attempt.scores_without_errors,
            pairwise=attempt.pairwise,
            settings=self.settings,
            edits=attempt.edits,
            given=grounding_for(item_of(state), load_critique(state)),
        )

    def _accepted(self, state: State, attempt: Attempt, verdict: Verdict) -> Json:
        round_ = state.get("round", 1)
        goes_on = (
            self.settings.after_accept == "continue"
            and round_ < self.settings.max_rounds
            and self.settings.mode != "human"  # the notes speak of sentences that are gone
        )
        return {
            "best": attempt.candidate,
            "best_scores": dump_scores(attempt.scores),
            "rejected_in_a_row": 0,
            "round": round_ + 1 if goes_on else round_,
            "status": "" if goes_on else "accepted",
            "why": verdict.why,
            "evidence": None,
            "critique": None,  # the accepted text is a new text: the old critique does not speak of it
        }

    def _rejected(self, state: State, attempt: Attempt, verdict: Verdict) -> Json:
        round_, in_a_row = state.get("round", 1), state.get("rejected_in_a_row", 0) + 1
        # Without a critique, an unchanged text says that nothing is to be mended: to ask again would only press for it.
        is_unchanged = (attempt.candidate or "").strip() == best_text(state).strip()
        is_final = getattr(self.refiner, "fixed", False) or self.settings.mode not in CRITIQUED_MODES
        is_content = is_unchanged and is_final
        if round_ < self.settings.max_rounds and in_a_row <= self.settings.patience and not is_content:
            return {"rejected_in_a_row": in_a_row, "round": round_ + 1}
        return {"rejected_in_a_row": in_a_row, **unchanged(state, attempt, verdict.why)}
