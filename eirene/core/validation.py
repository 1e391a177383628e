"""Validation: pydantic models whose errors are one sentence (what came, what was wanted, where).

`CheckedModel` is the base of models that a user constructs or feeds; `validated` reads data with any model. The wording
is pydantic's; one formatter puts it into a sentence.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from eirene.core.errors import FormError

M = TypeVar("M", bound=BaseModel)
Path = tuple[int | str, ...]
_CHANGED = object()


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
            with form_errors(kind, fields):
                super().__init__(**fields)

        # Pydantic then takes this for its own: it does not call it for nested models, and loses no speed.
        __init__.__pydantic_base_init__ = True

        def __setattr__(self, name: str, value: Any) -> None:
            with form_errors(type(self), {name: value}):
                super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            with form_errors(type(self), {name: None}):
                super().__delattr__(name)

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Pydantic's, but raises `FormError`."""
        with form_errors(cls, obj):
            return super().model_validate(obj, **options)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Pydantic's, but raises `FormError`."""
        with form_errors(cls, _CHANGED):
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
        raise form_error(error, model, data, where=where, under=under) from None


@contextmanager
def form_errors(model: type[BaseModel], data: object) -> Iterator[None]:
    """Turns pydantic's error into a `FormError`."""
    try:
        yield
    except ValidationError as error:
        raise form_error(error, model, data) from None


def form_error(
    error: ValidationError, model: type[BaseModel], data: object, *, where: str | None = None, under: str = ""
) -> FormError:
    """The first problem of a validation of the data, in one sentence, and at how many other places there are more."""
    problems = sorted(error.errors(include_url=False), key=lambda problem: problem["type"] != "extra_forbidden")
    paths = [((under,) if under else ()) + _place(problem, data) for problem in problems]
    path = paths[0]
    here = [problem for problem, at in zip(problems, paths, strict=True) if at == path]  # one for each union member
    more = len({*paths} - {path})
    others = f" (and {more} more problem{'s' if more > 1 else ''})" if more else ""
    return FormError(problem_text(here, path, model) + others, field=path_text(path) or None, where=where)


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
    for part in loc:
        field = model.model_fields.get(str(part))
        model = model if field is None else _model_in(field.annotation) or model
    word: str = getattr(model, "key_name", "key")
    free = " (free data goes under 'meta')" if "meta" in model.model_fields else ""
    near = did_you_mean(str(loc[-1]), model.model_fields)
    return f"unknown {word} {name}{near}; known {word}s: {', '.join(model.model_fields)}{free}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that names the known name which is nearest to one that is not; "" where none is near."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near and near[0] != name else ""


def _model_in(kind: Any) -> type[BaseModel] | None:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    return next(filter(None, map(_model_in, get_args(kind))), None)


def _place(problem: Any, data: Any) -> Path:
    """Where in the data a problem is, without pydantic's names of a union's members; as pydantic has it from where a
    validator has changed the data's form."""
    path: list[int | str] = []
    for part in problem["loc"]:
        if isinstance(data, dict) and part in data:
            data = data[part]
        elif isinstance(part, int):
            data = data[part] if isinstance(data, list | tuple) and part < len(data) else _CHANGED
        elif data is not _CHANGED and (problem["type"] != "missing" or part != problem["loc"][-1]):
            continue
        path.append(part)
    return tuple(path)


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
