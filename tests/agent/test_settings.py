"""Settings say what is wrong with a value: name, rule, value."""

from __future__ import annotations

import pytest

from eirene.agent.settings import Settings
from eirene.core.errors import InputError


def test_a_bad_value_is_named_with_its_rule() -> None:
    for values, said in [
        ({"max_rounds": 0}, "'max_rounds' must be greater than or equal to 1, got 0"),
        ({"samples": 2}, "'samples' must be greater than or equal to 3, got 2"),
        ({"mode": "best"}, "'mode' must be 'improve', 'generic', 'fine-grained', 'human' or 'edit', got 'best'"),
        ({"stop": "soon"}, "'stop' must be 'auto', 'none', 'exact' or 'beta', got 'soon'"),
        ({"seed": -1}, "'seed' must be greater than or equal to 0, got -1"),
        ({"min_consistency": 2.0}, "'min_consistency' must be less than or equal to 1, got 2.0"),
        ({"tolerance": float("nan")}, "'tolerance' must be"),
        ({"colour": 1}, "unknown setting 'colour'; known settings: mode,"),
    ]:
        with pytest.raises(InputError, match=said.replace("(", r"\(")):
            Settings.of(**values)


def test_zero_patience_stays_zero() -> None:
    assert Settings.of(patience=0).patience == 0
