"""Tables of fields: in the reference, each checked model gets its fields with type, default and meaning."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from itertools import pairwise
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

import eirene
from eirene.core.loop_settings import Setting

EVERY_ERROR = "::: eirene.core.errors"
ENTRY = re.compile(r"^::: eirene\.(\w+)$", re.MULTILINE)
BOUNDS = {"ge": "from", "gt": "above", "le": "to"}
WORDS = {str: "text", int: "integer", float: "number", bool: "true or false", NoneType: "null"}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts a table behind each entry that is a model, and leaves its methods and properties to the entry."""

    def entry(found: re.Match[str]) -> str:
        model = getattr(eirene, found[1])
        if model is eirene.Settings:
            return (
                f"{found[0]}\n    options: {{ show_signature: false, separate_signature: false }}\n\n{settings_table()}"
            )
        if not (isinstance(model, type) and issubclass(model, BaseModel)) or not described(model):
            return found[0]
        head = f"{found[0]}\n    options: {{ show_signature: false, separate_signature: false, members: [] }}"
        parts = [f"{found[0]}.{name}\n    options: {{ heading_level: 3 }}" for name in methods(model)]
        return "\n\n".join([head, table(model), *parts])

    return ENTRY.sub(entry, markdown.replace(EVERY_ERROR, error_entries()))


def error_entries() -> str:
    """An entry for each error that has a public name."""
    named = {name: getattr(eirene, name) for name in sorted(eirene.__all__)}
    return "\n\n".join(
        f"::: eirene.{name}"
        for name, found in named.items()
        if isinstance(found, type) and issubclass(found, eirene.EireneError)
    )


def methods(model: type[BaseModel]) -> list[str]:
    """The public methods and properties of a model's own."""
    kinds = (FunctionType, classmethod, property)
    return [
        name for name, value in vars(model).items() if not name.startswith(("_", "model_")) and isinstance(value, kinds)
    ]


def table(model: type[BaseModel]) -> str:
    """The fields of a model, in order; with those of the models inside it that have no entry of their own."""
    said = described(model)
    lines = [f"| field of `{model.__name__}` | type | default | what it is |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{name}` | {type_in_words(field.annotation)} | {default(field)} | {said.get(name, '')} |"
        for name, field in model.model_fields.items()
    ]
    inner = [
        m for f in model.model_fields.values() for m in models_in(f.annotation) if m.__name__ not in eirene.__all__
    ]
    return "\n".join(lines) + "".join(f"\n\n{table(m)}" for m in dict.fromkeys(inner) if described(m))


def settings_table() -> str:
    """Every setting with its flag, default, allowed values and meaning."""
    lines = ["| setting | flag | default | allowed | what it does |", "| --- | --- | --- | --- | --- |"]
    for name, field in eirene.Settings.model_fields.items():
        flag = next(entry for entry in field.metadata if isinstance(entry, Setting)).flag_of(name)
        shown = f"`{field.default}`" if isinstance(field.default, str) else f"{field.default:g}"
        lines.append(
            f"| `{name}` | {f'`{flag}`' if flag else 'none'} | {shown} | {allowed(field)} | {field.description} |"
        )
    return "\n".join(lines)


def allowed(field: FieldInfo) -> str:
    """The words, or the bounds, of a setting."""
    if get_args(field.annotation):
        return ", ".join(f"`{word}`" for word in get_args(field.annotation))
    return " ".join(
        f"{word} {'2^63 - 1' if bound > 2**62 else f'{bound:,}'}"
        for entry in field.metadata
        for name, word in BOUNDS.items()
        if (bound := getattr(entry, name, None)) is not None
    )


def described(model: type) -> dict[str, str]:
    """The text behind each field, as the source has it."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    return {
        field.target.id: " ".join(str(text.value.value).split())
        for field, text in pairwise(tree.body if isinstance(tree, ast.ClassDef) else [])
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


def type_in_words(annotation: Any) -> str:
    """A type as JSON has it, such as "list of text, or null"; a model is its name."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_in_words(inner[0])
    if origin in (Union, UnionType):
        return ", or ".join(dict.fromkeys(type_in_words(part) for part in inner))
    if origin is Literal:
        return ", ".join(f"`{word}`" for word in inner)
    if origin in (list, tuple):
        parts = [type_in_words(part) for part in inner if part is not Ellipsis]
        return f"list of {parts[0]}" if origin is list or Ellipsis in inner else f"[{', '.join(parts)}]"
    if origin is dict:
        return "object" if len(models_in(annotation)) == 0 else f"object of {type_in_words(inner[1])} by name"
    return WORDS.get(annotation, f"`{getattr(annotation, '__name__', annotation)}`")


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models that a type names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in models_in(part)]


def default(field: FieldInfo) -> str:
    """The default, or "required"."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    return "null" if value is None else "empty" if value in ("", (), [], {}) else f"`{value}`"
