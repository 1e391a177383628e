"""Within a long run garbage is collected seldom; afterwards everything is as it was, also after an error."""

from __future__ import annotations

import gc

import pytest

from eirene.core.garbage import rare_collections


def test_settings_are_put_back_after_an_error_too() -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with pytest.raises(RuntimeError), rare_collections():
        assert gc.get_threshold()[0] > before[0]
        assert gc.get_freeze_count() > frozen
        raise RuntimeError("a row")
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
