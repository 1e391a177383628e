"""What callers of `refine`, `build_graph` and the wrappers may write, as the values that the loop takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from eirene.agent.backends import BackendOptions
from eirene.agent.settings import Settings
from eirene.core.errors import InputError
from eirene.core.records import Item, parse_item
from eirene.core.validation import described

Asked = Settings | Mapping[str, Any]
"""Settings, or a mapping of some of their fields."""


def make_item(item: Item | Mapping[str, Any] | None, options: dict[str, Any]) -> tuple[Item, dict[str, Any]]:
    """The item, given whole or field by field among the options, and the options that are no field of it.

    Raises `InputError` for none, for both, and for an option that is neither a row's field nor a setting.
    """
    row = {name: value for name, value in options.items() if name in Item.model_fields}
    rest = {name: value for name, value in options.items() if name not in row}
    unknown = next((name for name in rest if name not in Settings.model_fields), None)
    if unknown is not None:
        known = f"{', '.join(Settings.model_fields)}; of a row: {', '.join(Item.model_fields)}"
        raise InputError(f"unknown setting {unknown!r}; known: {known}", field=unknown)
    if item is None and not row:
        raise InputError("there is nothing to refine; give an item, or question= and answer=", field="item")
    if item is not None and row:
        said = f"the item was given twice: whole, and by {', '.join(row)}; give it one way"
        raise InputError(said, field=next(iter(row)))
    return parse_item(row if item is None else item), rest


def make_settings(settings: Asked | None, options: dict[str, Any]) -> Settings:
    """The settings with single ones replaced; raises `InputError`."""
    if settings is None:
        return Settings.of(**options)
    if isinstance(settings, Settings):
        return Settings.of(**{**settings.model_dump(), **options}) if options else settings
    if not isinstance(settings, Mapping) or not all(isinstance(name, str) for name in settings):
        raise InputError(
            f"settings must be Settings or a mapping such as {{'samples': 10}}, got {described(settings)}",
            field="settings",
        )
    return Settings.of(**{**settings, **options})


def make_backend_options(options: BackendOptions | Mapping[str, Any] | None, base_url: str | None) -> BackendOptions:
    """The options with the server put in; raises `InputError` for what are none."""
    if options is None:
        options = BackendOptions()
    elif not isinstance(options, BackendOptions):
        known = [field.name for field in fields(BackendOptions)]
        if not isinstance(options, Mapping) or not set(options) <= set(known):
            said = (
                f"backend_options must be BackendOptions or a mapping of {', '.join(known)}, got {described(options)}"
            )
            raise InputError(said, field="backend_options")
        options = BackendOptions(**options)
    return options if base_url is None else replace(options, base_url=base_url)


__all__ = ["Asked", "make_backend_options", "make_item", "make_settings"]
