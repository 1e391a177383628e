"""The condition language: what it reads, what it refuses, and how a condition is judged."""

from __future__ import annotations

import pytest

from eirene.agent.check.report import judge, parse_condition
from eirene.core.errors import InputError
from eirene.core.quality import Condition, Figure


def parsed(text: str, *, has_baseline: bool = True) -> Condition:
    return parse_condition(text, ("alignment", "chainpoll-adherence"), has_baseline=has_baseline)


def test_a_condition_is_a_quantity_a_comparison_and_a_limit() -> None:
    for text, again in {
        "worse > 2%": "worse > 2%",
        "  worse>=2.50 % ": "worse >= 2.5%",
        "contradicted > 3": "contradicted > 3",
        "better < 5%": "better < 5%",
        "alignment.coverage > 0.3": "alignment.coverage > 0.3",
        "chainpoll-adherence.hallucination >= 1": "chainpoll-adherence.hallucination >= 1",
    }.items():
        assert str(parsed(text)) == again
        assert parsed(again) == parsed(text)


REFUSED = {
    "worse": "must be QUANTITY > LIMIT",
    "worse > two": "must be QUANTITY > LIMIT",
    "worse > -1%": "must be QUANTITY > LIMIT",
    "worse > 2% or better < 3": "must be QUANTITY > LIMIT",
    "worse > 1e400%": "must be QUANTITY > LIMIT",
    "wrose > 2%": "unknown quantity 'wrose'; known: worse, better",
    "worse > 101%": "at most 100%",
    "worse > 2.5": "a whole number; for a share write %",
    "worse < 2%": "fewer are better: it takes > or >=",
    "better > 2%": "good rows: it takes < or <=",
    "alignment.coverage < 0.9": "fewer are better",
    "alignment.coverage > 20%": "takes no %",
    "alignment.coverage > 2": "at most 1",
    "alignment.recall > 0.2": "a detector has hallucination and coverage",
    "rouge.coverage > 0.2": "the detector 'rouge' does not score here; those that do: alignment",
}


def test_what_is_no_condition_is_refused_with_what_was_wanted() -> None:
    wrong = {}
    for text, said in REFUSED.items():
        with pytest.raises(InputError) as raised:
            parsed(text)
        assert "--" not in str(raised.value)
        if said not in str(raised.value):
            wrong[text] = str(raised.value)
    assert wrong == {}
    for name in ("worse", "net", "missing", "new"):
        with pytest.raises(InputError, match="needs a baseline"):
            parsed(f"{name} > 0", has_baseline=False)


def test_shares_are_judged_exactly() -> None:
    table = [
        ("worse > 2%", 4, 200, "passed"),
        ("worse > 2%", 5, 200, "holds"),
        ("worse >= 2%", 4, 200, "holds"),
        ("worse > 29%", 29, 100, "passed"),  # 0.29 is no binary fraction
        ("worse > 3", 3, 10, "passed"),
        ("worse > 3", 4, 1000, "holds"),
        ("better < 5%", 0, 10, "holds"),
        ("net > 0", -3, 10, "passed"),
    ]
    found = []
    for text, rows, n, _ in table:
        condition = parsed(text)
        found.append((text, rows, n, judge(condition, Figure(condition.quantity, rows / n, rows, n)).state))
    assert found == table


def test_a_quantity_that_could_not_be_measured_is_no_pass() -> None:
    outcome = judge(parsed("incomplete > 2%"), Figure("incomplete", None, why="no row has perspectives"))
    assert (outcome.state, outcome.why) == ("unmeasured", "no row has perspectives")


def test_a_limit_inside_the_interval_is_said() -> None:
    near = Figure("worse", 0.1, 1, 10, low=0.02, high=0.4)
    assert "chance may decide" in (judge(parsed("worse > 20%"), near).why or "")
    assert judge(parsed("worse > 50%"), near).why is None
