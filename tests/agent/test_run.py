"""The typed keywords of the front door are the fields of settings and items, and `help` tells each."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import pytest

import eirene
from eirene.agent import backends
from eirene.agent.run import RefineKeywords, SettingKeywords
from eirene.agent.settings import Settings
from eirene.core.records import Item


def test_the_keywords_are_the_settings_and_the_fields_of_a_row() -> None:
    known = {"Backend": backends.Parts}
    settings, both = get_type_hints(SettingKeywords), get_type_hints(RefineKeywords, localns=known)
    assert settings == {name: field.annotation for name, field in Settings.model_fields.items()}
    own = set(inspect.signature(eirene.refine).parameters) - set(settings) - {"item"}
    assert set(both) - set(settings) - own == set(Item.model_fields)
    assert own < set(both)


def test_help_lists_every_setting_with_its_default() -> None:
    for door in (eirene.refine, eirene.arefine, eirene.build_graph):
        signature = inspect.signature(door)
        assert signature.parameters["backend"].default == "embedded"
        assert not {"options", "keywords"} & set(signature.parameters)
        told = inspect.getdoc(door) or ""
        for name, field in Settings.model_fields.items():
            assert signature.parameters[name].default == field.default
            (line,) = (line for line in told.splitlines() if line.strip().startswith(f"{name}: "))
            assert line.endswith(f"{field.default!r} by default.") and str(field.description) in line
        assert "samples: Critiques drawn for each vote (EIR: 20). An int from 3 to 10,000; 20 by default." in told


def test_a_keyword_that_is_none_is_one_clear_error() -> None:
    with pytest.raises(eirene.InputError, match="unknown setting 'sample'"):
        eirene.refine(question="Q?", answer="A.", sample=3)  # type: ignore[call-arg]
