"""`--config FILE`: flags from a TOML file, overridden by the command line."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator
from typing import Any

import typer

from eirene.core.errors import InputError

_NOT_IN_FILES = {"config", "help", "version"}


def load_config(context: typer.Context, path: str | None) -> str | None:
    """The callback of `--config`: makes the file's values the defaults of this command.

    A key is a flag's long name, with `-` or `_`. A flag of another command is passed over, so that one file serves
    all; a key that is no flag of any command is an `InputError`, as is a value of the wrong type.
    """
    if path is None or context.resilient_parsing:
        return path
    values = _read(path)
    here = dict(_flags(context.command))
    everywhere = _all_flags(context.find_root().command)
    defaults: dict[str, Any] = {}
    for key, value in values.items():
        flag = key.replace("_", "-")
        if flag not in everywhere:
            raise InputError(_unknown(key, sorted(everywhere)), field=key, where=path)
        if flag in here:
            defaults[here[flag].name] = _checked(flag, value, here[flag], path)
    context.default_map = {**(context.default_map or {}), **defaults}
    return path


def _read(path: str) -> dict[str, Any]:
    from eirene.data.json_rows import read_source

    source = read_source(path)
    try:
        return tomllib.loads(source.data.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError("is not UTF-8; save it as UTF-8", where=path) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"is not TOML: {error}", where=path) from None


def _flags(command: Any) -> Iterator[tuple[str, Any]]:
    for parameter in command.params:
        for name in (*parameter.opts, *parameter.secondary_opts):
            if name.startswith("--") and name[2:] not in _NOT_IN_FILES:
                yield name[2:], parameter


def _all_flags(command: Any) -> set[str]:
    names = {name for name, _ in _flags(command)}
    for child in getattr(command, "commands", {}).values():
        names |= _all_flags(child)
    return names


def _unknown(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key.replace("_", "-"), known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
    return f"unknown key {key!r}; {hint}"


def _checked(flag: str, value: Any, parameter: Any, path: str) -> Any:
    """The value if it has the flag's type; text is not read as a number, nor 2.5 as 2."""
    kind = parameter.type_descriptor.annotation
    if parameter.multiple:
        fits = isinstance(value, list) and all(isinstance(entry, str) for entry in value)
        wanted = "a list of strings"
    elif parameter.is_flag:
        fits, wanted = isinstance(value, bool), "true or false"
    elif kind is int:
        fits, wanted = isinstance(value, int) and not isinstance(value, bool), "an integer"
    elif kind is float:
        fits, wanted = isinstance(value, (int, float)) and not isinstance(value, bool), "a number"
    else:
        fits, wanted = isinstance(value, str), "a string"
    if not fits:
        raise InputError(f"{flag!r} must be {wanted}, got {type(value).__name__} {value!r}", field=flag, where=path)
    return value
