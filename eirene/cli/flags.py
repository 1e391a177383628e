"""Flag groups: a dataclass of flags stands in a command's signature; and the flags of the loop, of rows and of output.

A command takes a group as one parameter, such as `loop: LoopFlags`, and hands on one object, such as `loop.settings()`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from eirene.cli.config import load_config
from eirene.core.errors import InputError
from eirene.core.loop_settings import LoopSettings, Setting

if TYPE_CHECKING:
    from eirene.agent.settings import Settings


class Only:
    """Beside a group in a command's signature, as in `Annotated[LoopFlags, Only("seed")]`: these flags of it alone."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)

    def keeps(self, name: str) -> bool:
        """Whether the command has the flag of this name."""
        return name in self.names


class Without(Only):
    """The same for all flags but these."""

    def keeps(self, name: str) -> bool:
        """Whether the command has the flag of this name."""
        return name not in self.names


def with_groups(**defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command of a function some of whose keyword-only parameters are dataclasses of flags.

    Each field becomes a flag of the command, in the group's place; the function gets the group filled in. `defaults`
    are the command's own where they differ from the group's.
    """

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        whole = inspect.signature(function, eval_str=True)
        groups = {
            name: group for name, p in whole.parameters.items() if (group := _group(p.annotation, defaults)) is not None
        }
        unused = set(defaults) - {flag.name for _, flags in groups.values() for flag in flags}
        if unused:
            raise TypeError(f"no flag of a group is called {', '.join(sorted(unused))}")

        def command(*arguments: Any, **given: Any) -> None:
            for name, (kind, flags) in groups.items():
                given[name] = kind(**{flag.name: given.pop(flag.name) for flag in flags})
            function(*arguments, **given)

        parameters = [
            flag for name, p in whole.parameters.items() for flag in (groups[name][1] if name in groups else [p])
        ]
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__module__ = function.__module__
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        vars(command)["__signature__"] = inspect.Signature(parameters)  # what Typer reads the flags from
        return command

    return decorated


def _group(annotation: Any, defaults: dict[str, Any]) -> tuple[Any, list[inspect.Parameter]] | None:
    """A group and its flags; None for a parameter that is none."""
    kind, *told = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if not is_dataclass(kind):
        return None
    chosen = next((entry for entry in told if isinstance(entry, Only)), Without())
    return kind, [flag for flag in _flags(kind, defaults) if chosen.keeps(flag.name)]


def _flags(kind: Any, defaults: dict[str, Any]) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        default = defaults.get(field.name, inspect.Parameter.empty if field.default is MISSING else field.default)
        hint = _as_option(field.name, hints[field.name])
        yield inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _as_option(name: str, hint: Any) -> Any:
    """A setting of the loop as a flag; what is a flag already as it is. Bounds are checked by `Settings`."""
    kind, *told = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    setting = next((entry for entry in told if isinstance(entry, Setting)), None)
    if setting is None:
        return hint
    return Annotated[kind, typer.Option(setting.flag_of(name), help=setting.help, rich_help_panel=setting.group)]


@dataclass(kw_only=True)
class LoopFlags(LoopSettings):
    """A flag for each setting of the loop."""

    def settings(self, **fixed: Any) -> Settings:
        """The settings, `fixed` in place of flags; raises `InputError` that names the flag of what cannot be used."""
        from eirene.agent.settings import Settings

        try:
            return Settings.of(**{**vars(self), **fixed})
        except InputError as error:
            name = error.field or ""
            if name in fixed or not str(error).startswith(f"'{name}' "):
                raise
            flag = next(t for t in Settings.model_fields[name].metadata if isinstance(t, Setting)).flag_of(name)
            raise InputError(f"{flag}{str(error)[len(name) + 2 :]}", field=name) from None


OUTPUT = "Output"
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.", rich_help_panel="The loop")]
AsJson = Annotated[bool, typer.Option("--json", help="Print each record as one line of JSON.", rich_help_panel=OUTPUT)]
FiguresAsJson = Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")]
Html = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write one self-contained HTML page.", rich_help_panel=OUTPUT)
]
Force = Annotated[bool, typer.Option("--force", help="Write over files that exist.", rich_help_panel=OUTPUT)]
Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A TOML file that holds any of these flags (`max-rounds = 3`); flags given here win.",
        callback=load_config,
        is_eager=True,
    ),
]

_RUN = "The run"
Concurrency = Annotated[int, typer.Option(help="Most model calls at once.", rich_help_panel=_RUN)]
FailOnError = Annotated[
    float, typer.Option(min=0, max=1, help="Share of failed rows above which the exit code is 1.", rich_help_panel=_RUN)
]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Run failed rows again.", rich_help_panel=_RUN)]
Draws = Annotated[int, typer.Option(help="Bootstrap resamples.", rich_help_panel=_RUN)]
Plots = Annotated[bool, typer.Option("--plots/--no-plots", help="Draw the figures as PNG and SVG (extra 'plots').")]


def listed(text: str | None) -> tuple[str, ...]:
    """The names in a flag's text, comma-separated."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def listed_seeds(text: str) -> list[int]:
    """The numbers in the text of `--seeds`; raises `InputError` for what is none."""
    try:
        return [int(part) for part in listed(text)]
    except ValueError:
        raise InputError(
            f"seeds must be integers with commas between, such as 0,1,2, got {text!r}", field="seeds"
        ) from None
