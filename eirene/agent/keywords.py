"""The keywords of `refine`, `arefine` and `build_graph`: every setting and every field of a row, typed and told.

Editors and type checkers read the typed dictionaries, `help()` the list that `tells_keywords` puts into a docstring;
tests hold both to the fields of `Settings` and `Item`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar, get_args

from pydantic.fields import FieldInfo

from eirene.agent.settings import Settings
from eirene.core.critique import FeedbackNote
from eirene.core.loop_settings import Critic, Mode, Stop
from eirene.core.records import Perspective

F = TypeVar("F", bound=Callable[..., Any])
_BOUNDS = {"ge": "from", "gt": "above", "le": "to"}


class SettingKeywords(TypedDict, total=False):
    """The fields of `Settings`."""

    mode: Mode
    samples: int
    stop: Stop
    max_rounds: int
    patience: int
    after_accept: Literal["stop", "continue"]
    min_consistency: float
    tolerance: float
    min_gain: float
    partial: Literal["undo", "reject"]
    when_gain_unmeasured: Literal["accept", "keep"]
    judge_votes: int
    critic: Critic
    removal: Literal["remove", "mark"]
    deadline_s: float
    seed: int


class RefineKeywords(SettingKeywords, total=False):
    """The fields of `Settings`, and those of a row, in place of an item."""

    id: str | int
    question: str
    answer: str
    history: str | Sequence[Any] | None
    perspectives: Mapping[str, str | Sequence[str]] | Sequence[Perspective | Mapping[str, Any]] | None
    context: str | Sequence[Any] | None
    feedback: Sequence[FeedbackNote | Mapping[str, Any]] | None
    gold: str | None
    meta: Mapping[str, Any]


def tells_keywords(function: F) -> F:
    """The function with its settings in its docstring and, for `**options`, in the signature that `help` shows."""
    found = inspect.signature(function)
    own = [p for p in found.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    settings = Settings.model_fields
    kind = inspect.Parameter.KEYWORD_ONLY
    named = [inspect.Parameter(name, kind, default=field.default) for name, field in settings.items()]
    function.__signature__ = found.replace(parameters=[*own, *named])  # type: ignore[attr-defined]  # inspect reads it
    told = [
        f"    {name}: {field.description} {allowed(field)}; {field.default!r} by default."
        for name, field in settings.items()
    ]
    function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "Settings:", *told])
    return function


def allowed(field: FieldInfo) -> str:
    """The words that a setting may have, or its type and bounds, such as "An int from 3 to 10,000"."""
    words = get_args(field.annotation)
    if words:
        return "One of " + ", ".join(map(repr, words))
    said = [
        f"{word} {bound:,}"
        for entry in field.metadata
        for name, word in _BOUNDS.items()
        if (bound := getattr(entry, name, None)) is not None
    ]
    return " ".join(["An int" if field.annotation is int else "A float", *said])
