"""What is shown of a comparison: its settings once, what is undefined named."""

from __future__ import annotations

import io
import re
from typing import Any

from rich.console import Console

from eirene.views.comparison.tables import comparison_table, render_comparison, sections
from eirene.views.tables import figure

ABOUT = {"value": -0.2, "low": -0.3, "high": -0.1, "n": 8}
NONE = {"unscored": "no row is scored in both", "n": 0}


def summary(*, change: Any = None, difference: Any = None) -> dict[str, Any]:
    score = {"label": "rouge: coverage", "before": ABOUT, "after": ABOUT, "change": change or ABOUT,
             "unscored_before": 0, "unscored_after": 2}  # fmt: skip
    usage = {"calls": 1, "retries": 0, "input_tokens": 2, "output_tokens": 3, "cached_tokens": 0, "cost_usd": None,
             "seconds": 1.5}  # fmt: skip
    mode = {
        "rows": 8, "status": dict.fromkeys(("accepted", "complete", "kept", "abstained", "failed"), 1),
        "scores": {"rouge.coverage": score}, "judged": {"unscored": "no judge"}, "usage": usage,
        "spent": {name: ABOUT for name in ("input_tokens", "output_tokens", "seconds", "cost_usd")},
        "per_accepted": {"unscored": "nothing was accepted"},
    }  # fmt: skip
    line = {"measure": "rouge.coverage", "label": "rouge: coverage", "kind": "score",
            "lower_is_better": True, "difference": difference or ABOUT, "unscored": 1, "p_holm": 0.02,
            "verdict": "better" if difference is None else None}  # fmt: skip
    pair = {"a": "generic", "b": "improve", "rows": 8, "differences": [line]}
    return {
        "items": 8, "rows": 16, "seeds": [0], "modes": ["improve", "generic"], "judge": None, "judge_usage": None,
        "primary": {"measure": "rouge.coverage", "label": "rouge: coverage"},
        "signatures": {"improve": "mode:improve|seed:0|v:1", "generic": "mode:generic|seed:0|v:1"},
        "statistics": "bootstrap:10|v:1", "per_mode": {"improve": mode, "generic": mode}, "pairs": [pair],
    }  # fmt: skip


def test_a_table_names_what_is_undefined_and_the_settings_stand_once() -> None:
    text = comparison_table(summary(difference=NONE))
    assert "| coverage error (rouge) | improve | -0.200 [-0.300, -0.100]" in text
    assert "| 0 before, 2 after |\n" in text
    assert "| coverage error (rouge) | no row is scored in both | 0.02 |  | 0 | 1 |\n" in text
    assert text.count("seed:0") == 1 and text.endswith("All figures: `mode:improve/generic|seed:0|bootstrap:10|v:1`\n")
    assert "No judge was named" in text
    assert (
        "| generic minus improve | coverage error (rouge) | -0.200 [-0.300, -0.100] | 0.02 | better | 8 | 1 |\n"
        in comparison_table(summary())
    )


def test_a_figure_is_a_number_with_its_interval_or_a_reason() -> None:
    assert figure({"value": 0.5, "low": 0.25, "high": 1.0, "n": 2}, 2) == "0.50 [0.25, 1.00]"
    assert figure({"value": 0.123, "low": -0.0004, "high": 0.187}, 2, signed=True) == "+0.12 [-0.01, +0.19]"
    assert figure(NONE) == "no row is scored in both"
    assert figure({"value": 0.5, "n": 3, "clusters": 1}) == "0.500 (one item)"


def test_a_figure_near_zero_shows_its_side_and_zero_has_no_sign() -> None:
    wanted = {0.25: "+0.250", 0.0: "0.000", -1e-9: "0.000", -0.0004: "-0.0004", 0.00002: "+0.00002"}
    assert {value: figure({"value": value}, signed=True) for value in wanted} == wanted


def test_a_difference_stands_in_a_table() -> None:
    (section,) = [section for section in sections(summary()) if section.id == "differences"]
    assert section.tables[0].groups[0].name == "generic minus improve"
    assert section.tables[0].groups[0].rows[0][:2] == ("coverage error (rouge)", "-0.200 [-0.300, -0.100]")
    one = summary(difference={"value": -0.4, "n": 1, "clusters": 1}, change={"value": -0.4, "n": 1, "clusters": 1})
    (section,) = [section for section in sections(one) if section.id == "differences"]
    assert section.tables[0].groups[0].rows[0][1] == "-0.400 (one item)"


def test_a_terminal_of_80_columns_shows_the_gist() -> None:
    out = io.StringIO()
    Console(file=out, width=80, markup=False).print(render_comparison(summary()))
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert re.search(r"coverage error \(rouge\) +improve +-0\.200 +-0\.200 +-0\.200\n +generic", text)
    assert "better  coverage error (rouge) -0.200 [-0.300, -0.100]" in text
    assert text.startswith("By coverage error (rouge): generic beats improve by 0.20 [0.10, 0.30], p = 0.02.\n")


def test_what_is_zero_in_every_mode_has_no_column_and_no_row() -> None:
    """Three statuses that no row has, tokens that nobody spent, and a share that never differs are left out."""
    none = summary()
    for found in none["per_mode"].values():
        found["status"] |= {"complete": 0, "abstained": 0, "failed": 0}
        found["usage"] |= {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0}
    zero = {"value": 0.0, "low": 0.0, "high": 0.0, "n": 8}
    share = {"measure": "complete", "label": "found complete", "kind": "share", "lower_is_better": None,
             "difference": zero, "unscored": 0, "verdict": None}  # fmt: skip
    none["pairs"][0]["differences"].append(share)
    same = {"measure": "x.coverage", "label": "x: coverage", "kind": "score", "lower_is_better": True,
            "difference": zero, "unscored": 0, "verdict": "open"}  # fmt: skip
    none["pairs"][0]["differences"].append(same)
    shown = {section.id: section for section in sections(none)}
    assert shown["differences"].note == "The modes do not differ at all in: coverage error (x)."
    assert shown["outcomes"].tables[0].columns == ("Mode", "Rows", "Accepted", "Kept")
    assert shown["costs"].tables[0].columns == ("Mode", "Seconds of work")
    assert [row[0] for row in shown["differences"].tables[0].groups[0].rows] == ["coverage error (rouge)"]
    out = io.StringIO()
    Console(file=out, width=80, markup=False).print(render_comparison(none))
    assert "abstained" not in out.getvalue()


def test_a_terminal_names_what_is_undefined() -> None:
    out = io.StringIO()
    Console(file=out, width=80, markup=False).print(render_comparison(summary(difference=NONE)))
    assert "generic minus improve\n  none" in out.getvalue()
