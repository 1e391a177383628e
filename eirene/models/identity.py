"""Tells one chat model from another by what its replies hang on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import BaseModel, SecretStr

from eirene.models.clients import server_of

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_PLAIN = (str, int, float, bool, type(None))


def identity_of(model: BaseChatModel, name: str | None) -> str:
    """One text for the model: the name that it was made from and its server, or a model object's class and settings.

    Keys, clients and callbacks are left out. A setting that is neither plain nor a model of its own counts as what it
    prints as: in doubt two models are two.
    """
    if name is not None:
        return f"{name} {server_of(model)}"
    return f"{server_of(model)} {_shown(model)}"


def _shown(value: object) -> str:
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, SecretStr):
        return "secret"
    if isinstance(value, BaseModel):
        kind = type(value)
        fields = [name for name, field in kind.model_fields.items() if not field.exclude]
        inner = ", ".join(f"{name}={_shown(getattr(value, name, None))}" for name in fields)
        return f"{kind.__module__}.{kind.__qualname__}({inner})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_shown(key)}: {_shown(value[key])}" for key in value) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return repr(value)
