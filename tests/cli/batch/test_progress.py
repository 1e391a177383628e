"""What a batch says of itself while it runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from eirene.agent.batch.journal import BatchLine, Totals
from eirene.cli.progress import batch_line
from eirene.core.usage import Usage


def batch(*, made: int, under_way: int) -> Any:
    totals = Totals()
    for _ in range(made):
        usage = Usage(calls=1, input_tokens=10, cost_usd=0.5 / made)
        totals.add(BatchLine(id="a", hash="0" * 16, status="accepted", usage=usage))
    names = dict.fromkeys(map(str, range(under_way)))
    return SimpleNamespace(made=totals, totals=totals, n_rows=100, n_left=100 - made, under_way=names)


def test_the_time_left_is_told_when_as_many_rows_have_ended_as_are_under_way() -> None:
    """The first of many side by side says nothing of the others; what it has cost is told from the first on."""
    for made, under_way, is_told in (
        (0, 0, False), (1, 0, False), (1, 31, False), (31, 31, False), (32, 31, True), (2, 1, True),
    ):  # fmt: skip
        line = batch_line(batch(made=made, under_way=under_way), 2.0)
        assert ("left" in line, "rows/s" in line) == (is_told, is_told), line
        assert f"{made} of 100 rows" in line
        assert ("$0.5000" in line) == (made > 0), line
