"""Column mapping: which column is which field (`--map question=prompt`), and a cell's value as a field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eirene.core.coercion import CoercionError, as_id, as_meta, as_notes, as_passages, as_sides, as_texts
from eirene.core.errors import InputError
from eirene.core.history import as_turns
from eirene.core.json import NotJsonableError, jsonable
from eirene.core.validation import described, did_you_mean
from eirene.data.json_rows import Row

ROW_NUMBER = "#"
"""In place of a column: the number of the row, from 1."""
_NO_VALUE = frozenset({"", "nan", "NaN", "NaT", "None", "null", "<NA>"})
"""What tables of texts have in place of no value: pandas and `str` write these words into a file."""


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Fields and the columns (or paths into columns) that they are taken from; an empty one is left out.

    A target is a field, `perspectives.NAME` or `meta.KEY`.
    """

    columns: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(given: Iterable[str]) -> ColumnMap:
        """The map that texts such as `question=prompt` say; raises `InputError` for one that is in no such form."""
        found: dict[str, str] = {}
        for text in given:
            target, equals, column = text.partition("=")
            target, column = target.strip(), column.strip()
            if not equals:
                raise InputError(f"--map is FIELD=COLUMN, got {text!r}", field="map")
            _check_target(target)
            if target in found:
                raise InputError(f"--map names {target!r} twice", field="map")
            if column == ROW_NUMBER and target != "id":
                raise InputError(f"--map {text}: only an id can be the row's number", field="map")
            found[target] = column
        if "perspectives" in found and any(t.startswith("perspectives.") for t in found):
            raise InputError("--map takes either 'perspectives' or 'perspectives.NAME', not both", field="map")
        return ColumnMap(found)

    def __bool__(self) -> bool:
        return bool(self.columns)

    @property
    def drops_rest(self) -> bool:
        """Whether columns that no field takes are left out."""
        return self.columns.get("meta") == ""

    def wanted(self) -> frozenset[str]:
        """Every column that may be needed for the fields."""
        paths = frozenset().union(*(columns_of(path) for path in self.columns.values()))
        return paths | {name for name in FIELDS if self.source_of(name) == name}

    def source_of(self, name: str) -> str:
        """The column of a field: the mapped one, else the one of the field's own name; empty for none."""
        if name == "perspectives" and any(target.startswith("perspectives.") for target in self.columns):
            return ""
        return self.columns.get(name, name)

    def fields(self, row: Row, data: Mapping[str, Any], *, number: int, own_names: bool) -> Fields:
        """The fields of a row. `own_names`: fields that are not mapped come from the columns of their own names."""
        found = Fields()
        for name in FIELDS:
            if name in self.columns or own_names:
                self._put(found, name, data, row=row, number=number)
        for target, path in self.columns.items():
            if "." in target and path:
                _put_inner(found, target, path, data, where=row.where)
        return found

    def _put(self, found: Fields, name: str, data: Mapping[str, Any], *, row: Row, number: int) -> None:
        path = self.source_of(name)
        value = find(data, path) if path else MISSING
        if value is MISSING and path == ROW_NUMBER:
            found.seen.add(name)
            found.values[name] = str(number)
            return
        if value is MISSING:
            if name in NEEDED and path and name in self.columns:
                raise InputError(no_column(path, data), field=name, where=row.where)
            return
        found.note(name, path, data)
        fitting = field_value(name, value, column=path, where=row.where)
        if fitting is not None:
            found.values[name] = fitting
        elif name in NEEDED:
            raise InputError(f"the column {path!r} is empty, and {name!r} is needed", field=name, where=row.where)


def _put_inner(found: Fields, target: str, path: str, data: Mapping[str, Any], *, where: str) -> None:
    """A `perspectives.NAME` or a `meta.KEY`."""
    group, _, name = target.partition(".")
    value = find(data, path)
    if value is MISSING:
        return
    found.note(target, path, data)
    if group == "meta":
        _add(found.values.setdefault("meta", {}), name, plain_at(value, path, where), where)
        return
    arguments = arguments_value(value, column=path, where=where)
    if arguments is not None:
        found.values.setdefault("perspectives", []).append({"name": name, "arguments": arguments})


