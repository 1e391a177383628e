"""Tests of a table: one case for all rows, which tells every row that fails."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., Any]


def each(names: str, rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Calls a test once for each row of values for `names` (comma-separated); fixtures are shared by all rows.

    Each row of an asynchronous test has an event loop of its own.
    """
    wanted, table = [name.strip() for name in names.split(",")], list(rows)

    def decorated(test: Test) -> Test:
        @functools.wraps(test)
        def one(**fixtures: Any) -> None:
            failed = []
            for row in table:
                given = dict(zip(wanted, row if len(wanted) > 1 else (row,), strict=True))
                try:
                    outcome = test(**given, **fixtures)
                    if inspect.iscoroutine(outcome):
                        asyncio.run(outcome)
                except Exception as error:  # a failed row must not hide the next
                    error.add_note(f"the row: {str(given)[:500]}")
                    failed.append(error)
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(table)} rows fail", failed)

        kept = [p for name, p in inspect.signature(test).parameters.items() if name not in wanted]
        vars(one)["__signature__"] = inspect.Signature(kept)  # what pytest reads the fixtures from
        return one

    return decorated
