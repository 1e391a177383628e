"""A checkpointer that is not async, for a run on an event loop of its own that may be abandoned.

An abandoned run no longer uses it, since its caller may close the connection behind it: past its deadline the thread
goes on until it next looks, and LangGraph writes the step's error even then. A SQLite connection that is closed during
a write takes the whole process with it.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointMetadata, CheckpointTuple

from eirene.text.cancellation import check_cancelled

T = TypeVar("T")


class GuardedSaver(BaseCheckpointSaver[Any]):
    """The async face of a checkpointer of LangGraph's without one: each call holds up the event loop.

    Inside a scope that was cancelled nothing is read or written any more (`WorkCancelledError`). `settle`, after the
    cancelling, waits for what is under way: from then on the run leaves the checkpointer alone.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], *, lock: threading.Lock | None = None) -> None:
        super().__init__(serde=saver.serde)
        self.saver = saver
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
        return self.saver.config_specs

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpointer's, while the run is waited for."""
        return self._guarded(lambda: self.saver.get_tuple(config))

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: Any
    ) -> RunnableConfig:
        """The checkpointer's, while the run is waited for."""
        return self._guarded(lambda: self.saver.put(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """The checkpointer's, while the run is waited for. Older ones take no `task_path`."""
        path = [task_path] if self._takes_path else []
        self._guarded(lambda: self.saver.put_writes(config, writes, task_id, *path))

    async def aget_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, Any]:
        """The checkpointer's, while the run is waited for."""
        return self._guarded(lambda: self.saver.get_delta_channel_history(config=config, channels=channels))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The checkpointer's, which only computes."""
        return self.saver.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[Any]:
        """The same over the checkpointer with the allowlist."""
        return GuardedSaver(self.saver.with_allowlist(extra_allowlist), lock=self._lock)

    def _guarded(self, call: Callable[[], T]) -> T:
        with self._lock:
            check_cancelled()
            return call()