@dataclass(slots=True)
class Fields:
    """What was found in a row: values by field, the targets that were found, the columns that were used whole."""

    values: dict[str, Any] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)

    def note(self, target: str, path: str, data: Mapping[str, Any]) -> None:
        """A target was found; its column is used up unless the path went inside it."""
        self.seen.add(target)
        if path in data:
            self.used.add(path)

    def keep_rest(self, data: Mapping[str, Any], where: str) -> None:
        """Puts the columns that were not used whole under `meta`."""
        rest = [name for name in data if name not in self.used]
        if rest:
            meta = self.values.setdefault("meta", {})
            for name in rest:
                _add(meta, name, plain_at(data[name], name, where), where)


def plain_at(value: object, column: str, where: str) -> Any:
    """A column's value as plain JSON; raises `InputError` that names it."""
    try:
        return jsonable(value)
    except NotJsonableError as error:
        raise InputError(
            f"the column {column!r} {error}; --map meta= leaves out columns that no field takes", where=where
        ) from None


def no_column(path: str, data: Iterable[str]) -> str:
    """What to say of a column that is not there."""
    names = list(data)
    shown = ", ".join(names[:30]) + (", ..." if len(names) > 30 else "")
    return f"there is no column {path!r}{did_you_mean(path.split('.', maxsplit=1)[0], names)}; columns: {shown}"


def _add(meta: dict[str, Any], name: str, value: Any, where: str) -> None:
    if name in meta:
        said = f"two columns would be {name!r} under 'meta'; map one of them to another name (--map meta.NAME=COLUMN)"
        raise InputError(said, field="meta", where=where)
    meta[name] = value


def _check_target(target: str) -> None:
    group, dot, name = target.partition(".")
    if target in FIELDS or (dot and name.strip() and group in ("perspectives", "meta")):
        return
    said = f"--map knows no field {target!r}{did_you_mean(target, FIELDS)}; fields: {', '.join(FIELDS)}"
    raise InputError(f"{said}, perspectives.NAME, meta.KEY", field="map")


MISSING = object()
"""There is no such column, or nothing at the end of the path."""


def find(data: Mapping[str, Any], path: str) -> Any:
    """What stands under `path`, or `MISSING`.

    The longest part of the path that is a column's own name is that column, dots included. The rest goes inside: a
    name into an object, a number (from 0) into a list, and a name into every entry of a list, whose values are then
    one flat list, without the null ones.
    """
    if path in data:
        return data[path]
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        column = ".".join(parts[:cut])
        if column in data:
            return _inside(data[column], parts[cut:])
    return MISSING


def columns_of(path: str) -> frozenset[str]:
    """Every column that `path` may begin with."""
    parts = path.split(".")
    return frozenset(".".join(parts[:cut]) for cut in range(1, len(parts) + 1))


def _inside(value: Any, parts: list[str]) -> Any:
    for at, part in enumerate(parts):
        if value is None:
            return None
        if isinstance(value, Mapping):
            value = value.get(part, MISSING)
        elif isinstance(value, (list, tuple)) and part.isdecimal():
            value = value[int(part)] if int(part) < len(value) else MISSING
        elif isinstance(value, (list, tuple)):
            return _of_each(value, parts[at:])
        else:
            return MISSING
        if value is MISSING:
            return MISSING
    return value


def _of_each(values: list[Any] | tuple[Any, ...], parts: list[str]) -> Any:
    """The values in all entries as one flat list; `MISSING` where there are entries and none has the name."""
    found: list[Any] = []
    inner = [_inside(entry, parts) for entry in values if entry is not None]
    if inner and all(value is MISSING for value in inner):
        return MISSING
    for value in inner:
        if isinstance(value, (list, tuple)):
            found.extend(v for v in value if v is not None)
        elif value is not None and value is not MISSING:
            found.append(value)
    return found


FIELDS = ("id", "question", "history", "answer", "perspectives", "context", "feedback", "gold", "meta")
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
        if isinstance(found, str) and found.strip() in _NO_VALUE and form not in (_text, as_id):
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
    "history": as_turns,
    "answer": _text,
    "perspectives": as_sides,
    "context": as_passages,
    "feedback": as_notes,
    "gold": _text,
    "meta": as_meta,
}
