"""`eirene evaluate`: figures with intervals on labelled data."""

from __future__ import annotations

import typer

from eirene.cli.evaluate import critic, detectors, feedback

app = typer.Typer(help="Measure on labelled data.", no_args_is_help=True)
app.command("detectors")(detectors.detectors)
app.command("feedback")(feedback.feedback)
app.command("critic")(critic.critic)
