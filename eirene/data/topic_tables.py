"""Topics in tables: a topic a row, or an argument a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eirene.core.errors import InputError
from eirene.core.json import jsonable
from eirene.data.fields import arguments_value, field_value
from eirene.data.json_rows import Row
from eirene.data.open import opened
from eirene.data.source import RowSource
from eirene.data.topics import Topic, checked_ids, parse_topic

_SIDES = ("pro", "con")
_LONG = ("question", "side", "argument")
_LISTS = ("aliases", "sources")


def read_topics_of(data: str | RowSource) -> list[Topic]:
    """All topics of a file, a dataset or standard input (see `open_source`), in whatever format.

    A table has a topic a row (`question`, `perspectives` as JSON text or the columns `pro` and `con`, each a list as
    JSON text or one text, and optionally `id`, `aliases`, `sources`), or an argument a row (`question`, `side`,
    `argument`, optionally `id` of the topic). Raises `InputError` that names place and field at the first fault, and at
    an id that two topics share.
    """
    source = opened(data)
    return list(checked_ids((row.where, parse_topic(row.data, where=row.where)) for row in topic_rows(source)))


def topic_rows(source: RowSource) -> Iterator[Row]:
    """The rows of a source as `parse_topic` reads them; JSON is left as it is."""
    if not source.is_table:
        yield from source.rows()
    elif set(source.columns() or ()) >= set(_LONG):
        yield from _gathered(source)
    else:
        yield from (Row(row.where, _wide(row.data, row.where)) for row in source.rows())


def _wide(data: Any, where: str) -> dict[str, Any]:
    """A topic in one row. Other columns than a topic's are left to `parse_topic`, which refuses them by name."""
    found = {name: value for name, value in data.items() if jsonable(value) not in (None, "")}
    sides = [(name, found.pop(name)) for name in _SIDES if name in found]
    if "perspectives" in found:
        found["perspectives"] = field_value("perspectives", found["perspectives"], column="perspectives", where=where)
    elif sides:
        named = [(name, arguments_value(value, column=name, where=where)) for name, value in sides]
        found["perspectives"] = [{"name": name, "arguments": texts or []} for name, texts in named]
    for name in _LISTS:
        if name in found:
            found[name] = arguments_value(found[name], column=name, where=where)
    if "id" in found:
        found["id"] = field_value("id", found["id"], column="id", where=where)
    return found


def _gathered(source: RowSource) -> Iterator[Row]:
    """The topics whose arguments stand a row each, in the order of their first; a topic is known by its question."""
    topics: dict[str, tuple[str, dict[str, Any], dict[str, list[str]]]] = {}
    for row in source.rows():
        cells = _texts(row)
        where, topic, sides = topics.setdefault(cells["question"], (row.where, {"question": cells["question"]}, {}))
        if cells["id"] and topic.setdefault("id", cells["id"]) != cells["id"]:
            raise InputError(f"the question has the id {topic['id']!r} in {where}", field="id", where=row.where)
        sides.setdefault(cells["side"], []).append(cells["argument"])
    for where, topic, sides in topics.values():
        yield Row(where, {**topic, "perspectives": [{"name": n, "arguments": texts} for n, texts in sides.items()]})


def _texts(row: Row) -> dict[str, str]:
    data: Mapping[str, Any] = row.data if isinstance(row.data, dict) else {}
    rest = [name for name in data if name not in (*_LONG, "id")]
    if rest:
        raise InputError(f"the column {rest[0]!r} is none of {', '.join(_LONG)}, id", field=rest[0], where=row.where)
    cells: dict[str, str] = {}
    for name in _LONG:
        value = field_value("question", data.get(name), column=name, where=row.where)
        if not value or not value.strip():
            raise InputError(f"the column {name!r} is empty", field=name, where=row.where)
        cells[name] = value
    cells["id"] = field_value("id", data.get("id"), column="id", where=row.where) or ""
    return cells
