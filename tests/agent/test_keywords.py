"""The typed keywords of the front door are the fields of settings and items, and `help` tells each."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest

import eirene
from eirene.agent.keywords import RefineKeywords, SettingKeywords
from eirene.agent.settings import Settings
from eirene.core.records import Item

DOORS = [eirene.refine, eirene.arefine, eirene.build_graph]


def test_the_keywords_are_the_settings_and_the_fields_of_a_row() -> None:
    settings, both = get_type_hints(SettingKeywords), get_type_hints(RefineKeywords)
    assert settings == {name: field.annotation for name, field in Settings.model_fields.items()}
    assert list(both) == [*settings, *(n for n in both if n not in settings)]
    assert set(both) - set(settings) == set(Item.model_fields)


@pytest.mark.parametrize("door", DOORS)
def test_help_lists_every_setting_with_its_default(door: Callable[..., Any]) -> None:
    signature = inspect.signature(door)
    assert "options" not in signature.parameters
    told = inspect.getdoc(door) or ""
    for name, field in Settings.model_fields.items():
        assert signature.parameters[name].default == field.default
        (line,) = (line for line in told.splitlines() if line.strip().startswith(f"{name}: "))
        assert line.endswith(f"{field.default!r} by default.") and str(field.description) in line
    assert "samples: Critiques drawn for each vote (EIR: 20). An int from 3 to 10,000; 20 by default." in told


def test_a_keyword_that_is_none_is_one_clear_error() -> None:
    with pytest.raises(eirene.InputError, match="unknown setting 'sample'"):
        eirene.refine(question="Q?", answer="A.", sample=3)  # type: ignore[call-arg]
