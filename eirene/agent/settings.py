"""The settings of a run, checked once: what the loop does and where the gate draws its lines."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import ConfigDict, model_validator

from eirene.core.loop_settings import LoopSettings, Setting
from eirene.core.validation import CheckedModel

MOST_BY_DEFAULT = 3
"""Rewrites that a model on this machine is asked for at once: drawn together they cost little more than one."""


class Settings(CheckedModel, LoopSettings):
    """How one item is refined. Immutable; part of every record's signature.

    The fields stand in `eirene.core.loop_settings.LoopSettings`, with their bounds and defaults;
    docs/reference/settings.md has them as a table, and `Settings.model_fields[name].description` says what each does.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
    key_name: ClassVar[str] = "setting"

    @model_validator(mode="after")
    def _has_edits(self) -> Self:
        if self.mode == "edit" and self.critic == "completeness":
            raise ValueError("mode edit carries out the edits of hallucinations; take critic hallucination or both")
        return self

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Settings from keyword values; raises `InputError` that names the setting, the rule and the value."""
        return cls(**values)

    @property
    def recursion_limit(self) -> int:
        """Supersteps that LangGraph may run: three nodes and a review for each round, three for each of its candidates,
        and a margin for start and end.
        """
        return (4 + 3 * (self.candidates or MOST_BY_DEFAULT)) * self.max_rounds + 5


for _field in Settings.model_fields.values():
    _field.description = next(told.help for told in _field.metadata if isinstance(told, Setting))
Settings.model_rebuild(force=True)
