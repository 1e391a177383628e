"""The page in a real browser: nothing to complain of, nothing asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from eirene.core.records import Item
from eirene.views.report import render_page
from tests import axe
from tests.agent.server.chromium import Browser, browser
from tests.views.records import ITEM, record

BROWSER = next((b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if b), None)
FLAGS = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--enable-logging=stderr", "--v=0",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_browser_finds_nothing_to_complain_of(tmp_path: Path) -> None:
    """No message in the console (a policy that blocks the page's own parts would be one), and the script has run."""
    assert BROWSER is not None
    path = tmp_path / "page.html"
    path.write_text(render_page(record("accepted"), item=Item.model_validate(ITEM)), encoding="utf-8")
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    command = [BROWSER, *FLAGS, *sandbox, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in done.stderr
    assert '<p class="download"><a id="download"' in done.stdout
    assert 'href="blob:' in done.stdout


@pytest.mark.parametrize("status", ["accepted", "kept", "failed"])
class TestEverybody:
    """A page by axe-core, in both themes and at two widths, as it opens and with every fold open."""

    pytestmark = axe.NEEDED

    def test_can_read_it(self, tab: Browser, tmp_path: Path, status: str) -> None:
        path = tmp_path / "page.html"
        found = record(status)
        path.write_text(render_page(found, item=Item.model_validate({**ITEM, "answer": found.original})), "utf-8")
        unfold = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
        assert axe.violations_of(tab, path) == []
        assert axe.violations_of(tab, path, lambda page: page.read(unfold)) == []
