"""The verdict of a comparison: who beats whom by how much, what cannot be told, and why."""

from __future__ import annotations

from typing import Any

from eirene.agent.experiments import compare_summary
from eirene.views.comparison import verdict as module
from eirene.views.comparison.verdict import deciding, lead, verdict
from tests.views.comparisons import MODES, compared_rows, summary_of

COVERAGE = ("alignment: coverage", "score")
HALLUCINATION = ("alignment: hallucination", "score")
JUDGE = ("answers with an error (judge)", "share")
Line = tuple[tuple[str, str], float, float, float]


def line(of: tuple[str, str], value: float, low: float, high: float, **more: Any) -> dict[str, Any]:
    said = "open" if low <= 0 <= high else "better" if high < 0 else "worse"
    found = {"value": value, "low": low, "high": high, "n": 200, "clusters": 200}
    return {"measure": "m", "label": of[0], "kind": of[1], "lower_is_better": True, "advisory": False,
            "difference": found, "verdict": said, "unscored": 0, **more}  # fmt: skip


def summary(**pairs: list[dict[str, Any]]) -> dict[str, Any]:
    """Of pairs named `fine_generic`: the first minus the second."""
    named = [(*name.split("_"), lines) for name, lines in pairs.items()]
    modes = list(dict.fromkeys(mode for *both, _ in named for mode in both))
    return {"items": 200, "modes": modes, "pairs": [{"a": a, "b": b, "differences": d} for a, b, d in named]}


BETTER = line(COVERAGE, -0.12, -0.19, -0.05)
OPEN = line(COVERAGE, -0.01, -0.05, 0.04)


def test_a_winner_is_named_with_its_largest_difference_and_the_rest_is_open() -> None:
    found = summary(fine_generic=[BETTER, line(HALLUCINATION, -0.02, -0.03, -0.01)], generic_improve=[OPEN])
    assert verdict(found) == (
        "fine beats generic: coverage error (alignment) lower by 0.12 [0.05, 0.19]; "
        "between improve and generic no difference can be told."
    )
    assert (deciding(found), lead(found)) == (3, "alignment: coverage")


def test_the_second_mode_of_a_pair_can_win() -> None:
    assert verdict(summary(fine_generic=[line(COVERAGE, 0.12, 0.05, 0.19)])) == (
        "generic beats fine: coverage error (alignment) lower by 0.12 [0.05, 0.19]."
    )


def test_the_judge_who_is_independent_of_the_gate_is_named_first() -> None:
    found = summary(fine_generic=[BETTER, line(JUDGE, -0.04, -0.07, -0.01)])
    assert verdict(found) == "fine beats generic: answers with an error (judge) lower by 0.04 [0.01, 0.07]."


def test_better_at_one_thing_and_worse_at_another_is_no_victory() -> None:
    found = summary(fine_generic=[BETTER, line(HALLUCINATION, 0.03, 0.01, 0.05)])
    assert verdict(found) == (
        "fine against generic is mixed: coverage error (alignment) lower by 0.12 [0.05, 0.19], "
        "but hallucination error (alignment) higher by 0.03 [0.01, 0.05]."
    )


def test_neither_advice_nor_cost_nor_acceptance_makes_a_mode_better() -> None:
    rows: list[dict[str, Any]] = [{"advisory": True}, {"kind": "price"}, {"lower_is_better": None, "verdict": None}]
    for more in rows:
        found = summary(fine_generic=[OPEN, {**BETTER, **more}])
        assert verdict(found) == "No difference between fine and generic can be told: every interval includes 0."


def test_many_open_pairs_are_counted_and_not_listed() -> None:
    found = summary(a_b=[BETTER], a_c=[OPEN], b_c=[OPEN], b_d=[OPEN])
    assert verdict(found).endswith("; in the other 3 pairs no difference can be told.")


def test_further_pairs_are_counted() -> None:
    small = line(COVERAGE, -0.06, -0.09, -0.02)
    found = summary(a_b=[BETTER], a_c=[small], a_d=[BETTER], b_c=[BETTER], c_d=[BETTER], b_d=[OPEN])
    assert verdict(found) == (
        "a beats b: coverage error (alignment) lower by 0.12 [0.05, 0.19]; "
        "a beats c: coverage error (alignment) lower by 0.06 [0.02, 0.09]; "
        "a beats d: coverage error (alignment) lower by 0.12 [0.05, 0.19]; "
        "2 other pairs differ, too; between d and b no difference can be told."
    )


def test_few_items_and_nothing_measured_are_given_as_the_reason() -> None:
    assert verdict(summary_of(compared_rows(3))) == (
        "No difference between the 3 modes can be told: 3 items scored in both, and at least 6 are needed."
    )
    assert module.FEWEST_ITEMS == compare_summary.FEWEST_ITEMS
    unmeasured = {**OPEN, "verdict": None, "difference": {"unscored": "no row is scored in both", "n": 0}}
    assert "no error was measured that two modes share" in verdict(summary(fine_generic=[unmeasured]))


def test_one_mode_is_compared_with_the_originals() -> None:
    one = summary_of(compared_rows(30, modes=("fine-grained",)))
    assert verdict(one).startswith(
        "One mode, fine-grained: coverage error (rule) lower than in the original answers by"
    )
    same = summary_of(compared_rows(30, modes=("improve",)))
    assert verdict(same) == "One mode, improve; no change of the original answers' errors can be told."


def test_modes_that_do_the_same_are_not_told_apart() -> None:
    equal = summary_of(compared_rows(60, gains=dict.fromkeys(MODES, 0.1)))
    assert verdict(equal) == "No difference between the 3 modes can be told: every interval includes 0."
