"""Which critics a run asks, what their samples make together, and what a gain is measured by where edits are small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eirene.agent.revote import FINDINGS, FindingsDetector
from eirene.agent.settings import Settings
from eirene.agent.state import Parts, State, best_text, load_samples
from eirene.critique import CriticKind, Sample
from eirene.errors import InputError
from eirene.eval.base import Detector, only_computes
from eirene.feedback_model.base import FeedbackModel
from eirene.feedback_model.hallucination_vote import joined_critiques, vote_on_findings
from eirene.feedback_model.select import Selection, select
from eirene.records import VOTED_MODES
from eirene.sentences import Sentence, split_sentences


def critics_of(parts: Parts, settings: Settings) -> list[tuple[CriticKind, FeedbackModel]]:
    """The critics that a run asks, in the order in which their samples stand in the record.

    Raises `InputError` for parts without a hallucination critic where one is asked for.
    """
    found: list[tuple[CriticKind, FeedbackModel]] = []
    if settings.critic != "hallucination":
        found.append(("completeness", parts.feedback_model))
    if settings.critic != "completeness":
        if parts.hallucination_model is None:
            raise InputError(
                f"the backend {parts.backend!r} has no hallucination critic; take critic completeness, or parts with a "
                "hallucination_model",
                field="critic",
            )
        found.append(("hallucination", parts.hallucination_model))
    return found


def equipped(parts: Parts, settings: Settings) -> Parts:
    """The parts with what the hallucination critic needs to be judged: a detector of findings by its own re-vote.

    The scores that are there already look at whole sentences; a date put right moves them by nothing. Parts that have
    it, and runs without a vote or with the critic of completeness alone, stay as they are.
    """
    if settings.critic == "completeness" or settings.mode not in VOTED_MODES or FINDINGS in parts.judges:
        return parts
    critics_of(parts, settings)  # raises where there is none
    critic = parts.hallucination_model
    assert critic is not None
    detector = FindingsDetector(
        critic, samples=settings.samples, seed=settings.seed, version=parts.hallucination_version or ""
    )
    return replace(
        parts,
        detectors=(*parts.detectors, detector),
        judges=parts.judges | {FINDINGS},
        version=",".join(filter(None, [parts.version, parts.hallucination_version])) or None,
    )


def detectors_for(parts: Parts, *, rewritten: bool) -> Sequence[Detector]:
    """The detectors to be run: where nothing was rewritten, all but a re-vote that asks a model.

    It measures what a rewrite gained, and the vote on the text as it is has just been drawn.
    """
    return [d for d in parts.detectors if rewritten or d.name != FINDINGS or only_computes(d)]


def selected(state: State, settings: Settings) -> Selection:
    """The critique that the samples in a state give of its best text."""
    samples, early_stop = load_samples(state), state.get("early_stop", False)
    return chosen_critique(samples, split_sentences(best_text(state)), settings=settings, early_stop=early_stop)


def chosen_critique(
    samples: Sequence[Sample], sentences: Sequence[Sentence], *, settings: Settings, early_stop: bool
) -> Selection:
    """The critique that the samples give, of whichever critics were asked; see `select` and `vote_on_findings`."""
    asked = {"n_requested": settings.samples, "min_consistency": settings.min_consistency}
    mine = [s for s in samples if s.critic != "hallucination"]
    others = [s for s in samples if s.critic == "hallucination"]
    if settings.critic == "completeness":
        return select(samples, sentences, early_stop=early_stop, **asked)  # type: ignore[arg-type]  # as named above
    if settings.critic == "hallucination":
        return vote_on_findings(others, sentences, **asked)  # type: ignore[arg-type]  # as named above
    first = select(mine, sentences, early_stop=early_stop, **asked)  # type: ignore[arg-type]  # as named above
    second = vote_on_findings(others, sentences, **asked)  # type: ignore[arg-type]  # as named above
    return joined_critiques(first, second, drawn=others, n_requested=settings.samples)
