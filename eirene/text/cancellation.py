"""Cancellation of work that runs in threads: between blocks it looks whether somebody still waits for it.

No thread can be ended from outside. Who waits leaves an overdue one behind, and that one ends at its next look.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextvars import ContextVar


class WorkCancelledError(Exception):
    """Raised in work that was left behind; nobody sees it, since nobody waits."""


class CancelScope:
    """Work under a deadline. `cancel` may be called from any thread; scopes inside it are cancelled with it."""

    def __init__(self, around: CancelScope | None = None) -> None:
        self._around = around
        self._is_cancelled = False

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits any more for what runs in this scope."""
        return self._is_cancelled or (self._around is not None and self._around.is_cancelled)

    def cancel(self) -> None:
        """Leaves what runs in this scope behind."""
        self._is_cancelled = True


_scope: ContextVar[CancelScope | None] = ContextVar("eirene_cancel_scope", default=None)


@contextlib.contextmanager
def cancel_scope() -> Generator[CancelScope, None, None]:
    """A scope for what is called and begun within; what still runs at the end of it is left behind.

    `asyncio.to_thread` and new tasks take it along, as they do every context variable.
    """
    scope = CancelScope(_scope.get())
    token = _scope.set(scope)
    try:
        yield scope
    finally:
        scope.cancel()
        _scope.reset(token)


def check_cancelled() -> None:
    """To be called between blocks of long work. Raises `WorkCancelledError` where it was left behind."""
    scope = _scope.get()
    if scope is not None and scope.is_cancelled:
        raise WorkCancelledError
