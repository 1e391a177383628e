"""Flags that several commands share, written once: a dataclass of them stands in a command's signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints


def with_groups(**defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command of a function some of whose keyword-only parameters are dataclasses of flags.

    Each field becomes a flag of the command, in the group's place; the function gets the group filled in. `defaults`
    are the command's own where they differ from the group's.
    """

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        whole = inspect.signature(function, eval_str=True)
        groups: dict[str, Any] = {
            name: p.annotation for name, p in whole.parameters.items() if is_dataclass(p.annotation)
        }

        def command(*arguments: Any, **given: Any) -> None:
            for name, group in groups.items():
                given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
            function(*arguments, **given)

        parameters = list(_expanded(whole, groups, defaults))
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__module__ = function.__module__
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        vars(command)["__signature__"] = inspect.Signature(parameters)  # what Typer reads the flags from
        return command

    return decorated


def _expanded(
    whole: inspect.Signature, groups: dict[str, Any], defaults: dict[str, Any]
) -> Iterator[inspect.Parameter]:
    unused = set(defaults)
    for name, parameter in whole.parameters.items():
        if name not in groups:
            yield parameter
            continue
        hints = get_type_hints(groups[name], include_extras=True)
        for field in fields(groups[name]):
            unused.discard(field.name)
            default = defaults.get(field.name, inspect.Parameter.empty if field.default is MISSING else field.default)
            yield inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
            )
    if unused:
        raise TypeError(f"no flag of a group is called {', '.join(sorted(unused))}")
