"""Validation: pydantic models whose errors are one sentence (what came, what was wanted, where).

`CheckedModel` is the base of models that a user constructs or feeds; `validated` reads data with any model. The wording
is pydantic's; one formatter puts it into a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from eirene.core.errors import FormError

M = TypeVar("M", bound=BaseModel)


class CheckedModel(BaseModel):
    """Raises `FormError` (an `InputError` and a `ValueError`) where a pydantic model raises its own error.

    That is: the constructor, `model_validate`, `model_validate_json`, and setting an attribute of a frozen one.
    """

    key_name: ClassVar[str] = "key"
    """What messages call a field."""

    # Type checkers make the constructor up from the fields.
    if not TYPE_CHECKING:

        def __init__(self, /, *values: Any, **fields: Any) -> None:
            kind = type(self)
            if values:
                named = ", ".join(f"{name}=..." for name, field in kind.model_fields.items() if field.is_required())
                raise FormError(
                    f"{kind.__name__} takes its fields by name ({named or 'name=value'}), got {described(values[0])}"
                )
            try:
                super().__init__(**fields)
            except ValidationError as error:
                raise form_error(error, kind) from None

        # Pydantic then takes this for its own: it does not call it for nested models, and loses no speed.
        __init__.__pydantic_base_init__ = True

        def __setattr__(self, name: str, value: Any) -> None:
            with _form_errors(type(self)):
                super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            with _form_errors(type(self)):
                super().__delattr__(name)

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Pydantic's, but raises `FormError`."""
        with _form_errors(cls):
            return super().model_validate(obj, **options)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Pydantic's, but raises `FormError`."""
        with _form_errors(cls):
            return super().model_validate_json(json_data, **options)


