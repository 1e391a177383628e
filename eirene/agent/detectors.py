"""Detectors of a run: named ones in place of the backend's, a judge behind them, a cache of their scores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from eirene.agent.state import Parts
from eirene.core.loop_settings import Structured
from eirene.core.memo import Memo
from eirene.core.scores import Scores
from eirene.core.usage import Meter
from eirene.eval.base import Case, Detector, only_computes
from eirene.eval.pairwise import ChatPairwise
from eirene.eval.registry import build_detector, build_detectors
from eirene.eval.resources import POLLS, Resources
from eirene.prompts import SHIPPED, PromptSet

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.models.cache import CallCache
    from eirene.models.chat import ChatModel
    from eirene.models.costs import Price

JUDGE = "judge"
"""Adherence where text was given, correctness where none was."""


def with_judge(
    parts: Parts,
    judge: str | BaseChatModel | ChatModel,
    *,
    base_url: str | None = None,
    polls: int = POLLS,
    seed: int = 0,
    price: Price | None = None,
    cache: CallCache | None = None,
    offline: bool = False,
    structured: Structured = "auto",
    prompts: PromptSet = SHIPPED,
    timeout_s: float = 60.0,
) -> Parts:
    """The parts with a judge behind the other detectors: it decides with them, and can measure a gain. It takes the
    place of the backend's pairwise judge, and confirms corrections to a critic that takes a judge.

    The scores of a model that gives no token probabilities move in steps of one poll (0.2 of five), so that one poll
    more that finds a hallucination is harm by any tolerance below. `offline`: a judge that will not be called, and so
    needs no key. `structured`: whether polls are asked for by JSON schema; `prompts`: own wording; `timeout_s`: seconds
    for one attempt of a call. Raises
    `InputError` for a judge that cannot be used and for fewer polls than a quorum.

    Examples:
        >>> import eirene
        >>> from eirene.agent.backends import resolve_backend
        >>> from eirene.models.scripted import ScriptedChatModel
        >>> judge = ScriptedChatModel(lambda _: "Nothing is false.\\n\\nVerdict: no")
        >>> parts = with_judge(resolve_backend("embedded"), judge)
        >>> [detector.name for detector in parts.detectors], sorted(parts.judges)
        (['rouge', 'alignment', 'arrangement', 'judge'], ['judge'])
    """
    from eirene.eval.detectors.token_judge import TokenJudge
    from eirene.feedback_model.embedded.critic import EmbeddedFeedback

    resources = Resources(
        judge_model=judge, base_url=base_url, polls=polls, seed=seed, price=price, cache=cache, offline=offline,
        structured=structured, prompts=prompts, timeout_s=timeout_s,
    )  # fmt: skip
    detector = build_detector(JUDGE, resources)
    made_of, critic = f"{detector.name}:{detector.version}", parts.feedback_model
    if isinstance(critic, EmbeddedFeedback) and isinstance(detector, TokenJudge):
        critic = critic.judged_by(detector)
    return replace(
        parts,
        feedback_model=critic,
        detectors=(*parts.detectors, detector),
        judges=parts.judges | {detector.name},
        pairwise=ChatPairwise(resources.judge, prompts=prompts),
        version=made_of if parts.version is None else f"{parts.version},{made_of}",
    )


def with_detectors(parts: Parts, names: Sequence[str], resources: Resources) -> Parts:
    """The parts with these detectors, in this order, which should be cheap to dear.

    Those that the backend only shows are still only shown, unless no other is named: a gate needs something to decide
    by. Those that ask a judge can measure a gain where nothing was given. Raises what `check_detectors`
    raises: a gate that waits for a score that cannot come is no gate.

    Examples:
        >>> from eirene.agent.backends import resolve_backend
        >>> parts = with_detectors(resolve_backend("embedded"), ["alignment"], Resources())
        >>> [detector.name for detector in parts.detectors]
        ['alignment']
    """
    detectors = build_detectors(names, resources)
    named = {detector.name for detector in detectors}
    versions = [f"{d.name}:{d.version}" for d in detectors if d.version]
    return replace(
        parts,
        detectors=detectors,
        advisory=frozenset() if named <= parts.advisory else parts.advisory & named,
        judges=frozenset(d.name for d in detectors if "judge" in d.needs),
        version=",".join([*([parts.version] if parts.version else []), *versions]) or None,
    )


_SIDE_BY_SIDE = 4
_CACHED = 512  # the originals of the items under way, and then some


def cached(detector: Detector, *, most: int = _CACHED) -> Detector:
    """The detector with a cache of its `most` latest scores; one that calls a model is returned as it is.

    A model's scores belong, with their cost, to the run that asked for them.
    """
    return CachedDetector(detector, most=most) if only_computes(detector) else detector


class CachedDetector:
    """Keeps the scores of the latest cases, for many runs over the same texts."""

    def __init__(self, detector: Detector, *, most: int = _CACHED) -> None:
        self._detector = detector
        self.name, self.needs, self.version = detector.name, detector.needs, detector.version
        self._scores: Memo[Case, Scores] = Memo(most)
        # Few at a time: what computes side by side is in each other's way. More than one: when a thread has finished,
        # the next case must be at hand, not wait until the event loop comes round to handing it over.
        self._turn = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The detector's scores."""
        return await self._scores.get_or_await(case, lambda: self._score(case, meter))

    async def _score(self, case: Case, meter: Meter) -> Scores:
        async with self._turn:
            return await self._detector.score(case, meter=meter)
