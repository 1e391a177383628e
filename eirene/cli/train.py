"""`eirene train`: making the models that Eirene uses."""

from __future__ import annotations

import typer

app = typer.Typer(help="Train the models that Eirene uses.", no_args_is_help=True)
