"""Where kept indexes are."""

from __future__ import annotations

from pathlib import Path

import pytest

from eirene.core.caching import cache_folder


@pytest.mark.parametrize("variable", ["EIRENE_CACHE", "XDG_CACHE_HOME", "HOME"])
def test_the_folder_follows_the_environment(variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Eirene's own variable comes before that of the desktop, and both before the home folder."""
    for name in ("EIRENE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    under = {"EIRENE_CACHE": "", "XDG_CACHE_HOME": "eirene", "HOME": ".cache/eirene"}[variable]
    assert cache_folder() == tmp_path / under
