"""`eirene train`: making the models that Eirene uses, a command each."""

from __future__ import annotations

import typer

from eirene.cli.train import classifier, critic, encoder, feedback, generator, refiner

app = typer.Typer(help="Train the models that Eirene uses.", no_args_is_help=True)
app.command("classifier")(classifier.classifier)
app.command("critic")(critic.critic)
app.command("encoder")(encoder.encoder)
app.command("feedback")(feedback.feedback)
app.command("generator")(generator.generator)
app.command("refiner")(refiner.refiner)
