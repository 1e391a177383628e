"""`eirene train`: making the models that Eirene uses, a command each."""

from __future__ import annotations

import typer

from eirene.cli import train_classifier, train_critic, train_encoder, train_feedback, train_generator, train_refiner

app = typer.Typer(help="Train the models that Eirene uses.", no_args_is_help=True)
app.command("classifier")(train_classifier.classifier)
app.command("critic")(train_critic.critic)
app.command("encoder")(train_encoder.encoder)
app.command("feedback")(train_feedback.feedback)
app.command("generator")(train_generator.generator)
app.command("refiner")(train_refiner.refiner)
