"""A mixed rewrite: it adds the argument that the answer lacks, and with it a "not", a link and an insult.

    python examples/mixed-rewrite.py

Needs no model: the rewrite is scripted, the critique and the gate are those of the embedded default. The argument
stays, the rest is undone.
"""

import dataclasses
import json
from pathlib import Path

from rich.console import Console

import eirene
from eirene.testing.parts import ScriptedRefiner
from eirene.views.terminal import render

ITEM = json.loads(Path(__file__).with_name("dropped-argument.json").read_text("utf-8"))
REWRITE = (
    ITEM["answer"]
    .replace("would finally have", "would not finally have")
    .replace(
        "depend on them.",
        "depend on them. They add that one commuting day less cuts traffic and emissions. "
        "There is more about it at https://four-days.example/join.",
    )
    + " Anyone who doubts this is a fool."
)


def main() -> None:
    """Runs the loop on the scripted rewrite and prints the record as the terminal shows it."""
    parts = dataclasses.replace(eirene.resolve_backend("embedded"), refiner=ScriptedRefiner([REWRITE]))
    Console().print(render(eirene.refine(ITEM, backend=parts)))


if __name__ == "__main__":
    main()
