"""The settings of a run, checked once: what the loop does and where the gate draws its lines."""

from __future__ import annotations

from typing import Any, Self

from pydantic import ConfigDict, ValidationInfo, field_validator

from eirene.core.loop_settings import Critic, LoopSettings, Setting
from eirene.core.validation import CheckedModel, short_repr


class Settings(CheckedModel, LoopSettings):
    """How one item is refined. Immutable; part of every record's signature.

    The fields stand in `eirene.core.loop_settings.LoopSettings`, with their bounds and defaults;
    docs/reference/settings.md has them as a table, and `Settings.model_fields[name].description` says what each does.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    @field_validator("critic")
    @classmethod
    def _has_edits(cls, critic: Critic, others: ValidationInfo) -> Critic:
        if others.data.get("mode") == "edit" and critic == "completeness":
            raise ValueError("mode edit carries out the edits of hallucinations; take critic hallucination or both")
        return critic

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Settings from keyword values; raises `InputError` that names the setting, the rule and the value."""
        return cls(**values)

    @classmethod
    def own_message(cls, problem: Any) -> str | None:
        """A setting's name stands bare in messages, as it does in calls and in files."""
        name, kind = str(problem["loc"][0]), problem["type"]
        if kind == "frozen_instance":
            return None
        if kind == "extra_forbidden":
            return f"unknown setting {name!r}; known: {', '.join(cls.model_fields)}"
        if kind == "value_error":
            return str(problem["ctx"]["error"])
        if kind != "literal_error" and not kind.startswith(("greater_", "less_")):
            return None
        return f"{name} must {problem['msg'].lower().removeprefix('input should ')}, got {short_repr(problem['input'])}"

    @property
    def recursion_limit(self) -> int:
        """Supersteps that LangGraph may run: the five nodes for each round, and a margin for start and end."""
        return 5 * self.max_rounds + 5


for _field in Settings.model_fields.values():
    _field.description = next(told.help for told in _field.metadata if isinstance(told, Setting))
Settings.model_rebuild(force=True)
