"""Asks the pairwise judge about a rewrite where nothing was given, no other judge measures, and no score shows harm."""

from __future__ import annotations

from eirene.agent.gate.verdict import harm_by_scores
from eirene.agent.settings import Settings
from eirene.agent.state import Json, Parts, State, best_text, item_of, load_scores
from eirene.core.scores import number
from eirene.core.signature import derive_seed
from eirene.core.tracing import span
from eirene.core.usage import Meter
from eirene.eval.pairwise import Pair


async def votes_on_rewrite(state: State, parts: Parts, settings: Settings, meter: Meter) -> Json | None:
    """The votes on the candidate of a state whose scores are there; None where they are not asked for.

    Harm that the scores show already costs no call.
    """
    item, candidate = item_of(state), state.get("candidate")
    if parts.pairwise is None or not settings.judge_votes or candidate is None or state.get("unusable"):
        return None
    if item.perspectives or item.context:
        return None
    after = load_scores(state.get("candidate_scores", {}))
    if any(number(after[name].hallucination) is not None for name in parts.judges & after.keys()):
        return None
    before = load_scores(state.get("best_scores", {}))
    gated = {name: scores for name, scores in before.items() if name not in parts.advisory}
    mended, sound = state.get("mended", []), load_scores(state.get("sound_scores", {}))
    if harm_by_scores(gated, after, settings=settings, mended=mended, without_errors=sound) is not None:
        return None
    seed = derive_seed(state["seed"], item.id, "pairwise", state.get("round", 1))
    pair = Pair(item.question, best_text(state), candidate, tuple(item.history or ()))
    with span("detector pairwise", shown_as="EVALUATOR") as found:
        votes = await parts.pairwise.compare(pair, votes=settings.judge_votes, seed=seed, meter=meter)
        if found is not None:
            found.set({"eirene.pairwise.votes": len(votes.votes), "eirene.pairwise.outcome": votes.outcome})
    return votes.model_dump(mode="json")
