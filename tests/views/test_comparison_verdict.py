"""The verdict of a comparison: who beats whom by how much on one measure, what cannot be told, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from eirene.agent.experiments import compare_summary
from eirene.views.comparison import verdict as module
from eirene.views.comparison.tables import comparison_table
from eirene.views.comparison.verdict import cautions, verdict
from tests.views.comparisons import MODES, compared_rows, random_rows, summary_of

COVERAGE = ("alignment: coverage", "score")
HALLUCINATION = ("alignment: hallucination", "score")
Line = tuple[tuple[str, str], float, float, float]


def line(of: tuple[str, str], value: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    said = "open" if low <= 0 <= high else "better" if high < 0 else "worse"
    found = {"value": value, "low": low, "high": high, "n": 200, "clusters": 200}
    return {"measure": of[0], "label": of[0], "kind": of[1], "lower_is_better": True, "advisory": False,
            "difference": found, "verdict": said, "unscored": 0, "p_holm": 0.004, **more}  # fmt: skip


def summary(**pairs: list[dict[str, Any]]) -> dict[str, Any]:
    """Of pairs named `fine_generic`: the first minus the second; the first measure is the primary one."""
    named = [(*name.split("_"), lines) for name, lines in pairs.items()]
    modes = list(dict.fromkeys(mode for *both, _ in named for mode in both))
    first = next(iter(pairs.values()))[0]
    primary = {"measure": first["measure"], "label": first["label"]}
    found = [{"a": a, "b": b, "differences": d} for a, b, d in named]
    return {"items": 200, "modes": modes, "primary": primary, "pairs": found}


BETTER = line(COVERAGE, -0.12, -0.19, -0.05)
OPEN = line(COVERAGE, -0.01, -0.05, 0.04)
SAID = "by 0.12 [0.05, 0.19], p = 0.004"


def test_a_winner_is_named_by_the_primary_measure_and_the_rest_is_open() -> None:
    found = summary(fine_generic=[BETTER, line(HALLUCINATION, -0.2, -0.3, -0.1)], generic_improve=[OPEN])
    assert verdict(found) == (
        f"By coverage error (alignment): fine beats generic {SAID}; "
        "between improve and generic no difference can be told."
    )
    other = summary(fine_generic=[line(COVERAGE, 0.12, 0.05, 0.19)])
    assert verdict(other) == f"By coverage error (alignment): generic beats fine {SAID}."


def test_better_at_one_thing_and_worse_at_another_is_no_victory() -> None:
    found = summary(fine_generic=[BETTER, line(HALLUCINATION, 0.03, 0.01, 0.05)])
    assert verdict(found) == (
        f"By coverage error (alignment): fine is lower than generic {SAID}, "
        "but higher in hallucination error (alignment) by 0.03 [0.01, 0.05], p = 0.004."
    )
    advised = summary(fine_generic=[BETTER, line(HALLUCINATION, 0.03, 0.01, 0.05, advisory=True)])
    assert "fine beats generic" in verdict(advised)


def test_pairs_are_told_up_to_three_and_open_ones_up_to_two() -> None:
    small = line(COVERAGE, -0.06, -0.09, -0.02)
    found = summary(a_b=[BETTER], a_c=[small], a_d=[BETTER], b_c=[BETTER], c_d=[BETTER], b_d=[OPEN])
    assert verdict(found) == (
        f"By coverage error (alignment): a beats b {SAID}; a beats c by 0.06 [0.02, 0.09], p = 0.004; "
        f"a beats d {SAID}; 2 other pairs differ, too; between d and b no difference can be told."
    )
    many = summary(a_b=[BETTER], a_c=[OPEN], b_c=[OPEN], b_d=[OPEN])
    assert verdict(many).endswith("; in the other 3 pairs no difference can be told.")


def test_few_items_and_nothing_measured_are_given_as_the_reason() -> None:
    assert verdict(summary_of(compared_rows(3))) == (
        "No difference in coverage error (rule) between the 3 modes can be told: "
        "3 items scored in all, and at least 6 are needed."
    )
    assert (module.FEWEST_ITEMS, module.LEAST) == (compare_summary.FEWEST_ITEMS, compare_summary.LEAST)
    assert "no error was measured that two modes share" in verdict({**summary(a_b=[OPEN]), "primary": None})


def test_one_mode_is_compared_with_the_originals() -> None:
    one = summary_of(compared_rows(30, modes=("fine-grained",)))
    assert verdict(one).startswith(
        "One mode, fine-grained: coverage error (rule) lower than in the original answers by"
    )
    same = summary_of(compared_rows(30, modes=("improve",)))
    assert verdict(same) == "One mode, improve; no change of the original answers' errors can be told."


def test_modes_that_do_the_same_are_not_told_apart_and_one_that_does_nothing_is_named() -> None:
    equal = summary_of(compared_rows(60, gains=dict.fromkeys(MODES, 0.1)))
    assert verdict(equal).endswith("between the 3 modes can be told: none is beyond chance.")
    equal["per_mode"]["improve"]["rewritten"] = 0
    assert next(cautions(equal)) == "In no row was anything rewritten in mode improve."


def test_that_passages_are_not_all_said_is_no_error_and_decides_nothing() -> None:
    rows = [row.model_copy(update={"given": "context"}) for row in compared_rows(12)]
    found = summary_of(rows)
    assert found["primary"]["measure"] == "rule.hallucination"
    assert "coverage" not in comparison_table(found)


_TOLD = re.compile(r"([\w-]+) (?:beats|is lower than) ([\w-]+) by [\d.]+ \[([\d.]+), [\d.]+\], p = ([\d.e-]*\d)")


def test_no_verdict_on_200_random_tables_is_circular_or_says_against_itself() -> None:
    """Nobody beats a mode that beats it, over others or not; no interval that is shown touches 0; p is at most 0.05."""
    told = 0
    for seed in range(200):
        found = summary_of(random_rows(np.random.default_rng(seed)))
        text = verdict(found)
        beaten: Mapping[str, set[str]] = {mode: set() for mode in found["modes"]}
        for winner, loser, low, p in _TOLD.findall(text):
            told += 1
            beaten[winner].add(loser)
            assert float(low) > 0 and float(p) <= 0.05, text
            assert f"between {winner} and {loser} no" not in text and f"between {loser} and {winner} no" not in text
        for mode in beaten:
            below, new = set[str](), beaten[mode]
            while new:
                below |= new
                new = {m for b in below for m in beaten[b]} - below
            assert mode not in below, text
        assert "beats" not in text or not text.startswith("No difference")
    assert told > 100
