"""Adds a judge to the parts of a run, so that hallucination and gain can be measured where nothing was given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eirene.agent.state import Parts
from eirene.eval.registry import build_detector
from eirene.eval.resources import POLLS, Resources

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.models.cache import CallCache
    from eirene.models.chat import ChatModel, Price

JUDGE = "chainpoll"
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
) -> Parts:
    """The parts with a polled judge behind the other detectors: it decides with them, and can measure a gain.

    Its scores move in steps of one poll (0.2 of five), so that one poll more that finds a hallucination is harm by any
    tolerance below. `offline`: a judge that will not be called, and so needs no key. Raises `InputError` for a judge
    that cannot be used and for fewer polls than a quorum.

    Example:
        >>> import eirene
        >>> from eirene.agent.backends import resolve_backend
        >>> from eirene.models.scripted import ScriptedChatModel
        >>> judge = ScriptedChatModel(lambda _: "Nothing is false.\\n\\nVerdict: no")
        >>> parts = with_judge(resolve_backend("embedded"), judge)
        >>> [detector.name for detector in parts.detectors], sorted(parts.judges)
        (['rouge', 'alignment', 'arrangement', 'chainpoll'], ['chainpoll'])
    """
    resources = Resources(
        judge_model=judge, base_url=base_url, polls=polls, seed=seed, price=price, cache=cache, offline=offline
    )
    detector = build_detector(JUDGE, resources)
    made_of = f"{detector.name}:{detector.version}"
    return replace(
        parts,
        detectors=(*parts.detectors, detector),
        judges=parts.judges | {detector.name},
        version=made_of if parts.version is None else f"{parts.version},{made_of}",
    )
