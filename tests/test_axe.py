"""axe-core is really asked: a page that breaks its rules is told of, in the theme and at the width where it does."""

from __future__ import annotations

from pathlib import Path

from tests.agent.server.chromium import browser
from tests.axe import NEEDED, violations_of

pytestmark = NEEDED

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body { color: #111; background: #fff } p { color: #111 } STYLE</style></head>
<body><main><h1>A page</h1><p>With a paragraph.</p>MORE</main></body></html>"""


def test_what_a_page_violates_is_told_and_nothing_else(tmp_path: Path) -> None:
    """A sound page violates nothing; one with faint text in the dark and a field without a name is told of both."""
    sound, unsound = tmp_path / "sound.html", tmp_path / "unsound.html"
    sound.write_text(PAGE.replace("STYLE", "").replace("MORE", ""), encoding="utf-8")
    faint = "@media (prefers-color-scheme: dark) { p { color: #999 } }"
    unsound.write_text(PAGE.replace("STYLE", faint).replace("MORE", "<input>"), encoding="utf-8")
    with browser(tmp_path / "profile") as page:
        assert violations_of(page, sound) == []
        found = violations_of(page, unsound)
        assert [line.partition(" (")[0] for line in found] == [
            "light, 1280 px: label", "light, 390 px: label",
            "dark, 1280 px: color-contrast", "dark, 1280 px: label",
            "dark, 390 px: color-contrast", "dark, 390 px: label",
        ]  # fmt: skip
        assert "; at input." in found[0]
        seen: list[str] = []
        mended = violations_of(
            page, unsound, lambda tab: seen.append(tab.read("document.querySelector('input').ariaLabel = 'Name'"))
        )
        assert len(seen) == 4
        assert [line.partition(" (")[0] for line in mended] == [
            "dark, 1280 px: color-contrast",
            "dark, 390 px: color-contrast",
        ]
