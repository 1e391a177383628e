"""Flags that commands share: each is a flag of the command, and the group arrives filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from eirene.cli.flags import with_groups


@dataclass(frozen=True, kw_only=True)
class Size:
    width: Annotated[int, typer.Option(help="Across.")]
    height: Annotated[int, typer.Option("--tall")] = 2


def said(*arguments: str, **defaults: int) -> str:
    app = typer.Typer()

    @app.command()
    @with_groups(**defaults)
    def draw(name: str, *, size: Size, ink: str = "black") -> None:
        """Draws."""
        typer.echo(f"{name} {size.width} {size.height} {ink}")

    result = CliRunner().invoke(app, arguments)
    return result.output.strip() if result.exit_code == 0 else f"exit {result.exit_code}"


def test_the_fields_of_a_group_are_flags_with_its_defaults_or_the_commands() -> None:
    assert said("box", "--width", "3", "--ink", "red") == "box 3 2 red"
    assert said("box", "--width", "3", "--tall", "9") == "box 3 9 black"
    assert said("box", width=5) == "box 5 2 black"
    assert said("box") == "exit 2"


def test_a_default_that_no_group_has_is_a_slip() -> None:
    with pytest.raises(TypeError, match="no flag of a group is called depth"):
        said("box", depth=1)
