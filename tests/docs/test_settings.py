"""The table of settings that the site makes from the code, where each is declared once."""

from __future__ import annotations

import runpy

from eirene.agent.settings import Settings

from .pages import DOCS, read_page


def test_the_site_s_page_has_a_row_for_every_setting_with_its_flag_bounds_and_meaning() -> None:
    page = runpy.run_path(str(DOCS / "site/fields.py"))["on_page_markdown"](read_page("reference/settings"))
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line[:3] == "| `"]
    assert [row[0] for row in rows] == [f"`{name}`" for name in Settings.model_fields]
    assert [row[4] for row in rows] == [field.description for field in Settings.model_fields.values()]
    told = {row[0].strip("`"): row[1:4] for row in rows}
    assert told["max_rounds"] == ["`--max-rounds`", "2", "from 1 to 100"]
    assert told["deadline_s"] == ["`--item-deadline`", "600", "above 0"]
    assert told["partial"] == ["`--partial`", "`undo`", "`undo`, `reject`"]
    assert told["seed"] == ["`--seed`", "0", "from 0 to 2^63 - 1"]
    assert told["min_gain"][0] == "none"
