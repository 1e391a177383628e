"""JSON: one value read strictly, and values of Python and of tables (dates, NumPy, Arrow) as plain JSON.

Read strictly: NaN and Infinity, a key given twice, nesting without end and bytes that are not UTF-8 are errors.
"""

from __future__ import annotations

import codecs
import datetime
import decimal
import functools
import json
import math
import uuid
from collections.abc import Callable
from typing import Any, NoReturn

from eirene.core.errors import InputError
from eirene.text.unicode import mend_values

MAX_DEPTH = 100


class TooDeepError(InputError):
    """JSON that is nested too deeply to be read."""


def utf8_text(data: bytes, *, where: str) -> str:
    """UTF-8 as text; raises `InputError` that names the place for another encoding."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise InputError("is UTF-16; save it as UTF-8", where=where) from None
        found = f"byte 0x{data[error.start]:02x} at position {error.start + 1}"
        raise InputError(f"is not UTF-8 ({found}); save it as UTF-8", where=where) from None


def parse_json(data: bytes, *, where: str, from_model: bool = False) -> Any:
    """One JSON value, read strictly; raises `InputError` that names the place.

    A lone surrogate is an error, but mended where the JSON is `from_model`: no user could repair it.
    """
    text = utf8_text(data, where=where)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in text.strip() else f"column {error.colno}"
        place = "at its end" if error.pos >= len(text.rstrip()) else place
        raise InputError(f"is not JSON: {error.msg} ({place})", where=where) from None
    except _BadValueError as error:
        raise InputError(str(error), where=where) from None
    except RecursionError:
        raise TooDeepError(_too_deep(), where=where) from None
    if _is_deep(value):
        raise TooDeepError(_too_deep(), where=where)
    if "\\ud" in text or "\\uD" in text:  # an escape may be a lone surrogate
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            if from_model:
                return mend_values(value)
            raise InputError("holds half a surrogate pair (\\ud800 to \\udfff alone); repair it", where=where) from None
    return value


class _BadValueError(Exception):
    """A value that Python's JSON reader takes and this one does not."""


def _no_constant(name: str) -> NoReturn:
    raise _BadValueError(f"holds {name}, which is no JSON number; use null, or leave the key out")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _BadValueError(f"holds the number {_short(digits)}, which is too large")
    return value


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python refuses to read numbers of thousands of digits
        raise _BadValueError(f"holds the number {_short(digits)}, which is too large") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise _BadValueError(f"has the key {_short(key)!r} twice in one object; keep one of them")
        result[key] = value
    return result


_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite, parse_int=_whole, object_pairs_hook=_once)


def _short(text: str, limit: int = 24) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def _too_deep() -> str:
    return f"is nested more than {MAX_DEPTH} levels deep; a row needs four"


def _is_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for v in level
            if isinstance(v, (dict, list))
            for child in (v.values() if isinstance(v, dict) else v)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


class NotJsonableError(ValueError):
    """A value that JSON cannot hold; the message says which."""


def jsonable(value: object, *, depth: int = 0) -> Any:
    """A value of Python or of a table as plain JSON.

    NaN, NaT and null become None, dates and times ISO 8601, durations seconds, decimals and UUIDs text; NumPy, Arrow
    and pandas scalars and arrays what they hold. Raises `NotJsonableError` for infinities, bytes and everything else.
    """
    if value is None or type(value) in (str, bool):
        return value
    if depth > MAX_DEPTH:
        raise NotJsonableError(f"is nested more than {MAX_DEPTH} levels deep")
    # NumPy is known by its name, so that it is not imported for other values.
    for kinds, convert in (*_of_numpy(), *_CONVERT) if type(value).__module__ == "numpy" else _CONVERT:
        if isinstance(value, kinds):
            return convert(value, depth)
    # Scalars and arrays of NumPy, pyarrow and pandas: known by their methods, so that none needs to be installed.
    for method in ("as_py", "tolist"):
        convert_own = getattr(value, method, None)
        if callable(convert_own):
            return jsonable(convert_own(), depth=depth + 1)
    raise NotJsonableError(f"holds a value of type {type(value).__name__}, which JSON has no word for")


def _plain_finite(value: float) -> float | None:
    if math.isnan(value):
        return None
    if math.isinf(value):
        raise NotJsonableError("holds Infinity, which JSON has no word for")
    return value


def _key(key: object) -> str:
    if isinstance(key, str):
        return str(key)
    if isinstance(key, (int, datetime.date)) and not isinstance(key, bool):
        return str(key) if isinstance(key, int) else key.isoformat()
    raise NotJsonableError(f"has a key that is no text: {key!r}"[:120])


def _iso(value: Any, _: int) -> str | None:
    text: str = value.isoformat()
    return None if text == "NaT" else text


def _object(value: dict[object, object], depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, inner in value.items():
        name = _key(key)
        if name in found:
            raise NotJsonableError(f"has the key {name!r} twice")
        found[name] = jsonable(inner, depth=depth + 1)
    return found


def _bytes(value: bytes, _: int) -> None:
    raise NotJsonableError(f"holds {len(value)} bytes, which are no text")


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
    (float, lambda value, _: _plain_finite(float(value))),
    (dict, _object),
    ((list, tuple), lambda value, depth: [jsonable(inner, depth=depth + 1) for inner in value]),
    ((datetime.date, datetime.time), _iso),
    (datetime.timedelta, lambda value, _: value.total_seconds()),
    (decimal.Decimal, lambda value, _: str(value) if value.is_finite() else _plain_finite(float(value))),
    (uuid.UUID, lambda value, _: str(value)),
    ((bytes, bytearray, memoryview), _bytes),
)
"""The conversion of each type; the first that fits counts."""
