"""The chain of an exception: itself, and every exception that it came from."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator


def error_chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and all that it came from, the nearest first and each once; of a group, its members too.

    What an exception came from is its cause (`raise ... from`) or else what was being handled when it was raised; also
    where `from None` keeps that out of tracebacks, as Ollama's client does with what the system said.
    """
    waiting, seen = deque([error]), {id(error)}  # an exception may be its own cause's cause
    while waiting:
        link = waiting.popleft()
        yield link
        members = link.exceptions if isinstance(link, BaseExceptionGroup) else ()
        for below in (*members, link.__cause__ or link.__context__):
            if below is not None and id(below) not in seen:
                seen.add(id(below))
                waiting.append(below)


def root_cause(error: BaseException) -> BaseException:
    """Where the causes of an exception begin: what was merely being handled beside it tells of something else."""
    seen = {id(error)}
    while error.__cause__ is not None and id(error.__cause__) not in seen:
        error = error.__cause__
        seen.add(id(error))
    return error
