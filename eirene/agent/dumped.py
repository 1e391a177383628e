"""What a step has just dumped is not checked again by the next: both are ours.

The state holds plain values, so that it survives a checkpoint. Reading a value back from a checkpoint checks it;
reading the very object that `dump` returned a moment ago gives the value that it came from.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, TypeVar

from pydantic import BaseModel

from eirene.critique import Critique
from eirene.scores import Scores

Json = dict[str, Any]
M = TypeVar("M", Scores, Critique)

_KEPT = 256  # a step's values are read in the steps right after it, whatever else is under way
_KEPT_PARTS = 500
"""Words, sentences and arguments: what has more is checked again each time, so that memory is bounded in bytes."""

_lock = threading.Lock()
_latest: OrderedDict[int, tuple[Json, BaseModel]] = OrderedDict()


def dump(value: M) -> Json:
    """The value's JSON form, which nobody may change."""
    data: Json = value.model_dump(mode="json")
    if _parts(value) <= _KEPT_PARTS:
        with _lock:
            _latest[id(data)] = (data, value)
            while len(_latest) > _KEPT:
                _latest.popitem(last=False)
    return data


def load(kind: type[M], data: Json) -> M:
    """The value of a JSON form. Raises pydantic's `ValidationError` where it is none."""
    held = _latest.get(id(data))
    # The object itself is held as well, so that its id cannot have gone to another one.
    if held is not None and held[0] is data and isinstance(held[1], kind):
        return held[1]
    return kind.model_validate(data)


def _parts(value: Scores | Critique) -> int:
    if isinstance(value, Critique):
        return len(value.sentences)
    return len(value.words) + len(value.sentences) + len(value.shares) + sum(1 + len(a.words) for a in value.arguments)
