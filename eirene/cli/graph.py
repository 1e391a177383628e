"""`eirene graph`: the state machine as a picture's source."""

from __future__ import annotations

import typer

from eirene.cli.terminal import output


def graph() -> None:
    """Print the loop's state machine as Mermaid."""
    from eirene.agent.graph import mermaid

    with output():
        typer.echo(mermaid().rstrip("\n"))
