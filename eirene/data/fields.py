"""What a column's value is as a field of a row: one of `eirene.core.coercion`, or nothing in an empty cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eirene.core.coercion import CoercionError, as_id, as_meta, as_notes, as_passages, as_sides, as_texts
from eirene.core.errors import InputError
from eirene.core.json import NotJsonableError, jsonable
from eirene.core.validation import described

FIELDS = ("id", "question", "answer", "perspectives", "context", "feedback", "gold", "meta")
NEEDED = ("question", "answer")


def field_value(field: str, value: object, *, column: str, where: str) -> Any:
    """A column's value in the form that the field wants; None for an empty one.

    Values are what they are in JSON (`eirene.core.json`), and then taken in the forms of `eirene.core.coercion`; JSON
    that stands in a cell as text among them. Raises `InputError` that names the column.
    """
    return _fitting(_FORMS[field], value, column=column, where=where, field=field)


def arguments_value(value: object, *, column: str, where: str) -> list[Any] | None:
    """A column's value as the arguments of one perspective: a list of texts, as JSON text too, or one text."""
    found: list[Any] | None = _fitting(as_texts, value, column=column, where=where, field="perspectives")
    return found


def _fitting(form: Callable[[Any], Any], value: object, *, column: str, where: str, field: str) -> Any:
    try:
        found = jsonable(value)
        if isinstance(found, str) and not found.strip() and form not in (_text, as_id):
            found = None
        found = None if found is None else form(found)
        # Looked at once more: a list of nulls is as empty as an empty cell.
        return None if found in ("", [], {}) and field not in NEEDED else found
    except (NotJsonableError, CoercionError) as error:
        hint = _HINTS.get(found.__class__, "") if isinstance(error, CoercionError) else ""
        raise InputError(f"the column {column!r} {error}{hint}", field=field, where=where) from None


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return value
    raise CoercionError(f"must be a text, got {described(value)}")


_HINTS: dict[type, str] = {
    list: "; a column can name one entry by its number, such as COLUMN.0, and a part of each, such as COLUMN.content",
    dict: "; a column can name a part, such as COLUMN.content",
}
_FORMS: dict[str, Callable[[Any], Any]] = {
    "id": as_id,
    "question": _text,
    "answer": _text,
    "perspectives": as_sides,
    "context": as_passages,
    "feedback": as_notes,
    "gold": _text,
    "meta": as_meta,
}
