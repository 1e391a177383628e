"""The commands of `eirene` together, and the one place where errors become a message and an exit code.

Exit codes: 0 done; 1 a run failed; 2 bad usage or input; 3 a condition of `check` holds or a row of `verify` fails; 130
stopped by the user; 141 nobody reads the output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import typer

from eirene._version import __version__
from eirene.cli import calibrate, check, compare, npov, prompts, refine, report, score, serve, synth, verify
from eirene.cli.batch import app as batch
from eirene.cli.evaluate import critiques, detectors
from eirene.cli.flags import Command, Group
from eirene.cli.papers import papers
from eirene.cli.terminal import configure_streams, log_to_stderr, say
from eirene.core.errors import AuthError, EireneError, InputError, MissingExtraError
from eirene.core.logs import get_logger
from eirene.core.process import acting_as_ctrl_c, settings_for_loading

app = typer.Typer(
    name="eirene",
    cls=Group,
    help="Finds what an answer lacks, has it rewritten, and lets the rewrite through only if it is better.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (
    refine.refine, verify.verify, score.score, check.check, compare.compare, npov.npov, report.report, serve.serve,
    prompts.prompts, papers,
):  # fmt: skip
    app.command(_command.__name__)(_command)
app.add_typer(batch.app, name="batch")
evaluate = typer.Typer(cls=Group, help="Measure on labelled data.", no_args_is_help=True)
for _command in (detectors.detectors, critiques.feedback, critiques.critic, compare.blind):
    evaluate.command(_command.__name__)(_command)
app.add_typer(evaluate, name="evaluate")
app.add_typer(calibrate.app, name="calibrate")
app.add_typer(synth.app, name="synth")
for _typer in (app, batch.app, evaluate, calibrate.app, synth.app):
    for _info in _typer.registered_commands:
        _info.cls = Command

logger = get_logger(__name__)
_PYDANTICS = re.compile(r"\A(Invalid value for [^:]*: )(?:Value error|Assertion failed), ")
_WANTED = {"int": "an integer", "float": "a number", "bool": "true or false"}
"""What pydantic, which reads values for Typer, wanted."""


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"eirene {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and stop.", callback=_show_version, is_eager=True)
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log to standard error, tracebacks included.")
    ] = False,
) -> None:
    log_to_stderr(verbose=verbose)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line on `arguments` (default: those of the process) and returns the exit code."""
    return run_app(app, arguments, name="eirene")


def run_app(app: typer.Typer, arguments: Sequence[str] | None = None, *, name: str) -> int:
    """Runs commands and returns the exit code; every error is a line on standard error."""
    configure_streams()
    try:
        with acting_as_ctrl_c(), settings_for_loading():
            code = app(args=arguments, prog_name=name, standalone_mode=False)
    except typer.TyperException as error:  # usage: an unknown flag, a missing argument, a value of the wrong type
        message = _usage_problem(error)
        if message:  # none: a group without a command, whose help has been shown instead
            say(f"error: {message}")
        return 2
    except EireneError as error:
        say(f"error: {error}")
        # A key that is not accepted is bad usage, too: to be mended before anything else.
        return 2 if isinstance(error, (InputError, MissingExtraError, AuthError)) else 1
    except OSError as error:  # a full disk, a folder that vanished: the machine's fault, not ours
        say(f"error: {error.filename or 'the system'}: {error.strerror or error}")
        return 1
    except Exception as error:  # the edge of the process: a fault of our own is a line as well, and no traceback
        logger.info("unexpected", exc_info=True)
        say(
            f"error: unexpected {type(error).__name__}: {error} (a fault in Eirene; `eirene --verbose ...` shows where)"
        )
        return 1
    return code if isinstance(code, int) else 0


def _usage_problem(error: typer.TyperException) -> str:
    """One sentence: the flag, what came, what was wanted. Empty for a group without a command, which shows its help."""
    flag = getattr(getattr(error, "param", None), "opts", None)
    problems = getattr(error.__cause__, "errors", None)  # pydantic's, which is not imported for this
    if flag and callable(problems):
        problem = problems(include_url=False)[0]
        wanted = _WANTED.get(str(problem["type"]).partition("_")[0])
        rule = f"be {wanted}" if wanted else str(problem["msg"]).removeprefix("Input should ")
        if rule != problem["msg"]:
            return f"{flag[0]!r} must {rule}, got {str(problem['input'])[:200]!r}"
    text = _PYDANTICS.sub(r"\1", " ".join(error.format_message().split()))
    return text[:1].lower() + text[1:]
