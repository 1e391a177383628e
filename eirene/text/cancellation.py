"""Cancellation of work in threads, which checks between blocks whether it was abandoned.

No thread can be ended from outside: an overdue one is abandoned, and ends at its next check.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextvars import ContextVar


class WorkCancelledError(Exception):
    """Raised in abandoned work; nobody waits to see it."""


class CancelScope:
    """A scope of work. `cancel` may be called from any thread; scopes inside it are cancelled with it."""

    def __init__(self, around: CancelScope | None = None) -> None:
        self._around = around
        self._is_cancelled = False

    @property
    def is_cancelled(self) -> bool:
        """Whether this scope, or one around it, was cancelled."""
        return self._is_cancelled or (self._around is not None and self._around.is_cancelled)

    def cancel(self) -> None:
        """Abandons the work in this scope."""
        self._is_cancelled = True


_scope: ContextVar[CancelScope | None] = ContextVar("eirene_cancel_scope", default=None)


@contextlib.contextmanager
def cancel_scope() -> Generator[CancelScope, None, None]:
    """A scope for the work begun inside; what still runs at its end is abandoned.

    `asyncio.to_thread` and new tasks inherit it, as every context variable.
    """
    scope = CancelScope(_scope.get())
    token = _scope.set(scope)
    try:
        yield scope
    finally:
        scope.cancel()
        _scope.reset(token)


def check_cancelled() -> None:
    """To be called between blocks of long work. Raises `WorkCancelledError` where it was abandoned."""
    scope = _scope.get()
    if scope is not None and scope.is_cancelled:
        raise WorkCancelledError
