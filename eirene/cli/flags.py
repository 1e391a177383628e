"""Flag groups: a dataclass of flags stands in a command's signature; also `--help-all`, `--config` and shared flags.

A command takes a group as one parameter, such as `loop: LoopFlags`, and hands on one object, such as `loop.settings()`.
`--help` shows the flags that a command names as its main ones, `--help-all` every flag.
"""

from __future__ import annotations

import difflib
import inspect
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from eirene.core.errors import InputError
from eirene.core.loop_settings import LoopSettings, Setting

if TYPE_CHECKING:
    from eirene.agent.settings import Settings


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


class Only(tuple[str, ...]):
    """Beside a group in a command's signature, as in `Annotated[LoopFlags, Only("seed")]`: these flags of it alone."""

    def __new__(cls, *names: str) -> Self:
        return super().__new__(cls, names)


class Without(Only):
    """The same for all flags but these."""


class Group(TyperGroup):
    """A group of commands whose `--help` calls a switch no `<bool>`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Prints the commands, and the flags that all of them take."""
        _show_types(self, ctx)
        super().format_help(ctx, formatter)


class Command(TyperCommand):
    """A command whose `--help` shows its main flags alone, where it names them."""

    show_all = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Prints the main flags in the order named, or all flags in their panels."""
        main: tuple[str, ...] = () if self.show_all else getattr(self.callback, "main_flags", ())
        place = {f"--{name}": n for n, name in enumerate((*main, "help-all"))}
        options: list[Any] = [param for param in self.params if param.param_type_name == "option"]
        _show_types(self, ctx)
        if main:
            for option in options:
                option.hidden, option.rich_help_panel = option.opts[0] not in place, None
            self.params.sort(key=lambda param: place.get(param.opts[0], -1))
            options[-1].help = f"Show all {len(options)} flags."
        super().format_help(ctx, formatter)


_TYPES = {"<str>": "TEXT", "<int>": "N", "<float>": "NUMBER", "<bool>": ""}


def _show_types(command: Any, ctx: Any) -> None:
    """Lets choices wrap between words, names types in capitals, and leaves out that a switch is one."""
    for param in command.get_params(ctx):
        kind = param.display_type_rich(ctx) or ""
        if param.param_type_name == "argument":
            param.display_type_rich = lambda ctx: ""
        elif kind.startswith("<") and param.metavar is None:
            param.metavar = _TYPES.get(kind, kind.strip("<>").replace("|", " | "))


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.command.show_all = True  # type: ignore[attr-defined]  # a `Command`
        typer.echo(context.get_help())
        raise typer.Exit


_HelpAll = Annotated[
    bool,
    typer.Option("--help-all", help="Show all flags.", callback=_show_all, is_eager=True),
]


def with_groups(*main_flags: str, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command of a function some of whose keyword-only parameters are dataclasses of flags.

    Each field becomes a flag of the command, in the group's place; the function gets the group filled in. `main_flags`
    are what `--help` shows, in that order; without them it shows all. `defaults` are the command's own where they
    differ from the group's.
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
            given.pop("help_all", None)
            for name, (kind, flags) in groups.items():
                given[name] = kind(**{flag.name: given.pop(flag.name) for flag in flags})
            function(*arguments, **given)

        parameters = [
            flag for name, p in whole.parameters.items() for flag in (groups[name][1] if name in groups else [p])
        ]
        if main_flags:
            parameters.append(inspect.Parameter("help_all", _KEYWORD, default=False, annotation=_HelpAll))
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__module__ = function.__module__
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        # What Typer reads the flags from, and `Command` what it shows.
        vars(command).update(__signature__=inspect.Signature(parameters), main_flags=main_flags)
        return command

    return decorated


def _group(annotation: Any, defaults: dict[str, Any]) -> tuple[Any, list[inspect.Parameter]] | None:
    """A group and its flags; None for a parameter that is none."""
    kind, *told = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if not is_dataclass(kind):
        return None
    chosen = next((entry for entry in told if isinstance(entry, Only)), Without())
    is_left_out = isinstance(chosen, Without)
    return kind, [flag for flag in _flags(kind, defaults) if (flag.name in chosen) != is_left_out]


def _flags(kind: Any, defaults: dict[str, Any]) -> Iterator[inspect.Parameter]:
    hints: dict[str, Any] = {}
    for parent in kind.__mro__[:-1]:  # a field with another default alone keeps what is told of its parent's
        hints |= {n: h for n, h in get_type_hints(parent, include_extras=True).items() if not _is_told(hints.get(n))}
    for field in fields(kind):
        has_none = any(isinstance(entry, Setting) and entry.flag == "" for entry in get_args(hints[field.name]))
        if has_none or not _is_told(hints[field.name]):  # not for the command line
            continue
        default = defaults.get(field.name, inspect.Parameter.empty if field.default is MISSING else field.default)
        hint = _as_option(field.name, hints[field.name])
        yield inspect.Parameter(field.name, _KEYWORD, default=default, annotation=hint)


def _is_told(hint: Any) -> bool:
    return get_origin(hint) is Annotated


def _as_option(name: str, hint: Any) -> Any:
    """A setting of the loop as a flag; what is a flag already as it is. Bounds are checked by `Settings`."""
    kind, *told = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    setting = next((entry for entry in told if isinstance(entry, Setting)), None)
    if setting is None:
        return hint
    return Annotated[kind, typer.Option(setting.flag_of(name), help=setting.help, rich_help_panel=setting.group)]


@dataclass(kw_only=True)
class LoopFlags(LoopSettings):
    """A flag for each setting of the loop that has one."""

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


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "eir": {
        "samples": 20, "stop": "none", "critic-readout": "vote", "rewrite": "whole", "candidates": 1, "max-rounds": 1,
    },
}  # fmt: skip
"""What `--config` knows by name. `eir`: a vote of 20 samples whatever the first ones say, and one rewrite of the whole
answer (Sachdeva et al. 2024, section 4)."""
_NOT_IN_FILES = {"config", "graph", "help", "help-all", "version"}


def load_config(context: typer.Context, path: str | None) -> str | None:
    """The callback of `--config`: makes the file's values the defaults of this command.

    A key is a flag's long name, with `-` or `_`. A flag of another command is passed over, so that one file serves
    all; a key that is no flag of any command is an `InputError`, as is a value of the wrong type. A name of `PRESETS`
    stands for a file.
    """
    if path is None or context.resilient_parsing:
        return path
    values = PRESETS[path] if path in PRESETS else _read_toml(path)
    here = dict(_flags_of(context.command))
    everywhere = _all_flags_of(context.find_root().command)
    defaults: dict[str, Any] = {}
    for key, value in values.items():
        flag = key.replace("_", "-")
        if flag not in everywhere:
            raise InputError(_unknown_key(key, sorted(everywhere)), field=key, where=path)
        if flag in here:
            defaults[here[flag].name] = _of_its_type(flag, value, here[flag], path)
    context.default_map = {**(context.default_map or {}), **defaults}
    return path


def _read_toml(path: str) -> dict[str, Any]:
    from eirene.data.source import read_source

    source = read_source(path)
    try:
        return tomllib.loads(source.data.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError("is not UTF-8; save it as UTF-8", where=path) from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"is not TOML: {error}", where=path) from None


def _flags_of(command: Any) -> Iterator[tuple[str, Any]]:
    for parameter in command.params:
        for name in (*parameter.opts, *parameter.secondary_opts):
            if name.startswith("--") and name[2:] not in _NOT_IN_FILES:
                yield name[2:], parameter


def _all_flags_of(command: Any) -> set[str]:
    names = {name for name, _ in _flags_of(command)}
    for child in getattr(command, "commands", {}).values():
        names |= _all_flags_of(child)
    return names


def _unknown_key(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key.replace("_", "-"), known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
    return f"unknown key {key!r}; {hint}"


def _of_its_type(flag: str, value: Any, parameter: Any, path: str) -> Any:
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


OUTPUT = "Output"
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.", rich_help_panel="The loop")]
AsJson = Annotated[bool, typer.Option("--json", help="Print each result as one line of JSON.", rich_help_panel=OUTPUT)]
FiguresAsJson = Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")]
Html = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write one self-contained HTML page.", rich_help_panel=OUTPUT)
]
Force = Annotated[bool, typer.Option("--force", help="Write over files that exist.", rich_help_panel=OUTPUT)]
Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|eir",
        help="A TOML file that holds any of these flags (`max-rounds = 3`), or the EIR paper's; flags given here win.",
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


Trace = Annotated[
    Literal["off", "spans", "content"],
    typer.Option(
        help="Send OpenTelemetry spans of every run, as the OTEL_* variables say; with content: texts too (extra "
        "'otel', docs/guides/tracing.md).",
        rich_help_panel="Tracing",
    ),
]


@dataclass(frozen=True, kw_only=True)
class TraceFlags:
    """Whether runs have spans, and what is in them."""

    trace: Trace = "off"

    @contextmanager
    def active(self) -> Iterator[None]:
        """Around a command's runs: by a provider that is configured already (`opentelemetry-instrument`), else by one
        that is made for the command. Raises `MissingExtraError`, and `InputError` for variables that cannot be used."""
        if self.trace == "off":
            yield
            return
        from eirene.core.tracing import Tracing

        Tracing()  # raises where the extra is missing, before anything of it is imported
        from opentelemetry import trace

        from eirene.core.otlp import SpanExport

        is_configured = not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
        with nullcontext() if is_configured else closing(SpanExport()) as export:
            provider = None if export is None else export.provider
            with Tracing(content=self.trace == "content", provider=provider).active():
                yield
