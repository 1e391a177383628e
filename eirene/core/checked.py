"""Models whose every validation error is one sentence of ours (`eirene.core.problems`): what came, what was wanted.

Pydantic checks; what it has to say itself (several lines, with an address) is never shown. `Checked` is the base of the
models that a user can construct or feed; `checked` reads data with any model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ValidationError

from eirene.core.errors import FormError
from eirene.core.problems import first_problem, path_text, shown

M = TypeVar("M", bound=BaseModel)


class Checked(BaseModel):
    """A model that raises `FormError` (an `InputError` and a `ValueError`) where pydantic would raise its own error.

    So do its constructor, `model_validate`, `model_validate_json`, and setting an attribute of a frozen one.
    """

    whole_name: ClassVar[str] = ""
    """What messages call the whole, where a field's name alone does not say it, such as "a review"."""
    example: ClassVar[str] = ""
    """A value in JSON, for the message where something else stands in its place."""

    @classmethod
    def own_words(cls, problem: Any) -> str | None:
        """What to say of a problem (as pydantic describes it) in place of the usual words; None for those."""
        return None

    # Not for the type checker, to which the fields make up the constructor.
    if not TYPE_CHECKING:

        def __init__(self, /, *values: Any, **fields: Any) -> None:
            kind = type(self)
            if values:
                named = ", ".join(f"{name}=..." for name, field in kind.model_fields.items() if field.is_required())
                raise FormError(
                    f"{kind.__name__} takes its fields by name ({named or 'name=value'}), got {shown(values[0])}"
                )
            try:
                super().__init__(**fields)
            except ValidationError as error:
                raise form_error(error, kind) from None

        # Pydantic then takes this for its own: it neither calls it for a model within a model nor slows down for it.
        __init__.__pydantic_base_init__ = True

        def __setattr__(self, name: str, value: Any) -> None:
            try:
                super().__setattr__(name, value)
            except ValidationError as error:
                raise form_error(error, type(self)) from None

        def __delattr__(self, name: str) -> None:
            try:
                super().__delattr__(name)
            except ValidationError as error:
                raise form_error(error, type(self)) from None

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Pydantic's, with an error of ours."""
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise form_error(error, cls) from None

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Pydantic's, with an error of ours."""
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            raise form_error(error, cls) from None


def checked(model: type[M], data: object, *, where: str | None = None, under: str = "") -> M:
    """The data as a value of the model; raises `FormError`.

    `where` (file and row) stands before the message; `under` is the path at which the data stands in its row.
    """
    try:
        return model.__pydantic_validator__.validate_python(data)  # type: ignore[no-any-return]  # as model_validate does
    except ValidationError as error:
        raise form_error(error, model, where=where, under=under) from None


def form_error(
    error: ValidationError, model: type[BaseModel], *, where: str | None = None, under: str = ""
) -> FormError:
    """The first problem of a validation as our error."""
    problem = first_problem(error, model, under=under)
    return FormError(problem.text, field=path_text(problem.path) or None, where=where)


__all__ = ["Checked", "checked", "form_error"]
