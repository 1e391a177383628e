"""A checkpointer that an abandoned run no longer uses, since its caller may close the connection behind it.

Of a run past its deadline the thread goes on until it next looks, and LangGraph writes the step's error even then. A
SQLite connection that is closed during a write takes the whole process with it.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointMetadata, CheckpointTuple

from eirene.text.cancellation import check_cancelled

T = TypeVar("T")


class GuardedSaver(BaseCheckpointSaver[Any]):
    """A checkpointer of LangGraph's that is not async, for runs that may be abandoned.

    Inside a scope that was cancelled nothing is read or written any more (`WorkCancelledError`). `settle`, after the
    cancelling, waits for what is under way: from then on the run leaves the checkpointer alone.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], *, lock: threading.Lock | None = None) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._lock = threading.Lock() if lock is None else lock
        self._takes_path = "task_path" in inspect.signature(saver.put_writes).parameters

    def settle(self, timeout_s: float) -> bool:
        """Waits for the call that is under way, if any. False where it has not ended in time."""
        has_ended = self._lock.acquire(timeout=timeout_s)
        if has_ended:
            self._lock.release()
        return has_ended

    @property
    def config_specs(self) -> list[Any]:
        """Those of the checkpointer."""
        return self._saver.config_specs

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpointer's, while the run is waited for."""
        return self._guarded(lambda: self._saver.get_tuple(config))

    def list(self, *args: Any, **kwargs: Any) -> Iterator[CheckpointTuple]:
        """The checkpointer's, read to the end while the run is waited for."""
        return iter(self._guarded(lambda: [*self._saver.list(*args, **kwargs)]))

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: Any
    ) -> RunnableConfig:
        """The checkpointer's, while the run is waited for."""
        return self._guarded(lambda: self._saver.put(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """The checkpointer's, while the run is waited for. Older ones take no `task_path`."""
        path = [task_path] if self._takes_path else []
        self._guarded(lambda: self._saver.put_writes(config, writes, task_id, *path))

    def get_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, Any]:
        """The checkpointer's, while the run is waited for."""
        return self._guarded(lambda: self._saver.get_delta_channel_history(config=config, channels=channels))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The checkpointer's, which only computes."""
        return self._saver.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[Any]:
        """The same over the checkpointer with the allowlist."""
        return GuardedSaver(self._saver.with_allowlist(extra_allowlist), lock=self._lock)

    def _guarded(self, call: Callable[[], T]) -> T:
        with self._lock:
            check_cancelled()
            return call()
