"""Coercion of a row's fields: each may come in several forms, and is held in one.

Files, tables, HTTP bodies, graph states and Python all come through here; a text may hold a list or object as
JSON. An empty value is left as it is: in a table it is none, elsewhere an error, and only the caller knows which.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from eirene.core.errors import InputError
from eirene.core.json import NotJsonableError, jsonable, parse_json
from eirene.core.validation import described
from eirene.text.unicode import with_title

IDS = "a text or a whole number"
SIDES = '{"pro": ["..."], "con": "..."} or [{"name": "pro", "arguments": ["..."]}]'
TEXTS = "a text or a list of texts"
PASSAGES = 'a text or a list of texts, or of passages such as {"title": "...", "text": "..."}'
NOTES = '[{"sentence": 1, "reason": "..."}]'
META = "an object with keys and values"
TEXT_KEYS = ("text", "page_content", "passage", "contents", "content", "body")
"""The keys under which a passage may have its text; the first that is there counts."""
MAX_NESTING = 10
"""How deep lists of passages may nest."""

_PYTHONS = r"None\b|np\.str_|Document\("
_LISTED = re.compile(
    rf"""\s*+(?:array\()?\[[\s[]*+(?:"|\]|null\b|{_PYTHONS}|\{{\s*+["']"""
    r"""|'(?=.*\]\s*\Z|(?>(?:[^'\\]|\\.)*)'\s*+,?\s*+['"]))""",
    re.DOTALL,
)
"""A text that is meant as a list of texts or passages, by its beginning; `[1]` and `[[Link]]` begin no such list, and
`['a']` and a word after it is none."""
_PYTHON = re.compile(rf"array\(|[\s\[{{]*+(?:'|{_PYTHONS})")


class CoercionError(ValueError):
    """The value has none of the field's forms; the message goes after the field's name."""


def as_id(value: object) -> Any:
    """A text as it is, a whole number as its digits (also 7.0, as tables with gaps write it)."""
    if isinstance(value, str) or value is None:
        return value
    found = _jsonable_or_none(value)
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    if isinstance(found, str) or (isinstance(found, int) and not isinstance(found, bool) and abs(found) < 10**100):
        return str(found)
    raise CoercionError(f"must be {IDS}, got {described(value)}")


def as_sides(value: object) -> Any:
    """A mapping of each side to its arguments, or one side, as the list of sides; JSON in a text is read.

    A side whose arguments are null has none, and is left out.
    """
    if isinstance(value, str):
        value = read_value_text(value, SIDES, "{[")
    if value is None or isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        if {"name", "arguments"} & set(value):
            return [value]
        return [{"name": name, "arguments": given} for name, given in value.items() if given is not None]
    if hasattr(value, "arguments"):
        return [value]
    found = list(value) if isinstance(value, tuple) else _jsonable_or_none(value)
    if isinstance(found, list):
        return found
    raise CoercionError(f"must be {SIDES}, got {described(value)}")


def as_texts(value: object) -> Any:
    """One text, or a list of texts, as a list without null entries; a text that holds a list is read."""
    if isinstance(value, str):
        value = _listed(value, TEXTS)
    if value is None or (isinstance(value, list) and all(type(entry) is str for entry in value)):
        return value
    found = _jsonable_or_none(value)
    if not isinstance(found, list):
        raise CoercionError(f"must be {TEXTS}, got {described(value)}")
    return [entry for entry in found if entry is not None]


def as_passages(value: object) -> Any:
    """Passages in any form as a list of their texts, each with its title before it; null ones are left out.

    A text, or a list in a text (JSON's); objects with a text under one of `TEXT_KEYS`, and those without such a key as
    JSON; documents of retrievers (LangChain's, and others with such an attribute); nested lists of all these. None
    where all are null.
    """
    if isinstance(value, str):
        value = _listed(value, PASSAGES)
    if value is None or (isinstance(value, list) and all(type(entry) is str for entry in value)):
        return value
    found = list(_passages(value, value, MAX_NESTING))
    return found or (None if null_passages(value) else found)


def null_passages(value: object) -> int:
    """How many of the passages in a value are null, or objects whose text is: `as_passages` leaves these out."""
    if isinstance(value, str):
        try:
            value = _listed(value, PASSAGES)
        except CoercionError:
            return 0
    return _nulls(value, MAX_NESTING) if isinstance(value, list | tuple | Mapping) else 0


def _nulls(value: object, left: int) -> int:
    if isinstance(value, list | tuple) and left:
        return sum(_nulls(entry, left - 1) for entry in value)
    return int(value is None or _has_null_text(value))


def _has_null_text(value: object) -> bool:
    """Whether a passage is an object that has a key for its text, and null under it."""
    return (
        isinstance(value, Mapping)
        and passage_text(value) is None
        and any(key in value and value[key] is None for key in TEXT_KEYS)
    )


def passage_text(data: Mapping[str, Any]) -> str | None:
    """The text of a passage that is an object, if one of `TEXT_KEYS` has one."""
    return next((str(data[key]) for key in TEXT_KEYS if isinstance(data.get(key), str)), None)


def passage_title(data: Mapping[str, Any]) -> str:
    """The title of a passage that is an object, empty where it has none."""
    title = data.get("title")
    return str(title).strip() if isinstance(title, str) else ""


def as_notes(value: object) -> Any:
    """A person's notes on sentences as a list; JSON in a text is read."""
    found = read_value_text(value, NOTES, "[") if isinstance(value, str) else value
    if found is None or isinstance(found, list):
        return found
    if isinstance(found, tuple):
        return list(found)
    raise CoercionError(f"must be {NOTES}, got {described(value)}")


def as_meta(value: object) -> Any:
    """Free data, an object; JSON in a text is read."""
    found = read_value_text(value, META, "{[") if isinstance(value, str) else value
    if found is None or isinstance(found, dict):
        return found
    raise CoercionError(f"must be {META}, got {described(value)}")


def _passages(value: Any, whole: object, left: int) -> Iterator[str]:
    if isinstance(value, str):
        yield str(value)
    elif isinstance(value, list | tuple) and left:
        for entry in value:
            yield from _passages(entry, whole, left - 1)
    elif value is not None and not _has_null_text(value):
        text = None if isinstance(value, list | tuple) else _document(value)
        if text is not None:
            yield text
            return
        found = None if isinstance(value, Mapping | list | tuple) else _jsonable_or_none(value)
        if not isinstance(found, list):
            inner = "" if value is whole else " among them"
            deep = f"; lists may lie {MAX_NESTING} deep" if not left else ""
            raise CoercionError(f"must be {PASSAGES}, got {described(value)}{inner}{deep}")
        yield from _passages(found, whole, left)


def _document(value: Any) -> str | None:
    """The text of a passage with its title, an object of other keys as JSON; None for anything else."""
    is_data = isinstance(value, Mapping) and not {*TEXT_KEYS} & value.keys()
    if is_data and any(entry is not None for entry in value.values()):
        found = _jsonable_or_none(value)
        return None if found is None else json.dumps(found, ensure_ascii=False)
    if not isinstance(value, Mapping):
        value = getattr(value, "passage", value)  # what our retrievers find
        value = {name: getattr(value, name, None) for name in (*TEXT_KEYS, "title", "metadata", "meta")}
    text = passage_text(value)
    if text is None:
        return None
    holders = (value, value.get("metadata"), value.get("meta"))
    titles = (passage_title(held) for held in holders if isinstance(held, Mapping))
    return with_title(next(filter(None, titles), ""), text)


def _jsonable_or_none(value: object) -> Any:
    try:
        return jsonable(value)
    except (NotJsonableError, ValueError, RecursionError):
        return None


def _listed(text: str, wanted: str) -> list[Any]:
    """The entries of the list that a text holds, in JSON; the text alone where it is none."""
    if _LISTED.match(text):
        found: list[Any] = read_value_text(text, wanted, "[")
        return found
    return [text]


def read_value_text(text: str, wanted: str, starts: str) -> Any:
    """The JSON value in a text, such as a table's cell. `starts`: what it may begin with."""
    python = "; write it as JSON, by `json.dumps`, not as Python prints it" if _PYTHON.match(text.lstrip()) else ""
    if text.lstrip()[:1] not in tuple(starts):
        raise CoercionError(f"must be {wanted}, got {described(text)}{python}")
    try:
        return parse_json(text.encode("utf-8", "surrogatepass"), where="")
    except InputError as error:
        raise CoercionError(f"begins as JSON and {error}; it must be {wanted}{python}") from None
