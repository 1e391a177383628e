"""A gate over detectors of one's own choice."""

from __future__ import annotations

import pytest

from eirene.agent.backends import resolve_backend
from eirene.agent.detectors import with_detectors
from eirene.core.errors import InputError
from eirene.eval.resources import Resources
from eirene.models.scripted import ScriptedChatModel

EMBEDDED = resolve_backend("embedded")


def test_the_named_ones_take_the_place_of_the_backends_own_in_their_order() -> None:
    parts = with_detectors(EMBEDDED, ["alignment", "rouge"], Resources())
    assert [d.name for d in parts.detectors] == ["alignment", "rouge"]
    assert (parts.advisory, parts.judges) == (frozenset({"rouge"}), frozenset())
    assert parts.version is not None and "alignment:encoder=" in parts.version


def test_a_detector_that_is_only_shown_decides_where_it_is_alone() -> None:
    assert with_detectors(EMBEDDED, ["rouge"], Resources()).advisory == frozenset()


def test_one_that_asks_a_judge_can_measure_a_gain_where_nothing_was_given() -> None:
    judge = ScriptedChatModel(lambda _: "Verdict: no")
    parts = with_detectors(EMBEDDED, ["rouge", "chainpoll"], Resources(judge_model=judge))
    assert parts.judges == {"chainpoll"}


def test_a_detector_without_its_model_is_refused_with_the_option() -> None:
    with pytest.raises(InputError, match="'chainpoll' needs a judge: name a chat model with --judge"):
        with_detectors(EMBEDDED, ["chainpoll"], Resources())
