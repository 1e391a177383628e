"""Labelled answers in tables and under other names: which column is which label, and what a cell may say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from eirene.errors import InputError
from eirene.eval.labelled.base import Labelled
from eirene.eval.labelled.npov import own_item
from eirene.reading import ColumnMap, Dataset, RowSource, Shape
from eirene.records import Item
from eirene.strict_json import parse_json

FORM = "Rows with labels in columns"
LABELS = ("hallucination", "coverage", "missing", "spans", "cluster")
_TARGET = "meta.labels."
_KEY = "labels."
_SAID: dict[str, bool] = {
    "1": True, "1.0": True, "true": True, "yes": True, "0": False, "0.0": False, "false": False, "no": False,
}  # fmt: skip


def shape_of(source: RowSource, shape: Shape) -> Shape | None:
    """How the rows of a source become items with labels; None for rows of one of the known forms.

    Where columns are mapped, and in a table that has `question`, `answer` and a label among its columns, a column with
    a label's own name is that label.
    """
    there = source.columns() or ()
    own = {f"{_TARGET}{name}": name for name in LABELS if name in there}
    if not shape.columns and not (source.is_table and own and {"question", "answer"} <= set(there)):
        return None
    mapped = shape.columns.columns
    taken = set(mapped.values())
    more = {target: name for target, name in own.items() if target not in mapped and name not in taken}
    return replace(shape, columns=ColumnMap({**mapped, **more}))


def read_table(source: RowSource, shape: Shape) -> Iterator[Labelled | str]:
    """The labelled answers of rows with labels in columns, and why others are none."""
    for where, item in Dataset(source, shape).placed():
        meta = _gathered(item.meta, where)
        yield own_item(_with(item, meta), where) if isinstance(meta.get("labels"), dict) else "no label"


def _with(item: Item, meta: dict[str, Any]) -> Item:
    return item.model_copy(update={"meta": meta})


def _gathered(meta: dict[str, Any], where: str) -> dict[str, Any]:
    """The meta with what stands under `labels.NAME` as one object of labels; empty cells are no labels."""
    found = {name.removeprefix(_KEY): value for name, value in meta.items() if name.startswith(_KEY)}
    if not found:
        return meta
    rest = {name: value for name, value in meta.items() if not name.startswith(_KEY)}
    labels = {name: _label(name, value, where) for name, value in found.items() if value not in (None, "")}
    return {**rest, "labels": {**rest.get("labels", {}), **labels}}


def _label(name: str, value: Any, where: str) -> Any:
    """A cell as the label wants it: yes and no in the usual words, lists as JSON, a cluster as text."""
    if name not in LABELS:
        raise InputError(f"no label is called {name!r}; labels: {', '.join(LABELS)}", field=name, where=where)
    if name in ("hallucination", "coverage"):
        said = _SAID.get(str(value).strip().lower())
        if said is None:
            raise InputError(
                f"{value!r} says neither that there is an error nor that there is none; use true or false, 1 or 0",
                field=name,
                where=where,
            )
        return said
    if name == "cluster":
        return str(value)
    at = f"{where}, label {name!r}"
    return parse_json(value.encode("utf-8", "surrogatepass"), where=at) if isinstance(value, str) else value
