"""ASQA (Stelmakh et al. 2022): the authors' ASQA.json, and the hub's din0s/asqa.

A row has `ambiguous_question`, `qa_pairs` (`question`, `short_answers`, `context`, `wikipage`), `wikipages` and
`annotations` (`long_answer`, `knowledge`: a list of `content`, `wikipage`); in the hub's form also `sample_id`, which
in ASQA.json is the key: `{"train": {ID: ROW, ...}, "dev": {...}}`. Training rows have one long answer, development
rows two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eirene.core.errors import InputError
from eirene.core.json import jsonable
from eirene.data.columns import Fields
from eirene.data.fields import field_value
from eirene.data.json_rows import Row

_KEYS = ("ambiguous_question", "annotations")
_NO_CONTEXT = "No context provided"


def spread(row: Row) -> Iterator[Row]:
    """The rows of `ASQA.json@dev`, an object of rows by their ids; any other row is itself."""
    if not isinstance(row.data, dict) or "ambiguous_question" in row.data:
        yield row
        return
    values = list(row.data.values())
    if set(row.data) <= {"train", "dev"} and values:
        raise InputError(
            f"has the splits {', '.join(row.data)}; name one: {row.where}@{next(iter(row.data))}", where=row.where
        )
    if not values or not all(isinstance(v, dict) and "ambiguous_question" in v for v in values):
        yield row
        return
    for name, data in row.data.items():
        yield Row(f"{row.where}, {name}", {"sample_id": name, **data})


def read(data: Mapping[str, Any], where: str) -> Fields:
    """The question; the first long answer as `gold`; the passages that the annotators had as `context`.

    The passages are those of the annotations and of the question pairs, each once.
    """
    missing = [key for key in _KEYS if key not in data]
    if missing:
        raise InputError(f"is no row of ASQA: there is no {missing[0]!r}; keys: {', '.join(data)}", where=where)
    found = Fields(used={"ambiguous_question", "sample_id"} & set(data))
    question = field_value("question", data["ambiguous_question"], column="ambiguous_question", where=where)
    answers = [entry.get("long_answer") for entry in _entries(data, "annotations", where)]
    written = [text for text in answers if isinstance(text, str) and text.strip()]
    if not written:
        raise InputError("is no row of ASQA: 'annotations' has no 'long_answer'", where=where)
    found.values = {"question": question, "gold": written[0]}
    if data.get("sample_id") is not None:
        found.values["id"] = field_value("id", data["sample_id"], column="sample_id", where=where)
    passages = _passages(data, where)
    if passages:
        found.values["context"] = passages
    return found


def _passages(data: Mapping[str, Any], where: str) -> list[str]:
    known = [
        piece.get("content")
        for entry in _entries(data, "annotations", where)
        for piece in entry.get("knowledge") or ()
        if isinstance(piece, dict)
    ]
    known += [pair.get("context") for pair in _entries(data, "qa_pairs", where)]
    texts = (text.strip() for text in known if isinstance(text, str))
    return list(dict.fromkeys(text for text in texts if text and text != _NO_CONTEXT))


def _entries(data: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    found = jsonable(data.get(key))
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise InputError(f"is no row of ASQA: {key!r} must be a list of objects", field=key, where=where)
    return found
