"""Within a long run garbage is collected seldom; afterwards everything is as it was, also after an error."""

from __future__ import annotations

import gc

import pytest

from eirene.core.garbage import rare_collections, rare_collections_while_loading


def test_settings_are_put_back_after_an_error_too() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with pytest.raises(RuntimeError), rare_collections():
        assert gc.get_threshold()[0] > before[0]
        assert gc.get_freeze_count() > frozen
        raise RuntimeError("a row")
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_while_loading_nothing_is_frozen_and_the_settings_are_put_back() -> None:
    before = gc.get_threshold()
    with pytest.raises(RuntimeError), rare_collections_while_loading():
        assert gc.get_threshold()[0] > before[0]
        assert gc.get_freeze_count() == 0
        raise RuntimeError("a command")
    assert gc.get_threshold() == before
