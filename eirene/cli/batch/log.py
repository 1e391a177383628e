"""The log of a run over many rows: what would be said of each is said a few times, and counted at the end."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from eirene.cli.terminal import ToStderr, say

_MOST = 3
"""Lines of one kind that differ, such as in the name of a row."""

_Kind = tuple[str, object]
"""Who says it, and its wording without what is put in."""


@contextmanager
def seldom() -> Iterator[None]:
    """Lets each warning through once, and of those that differ only in what is put in the first few.

    With `--verbose` everything is logged.
    """
    if logging.getLogger("eirene").isEnabledFor(logging.DEBUG):
        yield
        return
    left_out, handlers = _LeftOut(), [h for h in logging.getLogger().handlers if isinstance(h, ToStderr)]
    for handler in handlers:
        handler.addFilter(left_out)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(left_out)
        left_out.tell()


class _LeftOut(logging.Filter):
    def __init__(self) -> None:
        super().__init__()
        self._said: dict[_Kind, list[str]] = {}
        self._n: Counter[_Kind] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        kind = (record.name, record.msg)
        text, said = record.getMessage(), self._said.setdefault(kind, [])
        if text in said or len(said) == _MOST:
            self._n[kind] += 1
            return False
        said.append(text)
        return True

    def tell(self) -> None:
        """Says of each kind how many more there were."""
        for kind, n in self._n.items():
            say(f"warning: {n:,} more times: {self._said[kind][0]}")
