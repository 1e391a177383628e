"""What is said where a local model runs out of memory: an error of its backend, and so a score that is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eirene.core.errors import BackendError


@contextmanager
def memory_told(name: str, what: str) -> Iterator[None]:
    """Around a pass of the model `name` over `what`; raises `BackendError` where the memory does not suffice."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise BackendError(f"{name}: out of memory with {what}; use a narrower dtype or another device") from error
