"""Flags that several commands share, written once: a dataclass of them stands in a command's signature.

The flags that mean the same in every command. Their defaults are those of `eirene.agent.Settings`.

What `--detectors` and the flags beside it make of a backend's parts, and which of those flags do nothing.

The flags of evaluations that draw critiques, a row for each answer: where rows are kept, how many at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import typer

from eirene.cli.config import load_config
from eirene.cli.data_flags import IN_HELP
from eirene.cli.progress import watch
from eirene.cli.terminal import say

if TYPE_CHECKING:
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.eval.base import Need
    from eirene.eval.resources import Resources


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


# Written out here because the records need pydantic, which `--help` should not wait for; a test compares them.
ModeName = Literal["improve", "generic", "fine-grained", "human", "edit"]
CriticName = Literal["completeness", "hallucination", "both"]
RemovalName = Literal["remove", "mark"]
StopName = Literal["none", "exact", "beta"]
UnmeasuredName = Literal["accept", "keep"]


def checked_address(parameter: typer.CallbackParam, value: str | None) -> str | None:
    """The callback of flags that name a server: an address that is none is refused before anything is done."""
    if value is None:
        return None
    from eirene.models.address import check_address

    return check_address(value, name=parameter.opts[0])


_LOOP, _GATE, _DETECTORS, _OUTPUT = "The loop", "The gate", "Detectors", "Output"

File = Annotated[str | None, typer.Argument(metavar="FILE|-", help=IN_HELP)]
Question = Annotated[str | None, typer.Option(help="The question, instead of a file.")]
Answer = Annotated[str | None, typer.Option(help="The answer to it.")]
RowId = Annotated[str | None, typer.Option("--id", help="Take only the row with this id.")]
Mode = Annotated[
    ModeName, typer.Option(help="What the refiner is told: nothing, 'not complete', the critique, or the row's notes; "
                                "edit carries out the critique's edits and asks no model to write.",
                           rich_help_panel=_LOOP)
]  # fmt: skip
Critic = Annotated[CriticName, typer.Option(help="What critiques look for.", rich_help_panel=_LOOP)]
Removal = Annotated[
    RemovalName,
    typer.Option(help="In mode edit: whether faulty statements go, or stay with a mark.", rich_help_panel=_LOOP),
]
Backend = Annotated[str, typer.Option(help="Who critiques and rewrites.", rich_help_panel=_LOOP)]
BaseUrl = Annotated[
    str | None,
    typer.Option(help="The server of a chat model backend.", callback=checked_address, rich_help_panel=_LOOP),
]
Samples = Annotated[int, typer.Option(help="Critiques drawn for each vote.", rich_help_panel=_LOOP)]
Stop = Annotated[StopName, typer.Option(help="When to stop drawing early.", rich_help_panel=_LOOP)]
MaxRounds = Annotated[int, typer.Option(help="Rewrites at most.", rich_help_panel=_LOOP)]
Patience = Annotated[
    int, typer.Option(help="Rejected rewrites in a row after which one more is tried.", rich_help_panel=_LOOP)
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same record.", rich_help_panel=_LOOP)]
MinConsistency = Annotated[
    float, typer.Option(help="Tag consistency under which the run abstains (0 is off).", rich_help_panel=_GATE)
]
Tolerance = Annotated[
    float, typer.Option(help="How much worse a score may get before a rewrite counts as harm.", rich_help_panel=_GATE)
]
MinGain = Annotated[float, typer.Option(help="How much better one score must get.", rich_help_panel=_GATE)]
WhenGainUnmeasured = Annotated[
    UnmeasuredName,
    typer.Option(help="What to do with a harmless rewrite whose gain cannot be measured.", rich_help_panel=_GATE),
]
Detectors = Annotated[
    str | None,
    typer.Option(help="Which detectors score and decide, commas between.", rich_help_panel=_DETECTORS),
]
Judge = Annotated[
    str | None, typer.Option(help="The chat model that judges, named provider:model.", rich_help_panel=_DETECTORS)
]
JudgeServer = Annotated[
    str | None,
    typer.Option("--base-url", help="The judge's server.", callback=checked_address, rich_help_panel=_DETECTORS),
]
JudgeBaseUrl = Annotated[
    str | None,
    typer.Option(
        "--judge-base-url",
        help="The judge's server (default: --base-url).",
        callback=checked_address,
        rich_help_panel=_DETECTORS,
    ),
]
Classifier = Annotated[
    list[str] | None,
    typer.Option(help="A tuned classifier, hf:path-or-id+adapter; once an error type.", rich_help_panel=_DETECTORS),
]
Nli = Annotated[
    str | None, typer.Option(help="A sequence classifier of inference: hf:path-or-id.", rich_help_panel=_DETECTORS)
]
LocalModel = Annotated[
    str | None,
    typer.Option(
        metavar="hf:...", help="The local model of detectors that look inside one.", rich_help_panel=_DETECTORS
    ),
]
Polls = Annotated[int, typer.Option(help="How often a judge is asked about one answer.", rich_help_panel=_DETECTORS)]
Drawn = Annotated[
    int,
    typer.Option("--samples", help="Other answers drawn where a row brings none.", rich_help_panel=_DETECTORS),
]
WordMaps = Annotated[
    bool,
    typer.Option(
        "--word-maps",
        help="Keep salience's map of words in the scores, for pages to draw.",
        rich_help_panel=_DETECTORS,
    ),
]
Interactive = Annotated[
    bool,
    typer.Option(
        "--interactive",
        help="Stop before the rewriting, show the critique, and let me change it.",
        rich_help_panel=_LOOP,
    ),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.sqlite",
        help="Keep an interactive run here; the same command comes back to it.",
        rich_help_panel=_LOOP,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print each record as one line of JSON.", rich_help_panel=_OUTPUT)]
Html = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write a page that needs nothing else.", rich_help_panel=_OUTPUT)
]
Force = Annotated[bool, typer.Option("--force", help="Write over files that exist.", rich_help_panel=_OUTPUT)]
Config = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A TOML file that holds any of these flags (`max-rounds = 3`); flags given here win.",
        callback=load_config,
        is_eager=True,
    ),
]


@dataclass(frozen=True, kw_only=True)
class DetectorFlags:
    """What detectors work with, where they run alone."""

    judge: Judge = None
    base_url: JudgeServer = None
    local_model: LocalModel = None
    classifier: Classifier = None
    nli: Nli = None
    polls: Polls = 5
    samples: Drawn = 20
    seed: Seed = 0

    def resources(self, **more: Any) -> Resources:
        """The models and settings that the flags name; nothing is loaded yet."""
        from eirene.eval.resources import Resources

        return Resources(
            judge_model=self.judge, base_url=self.base_url, local=self.local_model, nli_named=self.nli,
            classifiers_named=self.classifier or (), polls=self.polls, samples=self.samples, seed=self.seed, **more,
        )  # fmt: skip


def with_named(parts: Parts, detectors: str | None, *, judges_elsewhere: bool = False, **resources: Any) -> Parts:
    """The parts with the detectors named (commas between) and what they need; as they are where none is named.

    A model that none of them needs is warned about. `judges_elsewhere`: the judge has other work as well.
    """
    from eirene.eval.resources import Resources

    found = Resources(**resources)
    if detectors is not None:
        from eirene.agent.detectors import with_detectors
        from eirene.eval.registry import parse_names

        parts = with_detectors(parts, parse_names(detectors), found)
    # Where no detectors are named, a judge comes beside those of the backend.
    needs: list[frozenset[Need]] = [getattr(detector, "needs", frozenset()) for detector in parts.detectors]
    tell_idle(found, needs, but_judge=judges_elsewhere or detectors is None)
    return parts


def tell_idle(resources: Resources, needs: Iterable[frozenset[Need]], *, but_judge: bool = False) -> None:
    """Warns of models that were named and that nothing uses."""
    for need in resources.idle(frozenset().union(*needs)):
        if need != "judge" or not but_judge:
            flag = need.replace("_", "-")
            say(f"warning: --{flag} is not used: none of the detectors needs it (see --detectors)")


Journal = Annotated[
    str | None, typer.Option("--out", metavar="FILE", help="Keep a row for each answer here; a rerun goes on from it.")
]
Concurrency = Annotated[int, typer.Option(help="Answers under way at once.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Try the failed rows of the journal again.")]
Draws = Annotated[int, typer.Option(help="Bootstrap resamples.")]
FiguresAsJson = Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RowFlags:
    """How rows are made and kept."""

    out: Journal = None
    concurrency: Concurrency = 8
    retry_failed: RetryFailed = False

    def make(
        self,
        run: Callable[..., Coroutine[Any, Any, T]],
        cases: Sequence[object],
        parts: Parts,
        *,
        settings: Settings,
    ) -> T:
        """What `run` (such as `aevaluate_feedback`) makes of the cases, with a line of progress."""
        import asyncio

        numbers = count(1)
        with watch(len(cases)) as progress:
            return asyncio.run(
                run(
                    cases, parts, settings=settings, journal=self.out, concurrency=self.concurrency,
                    retry_failed=self.retry_failed,
                    on_row=lambda _: progress.advance(next(numbers), "drawing critiques"),
                )
            )  # fmt: skip