class FrozenModel(CheckedModel):
    """A value of Eirene's own: frozen, without unknown keys, NaN or infinities.

    Not strict: from a checkpoint or a file its tuples come back as lists.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def validated(model: type[M], data: object, *, where: str | None = None, under: str = "") -> M:
    """The data as an instance of the model; raises `FormError`.

    `where` (file and row) goes before the message; `under` is the path of the data in its row.
    """
    try:
        return model.__pydantic_validator__.validate_python(data)  # type: ignore[no-any-return]  # as model_validate does
    except ValidationError as error:
        raise form_error(error, model, where=where, under=under) from None


def form_error(
    error: ValidationError, model: type[BaseModel], *, where: str | None = None, under: str = ""
) -> FormError:
    """The first problem of a validation as a `FormError`."""
    problem = first_problem(error, model, under=under)
    return FormError(problem.text, field=path_text(problem.path) or None, where=where)


@contextmanager
def _form_errors(model: type[BaseModel]) -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        raise form_error(error, model) from None


Path = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """The first problem of a validation: where in the data, and what is wrong there, in one sentence."""

    path: Path
    text: str
    is_missing: bool = False


def first_problem(error: ValidationError, model: type[BaseModel], *, under: str = "") -> Problem:
    """The first problem of a validation of `model`, and at how many other places there are more."""
    problems = error.errors(include_url=False)
    paths = [_placed(problem["loc"], model)[0] for problem in problems]
    first, path = problems[0], paths[0]
    here = [problem for problem, at in zip(problems, paths, strict=True) if at == path]  # one for each union member
    text = problem_text(here, ((under,) if under else ()) + path, model)
    more = len({*paths} - {path})
    others = f" (and {more} more problem{'s' if more > 1 else ''})" if more else ""
    return Problem(((under,) if under else ()) + path, text + others, is_missing=first["type"] == "missing")


def problem_text(problems: list[Any], path: Path, model: type[BaseModel]) -> str:
    """One sentence on the problems at a place, as pydantic describes them."""
    first, name = problems[0], repr(path_text(path)) if path else "the whole"
    if first["type"] == "missing":
        return f"{name} is missing"
    if first["type"] == "extra_forbidden":
        return _unknown_key(name, first["loc"], model)
    if first["type"] == "invalid_key":
        return f"keys must be strings, got {described(first['input'])}"
    if first["type"] == "frozen_instance":
        change = f"model_copy(update={{{name}: ...}}) makes a changed copy"
        return f"{model.__name__} is frozen, so {name} cannot be set; {change}"
    if "error" in first.get("ctx", {}):  # raised by a validator of ours
        return f"{name} {first['ctx']['error']}" if path else str(first["ctx"]["error"])
    rules = " or ".join(dict.fromkeys(_rule(problem["msg"]) for problem in problems))
    is_of_the_type = first["type"].startswith(("literal", "greater", "less"))
    return f"{name} must {rules}, got {(short_repr if is_of_the_type else described)(first['input'])}"


def _rule(message: str) -> str:
    """What follows "must": "List should have at least 1 item after validation, not 0" without its ends."""
    rule = message.replace("input was not", "it should be").partition(" should ")[2]
    return re.sub(" after validation.*|, unable.*", "", rule) or f"be otherwise ({message})"


def _unknown_key(name: str, loc: Path, model: type[BaseModel]) -> str:
    held = _placed(loc, model)[1]
    word: str = getattr(held, "key_name", "key")
    free = " (free data goes under 'meta')" if "meta" in held.model_fields else ""
    return f"unknown {word} {name}; known {word}s: {', '.join(held.model_fields)}{free}"


def _placed(loc: Path, model: type[BaseModel]) -> tuple[Path, type[BaseModel]]:
    """Where in the data a location is, without pydantic's names of a union's members, and the model around it."""
    path: list[int | str] = []
    kind: Any = model
    for part in loc:
        kind = _bare(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            model, field = kind, kind.model_fields.get(str(part))
            kind = None if field is None else field.annotation
        elif kind is JsonValue or get_origin(kind) in (Union, UnionType):
            kind = _member(kind, str(part))
            continue
        elif part == "[key]":
            continue
        else:
            kind = next(iter(get_args(kind)[::-1]), None) if get_origin(kind) is dict else _first(kind)
        path.append(part)
    return tuple(path), model


def _bare(kind: Any) -> Any:
    """An annotation without its metadata and without None."""
    if get_origin(kind) is Annotated:
        return _bare(_first(kind))
    members = [member for member in get_args(kind) if member is not NoneType]
    return _bare(members[0]) if get_origin(kind) in (Union, UnionType) and len(members) == 1 else kind


def _member(kind: Any, name: str) -> Any:
    """The member of a union that pydantic calls `list[str]` or by its class; None for one that holds nothing."""
    if kind is JsonValue:
        return {"dict": dict[str, JsonValue], "list": list[JsonValue]}.get(name)
    members = map(_bare, get_args(kind))
    return next(
        (one for one in members if name.partition("[")[0] == getattr(get_origin(one) or one, "__name__", "")), None
    )


def _first(kind: Any) -> Any:
    return next(iter(get_args(kind)), None)


def path_text(path: Path) -> str:
    """A location as messages write it: `perspectives[0].arguments`."""
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else part
    return out


def described(value: object, limit: int = 60) -> str:
    """A value with its type in JSON's words, short and on one line: `the number 5`."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    names = {str: "the text", int: "the number", float: "the number", list: "the list", dict: "the object"}
    return f"{names.get(type(value), type(value).__name__)} {short_repr(value, limit)}".rstrip()


def short_repr(value: object, limit: int = 60) -> str:
    """The value's `repr` on one line, cut at `limit` characters; empty where it has none."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a number of thousands of digits, or somebody's broken `__repr__`
        return ""
    return f"{text[:limit]}…" if len(text) > limit else text


def is_none(value: object) -> bool:
    """For fields that a record leaves out where they hold nothing (`exclude_if`)."""
    return value is None


def is_empty(value: object) -> bool:
    """The same, for lists and marks."""
    return not value
