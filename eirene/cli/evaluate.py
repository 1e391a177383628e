"""`eirene evaluate`: figures with intervals on labelled data."""

from __future__ import annotations

import typer

from eirene.cli import evaluate_critic, evaluate_detectors, evaluate_feedback

app = typer.Typer(help="Measure on labelled data.", no_args_is_help=True)
app.command("detectors")(evaluate_detectors.detectors)
app.command("feedback")(evaluate_feedback.feedback)
app.command("critic")(evaluate_critic.critic)
