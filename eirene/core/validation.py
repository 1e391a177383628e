"""Validation: pydantic models whose errors are one sentence of ours (what came, what was wanted, what to change).

Pydantic checks; its own messages, several lines with an address, are never shown. `CheckedModel` is the base of models
that a user constructs or feeds; `validated` reads data with any model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from eirene.core.errors import FormError

M = TypeVar("M", bound=BaseModel)


class CheckedModel(BaseModel):
    """Raises `FormError` (an `InputError` and a `ValueError`) where a pydantic model raises its own error.

    That is: the constructor, `model_validate`, `model_validate_json`, and setting an attribute of a frozen one.
    """

    whole_name: ClassVar[str] = ""
    """What messages call the whole model, such as "a review"; empty where a field's name says enough."""
    example: ClassVar[str] = ""
    """A valid value in JSON, added to the message about an invalid one."""

    @classmethod
    def own_message(cls, problem: Any) -> str | None:
        """A message of the model's own for a problem as pydantic describes it; None for the usual one."""
        return None

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

_WANTED = {
    "string_type": "a text (a JSON string)",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object with keys and values",
    "model_type": "an object with keys and values",
    "model_attributes_type": "an object with keys and values",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "callable_type": "a function",
    "invalid-json-value": "plain JSON",
}
"""What was wanted, by pydantic's type of the error."""
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}
_LENGTHS = {
    "string_too_short": "have at least {min_length} characters",
    "string_too_long": "have at most {max_length} characters",
    "too_long": "have at most {max_length} entries",
    "is_instance_of": "be a {class}",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """The first problem of a validation: where in the data, and what is wrong there, in one sentence."""

    path: Path
    text: str
    is_missing: bool = False


def first_problem(error: ValidationError, model: type[BaseModel], *, under: str = "") -> Problem:
    """The first problem of a validation of `model`, and how many more there are."""
    problems = error.errors(include_url=False)
    paths = [_field_path(model, p["loc"]) for p in problems]
    first, path = problems[0], ((under,) if under else ()) + paths[0]
    kinds = [p["type"] for p, at in zip(problems, paths, strict=True) if at == paths[0]]
    text = model.own_message(first) if issubclass(model, CheckedModel) else None
    text = problem_text(first, path, kinds, model) if text is None else text
    # Pydantic has a problem for each member of a union: they count as one.
    more = len({*paths} - {paths[0]})
    others = f" (and {more} more problem{'s' if more > 1 else ''})" if more else ""
    return Problem(path, text + others, is_missing=first["type"] == "missing")


def problem_text(problem: Any, path: Path, kinds: list[str], model: type[BaseModel]) -> str:
    """One sentence on a problem as pydantic describes it; `kinds` are those of all problems at `path`."""
    kind = "invalid_key" if path[-1:] == ("[key]",) else problem["type"]
    whole: str = getattr(model, "whole_name", "")
    name = repr(path_text(path)) if path else whole or "the whole"
    if kind in _WHOLE:
        return _WHOLE[kind](name, f" in {whole}" if whole else "", problem, model)
    if "error" in problem.get("ctx", {}):  # raised by a validator of ours
        return f"{name} {problem['ctx']['error']}" if path else str(problem["ctx"]["error"])
    wanted, came = _wanted(problem, kinds), problem["input"]
    # A value of the right type needs no word for its type.
    got = short_repr(came) if kind in _BOUNDS or kind == "literal_error" else described(came)
    example = getattr(_model_at(model, problem["loc"]), "example", "") if kind in _WANTED else ""
    said = f"{name} of {whole}" if whole and path else name
    return f"{said} must {wanted}, got {got}" + (f"; write {example}" if example else "")


def _unknown(name: str, inside: str, problem: Any, model: type[BaseModel]) -> str:
    known = ", ".join((_model_at(model, problem["loc"][:-1]) or model).model_fields)
    free = " (free data goes under 'meta')" if "meta" in model.model_fields else ""
    return f"unknown key {name}{inside}; known keys: {known}{free}"


def _empty(name: str, inside: str, problem: Any, model: type[BaseModel]) -> str:
    least = problem["ctx"]["min_length"]
    wanted = "one entry" if least == 1 else f"{least} entries"
    return f"{name}{inside} is empty; give at least {wanted}, or leave the key out"


_WHOLE: dict[str, Callable[[str, str, Any, type[BaseModel]], str]] = {
    "missing": lambda name, inside, _, __: f"{name} is missing{inside}",
    "extra_forbidden": _unknown,
    "too_short": _empty,
    "invalid_key": lambda _, __, problem, ___: f"keys must be texts, got {described(problem['input'])}",
    "frozen_instance": lambda name, _, __, model: (
        f"{model.__name__} is frozen, so {name} cannot be set; model_copy(update={{{name}: ...}}) makes a changed copy"
    ),
}
"""Problems of another form than "must be ..., got ..."."""


def _wanted(problem: Any, kinds: list[str]) -> str:
    """What follows "must"."""
    kind, limits = problem["type"], problem.get("ctx", {})
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"be {words} {limits[key]}"
    if kind in _LENGTHS:
        return _LENGTHS[kind].format(**limits)
    if kind in _WANTED:
        return "be " + " or ".join(dict.fromkeys(_WANTED[k] for k in kinds if k in _WANTED))
    rule = problem["msg"].removeprefix("Input should ")
    return rule if rule != problem["msg"] else f"be otherwise ({rule[:1].lower()}{rule[1:]})"


def _field_path(model: type[BaseModel], loc: Path) -> Path:
    """Where in the data a problem is: pydantic's location without the names of a union's members."""
    found: list[int | str] = []
    annotation: Any = model
    for part in loc:
        annotation = _only_member(annotation)
        if get_origin(annotation) in (Union, UnionType):
            members = [m for m in map(_only_member, get_args(annotation)) if _is_called(m, part)]
            annotation = members[0] if members else None
            continue
        if annotation is None and isinstance(part, str) and _is_tag(part):
            continue
        found.append(part)
        annotation = _inner(annotation, part)
    return tuple(found)


def _only_member(annotation: Any) -> Any:
    """The annotation without `Annotated` and without a None beside it."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if not isinstance(annotation, type) and get_origin(annotation) is None:
        return None  # a name for another type, such as pydantic's for JSON
    if get_origin(annotation) in (Union, UnionType):
        members = [m for m in get_args(annotation) if m is not NoneType]
        return _only_member(members[0]) if len(members) == 1 else annotation
    return annotation


def _is_called(member: Any, tag: int | str) -> bool:
    return isinstance(member, type) and member.__name__ == tag


def _is_tag(part: str) -> bool:
    return part in ("dict", "list", "str", "int", "float", "bool") or part.startswith(("list[", "dict[", "function-"))


def _inner(annotation: Any, part: int | str) -> Any:
    """The annotation under a key or index; None if it is unknown."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get(str(part))
        return None if field is None else field.annotation
    arguments = get_args(annotation)
    if get_origin(annotation) is dict and len(arguments) == 2:
        return arguments[1] if arguments[1] is not Any else None
    return arguments[0] if isinstance(part, int) and arguments else None


def _model_at(model: type[BaseModel], loc: Path) -> type[BaseModel] | None:
    """The model that is wanted at a location, if one is."""
    annotation: Any = model
    for part in loc:
        annotation = _inner(_only_member(annotation), part)
    found = _only_member(annotation)
    return found if isinstance(found, type) and issubclass(found, BaseModel) else None


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
