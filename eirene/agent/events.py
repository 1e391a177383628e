"""What a run tells while it runs: small, plain events, in the order in which things happen.

They come out of the graph as LangGraph's `custom` stream, and of `refine` through `on_event`.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

EventKind = Literal["node_started", "node_finished", "sample", "critique", "scores", "decision"]


class Event(TypedDict):
    """One event. `node` and `round` (from 1) are always there; the rest goes with its kind.

    - `sample`: `n` of `total` critiques have been drawn, `valid` says whether this one may vote
    - `critique`, `scores`, `decision`: `text` says in a few words what was found
    - `node_finished`: `seconds` that the node took
    """

    kind: EventKind
    node: str
    round: int
    n: NotRequired[int]
    total: NotRequired[int]
    valid: NotRequired[bool]
    text: NotRequired[str]
    seconds: NotRequired[float]
