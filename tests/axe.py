"""Accessibility of a page by axe-core, in a real browser: what it violates, in both themes and at two widths.

axe-core is a package of npm; without it, or without a browser, tests marked `pytestmark = NEEDED` are skipped.

npm install --no-save --prefix build/npm openai@6 axe-core@4 && python -m pytest -n 0 tests/test_axe.py
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.server.chromium import BROWSER, Browser

SCRIPT = Path(__file__).parents[1] / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
WIDTHS = (1280, 390)
_RUN = "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)"
_MOST_PLACES = 5  # of one rule in its line


def why_not() -> str | None:
    """What keeps axe-core from running, if anything."""
    if BROWSER is None:
        return "no Chromium on this machine"
    return None if SCRIPT.is_file() else "no npm package: npm install --no-save --prefix build/npm openai@6 axe-core@4"


NEEDED = [pytest.mark.browser, pytest.mark.skipif(why_not() is not None, reason=why_not() or "")]


def violations(page: Browser) -> list[str]:
    """What the open page violates as it is now, a line per rule: its name, what it asks for, and where it is broken.

    All of axe-core's default rules run: WCAG 2 at levels A and AA, and its best practices.
    """
    if not page.read("'axe' in window"):
        page.read(f"{SCRIPT.read_text(encoding='utf-8')};0")
    return [_line(found) for found in page.read(_RUN)]


def violations_of(
    page: Browser, address: str | Path, prepare: Callable[[Browser], None] | None = None, *, height: int = 900
) -> list[str]:
    """Opens a page (an address, or a file) in both themes and at both widths, and returns what it violates in each.

    `prepare` is called with the page when it is open, for example to unfold or to choose something.
    """
    where = address.resolve().as_uri() if isinstance(address, Path) else address
    found = []
    for dark in (False, True):
        for width in WIDTHS:
            page.screen(width=width, height=height, dark=dark)
            page.open(where)
            if prepare is not None:
                prepare(page)
            theme = "dark" if dark else "light"
            found += [f"{theme}, {width} px: {line}" for line in violations(page)]
    return found


def _line(found: Any) -> str:
    nodes = found["nodes"]
    places = ", ".join(" ".join(map(str, node["target"])) for node in nodes[:_MOST_PLACES])
    more = f" and {len(nodes) - _MOST_PLACES} more" if len(nodes) > _MOST_PLACES else ""
    why = nodes[0].get("failureSummary", "").replace("\n", " ")
    return f"{found['id']} ({found['impact']}): {found['help']}; at {places}{more}. {why}"
