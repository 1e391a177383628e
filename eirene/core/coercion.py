"""Coercion of a row's fields: each may come in several forms, and is held in one.

Files, tables, HTTP bodies, graph states and Python all come through here; a text may hold a list or object as JSON, or
as `str` of Python, NumPy, pandas or LangChain writes it, which is parsed and not run. An empty value is left as it
is: in a table it is none, elsewhere an error, and only the caller knows which.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from json import JSONDecodeError
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

_LISTED = re.compile(r"""\s*+\[[\s[]*+(?:"|\]|\{\s*+["']|'(?=.*\]\s*\Z|(?:[^'\\]|\\.)*+'\s*+,?\s*+['"]))""", re.DOTALL)
"""A text that is meant as a list of texts or passages, by its beginning; `[1]` and `[[Link]]` begin no such list, and
`['a']` and a word after it is none."""
_PYTHON = re.compile(r"[\s\[{]*'")
_MAYBE_LISTED = re.compile(r"\s*+(?:array)?[(\[].*[)\]]\s*\Z", re.DOTALL)

MAX_PYTHON = 1_000_000
"""A text may have so many: parsing takes some hundred times the memory."""

# One without an end goes to the end of the text, which is looked through no second time.
_QUOTED = re.compile(r"""('(?:[^'\\]|\\.)*+(?:'|\\?\Z)|"(?:[^"\\]|\\.)*+(?:"|\\?\Z))(\s*+(?=['"]))?""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_KNOWN_ESCAPES = frozenset("\\'\"abfnrtvxuUN01234567\n")
_NUMPY = frozenset({"array", "str_"})  # NumPy's
_PYTHON_WORDS = {"null": None, "nan": None, "NaN": None, "NaT": None, "NA": None, "true": True, "false": False}


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
    """A mapping of each side to its arguments, or one side, as the list of sides; JSON or Python in a text is read.

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

    A text, or a list in a text (JSON's, or Python's as `str` prints it); objects with a text under one of `TEXT_KEYS`;
    documents of retrievers (LangChain's, and others with such an attribute); nested lists of all these. None where all
    are null.
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
    """A person's notes on sentences as a list; JSON or Python in a text is read."""
    found = read_value_text(value, NOTES, "[") if isinstance(value, str) else value
    if found is None or isinstance(found, list):
        return found
    if isinstance(found, tuple):
        return list(found)
    raise CoercionError(f"must be {NOTES}, got {described(value)}")


def as_meta(value: object) -> Any:
    """Free data, an object; JSON or Python in a text is read."""
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
            keys = f"; its text is looked for under {', '.join(TEXT_KEYS)}" if isinstance(value, Mapping) else ""
            deep = f"; lists may lie {MAX_NESTING} deep" if not left else ""
            raise CoercionError(f"must be {PASSAGES}, got {described(value)}{inner}{keys}{deep}")
        yield from _passages(found, whole, left)


def _document(value: Any) -> str | None:
    """The text of a passage with its title; None for anything else."""
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
    """The entries of the list that a text holds, in JSON or Python; the text alone where it is none."""
    if _LISTED.match(text):
        found: list[Any] = read_value_text(text, wanted, "[")
        return found
    if _MAYBE_LISTED.match(text):
        with suppress(ValueError):
            held = read_python(text)
            if isinstance(held, list) and all(entry is None or isinstance(entry, str | dict) for entry in held):
                return held
    return [text]


def read_value_text(text: str, wanted: str, starts: str) -> Any:
    """The JSON or Python value in a text, such as a table's cell. `starts`: what it may begin with."""
    if text.lstrip()[:1] not in tuple(starts):
        raise CoercionError(f"must be {wanted}, got {described(text)}")
    try:
        return parse_json(text.encode("utf-8", "surrogatepass"), where="")
    except InputError as error:
        said = f"as JSON and {error}"
        if isinstance(error.__context__, JSONDecodeError):  # it is none; a key given twice is one of JSON's faults
            try:
                return read_python(text)
            except ValueError as reason:
                if _PYTHON.match(text):
                    said = f"as a list or object of Python, and {reason}"
        raise CoercionError(f"begins {said}; it must be {wanted}") from None


def read_python(text: str) -> Any:
    """The value that a text of Python stands for, as JSON has it; raises `ValueError` for any other text.

    `['a' 'b']`, as NumPy prints an array, has two entries. `np.str_('a')` and `array([...])` are what they hold, and
    `Document(page_content='a')` is an object with that key. `nan` and `None` are null.
    """
    if len(text) > MAX_PYTHON:
        raise ValueError(f"it has more than {MAX_PYTHON:,} characters")
    try:
        return _python_value(ast.parse(_QUOTED.sub(_plain_literal, text.strip()), mode="eval").body)
    except (SyntaxError, MemoryError, RecursionError):  # the last two: nested without end
        raise ValueError("it is cut off, or a quotation mark in it is not escaped") from None


def _plain_literal(found: re.Match[str]) -> str:
    """A quoted text as Python has it: no bare line break, and a backslash that escapes nothing is one."""
    literal = _ESCAPE.sub(lambda e: e[0] if e[1] in _KNOWN_ESCAPES else "\\" + e[0], found[1])
    return literal.replace("\n", "\\n").replace("\r", "\\r") + ("," if found[2] is not None else "")


def _python_value(node: ast.expr) -> Any:
    found: Any
    match node:
        case ast.Constant(value=str() | bool() | int() | float() | None as found):
            pass
        case ast.List(elts=entries) | ast.Tuple(elts=entries):
            found = [_python_value(entry) for entry in entries]
        case ast.Dict(keys=keys, values=values):
            found = _python_object((_python_key(key), value) for key, value in zip(keys, values, strict=True))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            found = -number
        case ast.Name(id=name) if name in _PYTHON_WORDS:
            found = _PYTHON_WORDS[name]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[held]) if name in _NUMPY:
            found = _python_value(held)
        case ast.Call(func=ast.Name(id="Document"), args=[], keywords=fields):
            found = _python_object((str(field.arg), field.value) for field in fields)
        case _:
            raise ValueError("it holds more than texts, numbers, lists and objects")
    return found


def _python_object(pairs: Iterable[tuple[str, ast.expr]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"it has the key {key!r} twice in one object")
        found[key] = _python_value(value)
    return found


def _python_key(key: ast.expr | None) -> str:
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return key.value
    raise ValueError("an object in it has a key that is no text")
