"""Python lists and objects in a text: what `str` makes of them, and NumPy, pandas and LangChain of theirs.

Tables that a program wrote with `str(...)` have them in their cells. Nothing is run: the text is parsed, and read is
what is a plain value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

MAX_CHARACTERS = 1_000_000
"""A text may have so many: parsing takes some hundred times the memory."""

# One without an end goes to the end of the text, which is looked through no second time.
_LITERAL = re.compile(r"""('(?:[^'\\]|\\.)*+(?:'|\\?\Z)|"(?:[^"\\]|\\.)*+(?:"|\\?\Z))(\s*+(?=['"]))?""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_KNOWN_ESCAPES = frozenset("\\'\"abfnrtvxuUN01234567\n")
_HOLDERS = frozenset({"array", "str_"})  # NumPy's
_WORDS = {"null": None, "nan": None, "NaN": None, "NaT": None, "NA": None, "true": True, "false": False}


def read_python(text: str) -> Any:
    """The value that a text of Python stands for, as JSON has it; raises `ValueError` for any other text.

    `['a' 'b']`, as NumPy prints an array, has two entries. `np.str_('a')` and `array([...])` are what they hold, and
    `Document(page_content='a')` is an object with that key. `nan` and `None` are null.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"it has more than {MAX_CHARACTERS:,} characters")
    try:
        return _value(ast.parse(_LITERAL.sub(_plain_literal, text.strip()), mode="eval").body)
    except (SyntaxError, MemoryError, RecursionError):  # the last two: nested without end
        raise ValueError("it is cut off, or a quotation mark in it is not escaped") from None


def _plain_literal(found: re.Match[str]) -> str:
    """A quoted text as Python has it: no bare line break, and a backslash that escapes nothing is one."""
    literal = _ESCAPE.sub(lambda e: e[0] if e[1] in _KNOWN_ESCAPES else "\\" + e[0], found[1])
    return literal.replace("\n", "\\n").replace("\r", "\\r") + ("," if found[2] is not None else "")


def _value(node: ast.expr) -> Any:
    found: Any
    match node:
        case ast.Constant(value=str() | bool() | int() | float() | None as found):
            pass
        case ast.List(elts=entries) | ast.Tuple(elts=entries):
            found = [_value(entry) for entry in entries]
        case ast.Dict(keys=keys, values=values):
            found = _object((_key(key), value) for key, value in zip(keys, values, strict=True))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            found = -number
        case ast.Name(id=name) if name in _WORDS:
            found = _WORDS[name]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[held]) if name in _HOLDERS:
            found = _value(held)
        case ast.Call(func=ast.Name(id="Document"), args=[], keywords=fields):
            found = _object((str(field.arg), field.value) for field in fields)
        case _:
            raise ValueError("it holds more than texts, numbers, lists and objects")
    return found


def _object(pairs: Iterable[tuple[str, ast.expr]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"it has the key {key!r} twice in one object")
        found[key] = _value(value)
    return found


def _key(key: ast.expr | None) -> str:
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return key.value
    raise ValueError("an object in it has a key that is no text")
