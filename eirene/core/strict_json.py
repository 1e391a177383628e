"""One JSON value, read strictly.

NaN and Infinity, a key given twice and nesting without end are errors, as is anything that is not UTF-8.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from eirene.core.errors import InputError
from eirene.text.unicode import whole_values

MAX_DEPTH = 100


def parse_json(data: bytes, *, where: str, from_model: bool = False) -> Any:
    """One JSON value, read strictly; raises `InputError` that names the place.

    Half a surrogate pair is refused, but `from_model` mended: a model's words are not the user's to repair.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError("is UTF-16; save it as UTF-8", where=where) from None
        found = f"byte 0x{data[error.start]:02x} at position {error.start + 1}"
        raise InputError(f"is not UTF-8 ({found}); save it as UTF-8", where=where) from None
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in text.strip() else f"column {error.colno}"
        raise InputError(f"is not JSON: {error.msg} ({place})", where=where) from None
    except _BadValueError as error:
        raise InputError(str(error), where=where) from None
    except RecursionError:
        raise InputError(_too_deep(), where=where) from None
    if _is_deep(value):
        raise InputError(_too_deep(), where=where)
    if "\\ud" in text or "\\uD" in text:  # an escape may stand for half a character
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            if from_model:
                return whole_values(value)
            raise InputError("holds half a surrogate pair (\\ud800 to \\udfff alone); repair it", where=where) from None
    return value


class _BadValueError(Exception):
    """Legal for Python's JSON reader, not for us."""


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
