"""Values of tables and of Python as plain JSON: dates, decimals, NumPy and Arrow scalars, missing values."""

from __future__ import annotations

import datetime
import decimal
import functools
import math
import uuid
from collections.abc import Callable
from typing import Any

MAX_DEPTH = 100


class NotPlainError(ValueError):
    """A value that JSON has no word for; the message says which."""


def plain(value: object, *, depth: int = 0) -> Any:
    """The value in JSON's words.

    NaN, NaT and null are None (tables write a missing value as any of them). Dates and times are ISO 8601, durations
    seconds, decimals and UUIDs their text; NumPy, Arrow and pandas scalars and arrays are what they hold. Raises
    `NotPlainError` for infinities, bytes and everything else.
    """
    if value is None or type(value) in (str, bool):
        return value
    if depth > MAX_DEPTH:
        raise NotPlainError(f"is nested more than {MAX_DEPTH} levels deep")
    # NumPy is known by its name, so that who gives no such value need not wait for it to load.
    for kinds, convert in (*_of_numpy(), *_CONVERT) if type(value).__module__ == "numpy" else _CONVERT:
        if isinstance(value, kinds):
            return convert(value, depth)
    # Scalars and arrays of NumPy, pyarrow and pandas: known by what they can do, so that none needs to be there.
    for method in ("as_py", "tolist"):
        convert_own = getattr(value, method, None)
        if callable(convert_own):
            return plain(convert_own(), depth=depth + 1)
    raise NotPlainError(f"holds a value of type {type(value).__name__}, which JSON has no word for")


def _finite(value: float) -> float | None:
    if math.isnan(value):
        return None
    if math.isinf(value):
        raise NotPlainError("holds Infinity, which JSON has no word for")
    return value


def _key(key: object) -> str:
    if isinstance(key, str):
        return str(key)
    if isinstance(key, (int, datetime.date)) and not isinstance(key, bool):
        return str(key) if isinstance(key, int) else key.isoformat()
    raise NotPlainError(f"has a key that is no text: {key!r}"[:120])


def _iso(value: Any, _: int) -> str | None:
    text: str = value.isoformat()
    return None if text == "NaT" else text


def _object(value: dict[object, object], depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, inner in value.items():
        name = _key(key)
        if name in found:
            raise NotPlainError(f"has the key {name!r} twice")
        found[name] = plain(inner, depth=depth + 1)
    return found


def _bytes(value: bytes, _: int) -> None:
    raise NotPlainError(f"holds {len(value)} bytes, which are no text")


@functools.cache
def _of_numpy() -> tuple[tuple[Any, Callable[[Any, int], Any]], ...]:
    import numpy as np

    return (
        (np.datetime64, lambda value, _: None if np.isnat(value) else str(value)),
        (np.timedelta64, lambda value, _: None if np.isnat(value) else float(value / np.timedelta64(1, "s"))),
    )


_CONVERT: tuple[tuple[Any, Callable[[Any, int], Any]], ...] = (
    (str, lambda value, _: str(value)),
    (bool, lambda value, _: bool(value)),
    (int, lambda value, _: int(value)),
    (float, lambda value, _: _finite(float(value))),
    (dict, _object),
    ((list, tuple), lambda value, depth: [plain(inner, depth=depth + 1) for inner in value]),
    ((datetime.date, datetime.time), _iso),
    (datetime.timedelta, lambda value, _: value.total_seconds()),
    (decimal.Decimal, lambda value, _: str(value) if value.is_finite() else _finite(float(value))),
    (uuid.UUID, lambda value, _: str(value)),
    ((bytes, bytearray, memoryview), _bytes),
)
"""What becomes of values of each type, the first that fits."""
