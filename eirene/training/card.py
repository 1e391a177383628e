"""What is written beside a trained model: data, settings, figures, as JSON for programs and Markdown for people."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from eirene.line_checksum import sealed_value

CARD_FILE = "card.json"
README_FILE = "README.md"
_PACKAGES = ("torch", "transformers", "peft", "accelerate")


def epoch_means(log: Iterable[Mapping[str, Any]], name: str = "loss") -> list[float]:
    """The mean of what a Trainer logged under `name`, for each epoch that was begun."""
    by_epoch: dict[int, list[float]] = {}
    for entry in log:
        if name in entry:
            # An entry's epoch is where it ends: the last of the first epoch says 1.0.
            by_epoch.setdefault(max(0, int(entry["epoch"] - 1e-9)), []).append(entry[name])
    return [round(sum(values) / len(values), 4) for _, values in sorted(by_epoch.items())]


def logged(log: Iterable[Mapping[str, Any]], name: str) -> list[float]:
    """Everything that a Trainer logged under `name`, in order."""
    return [round(entry[name], 4) for entry in log if name in entry]


def versions(more: Iterable[str] = ()) -> dict[str, str]:
    """What the run was made with; `more` are further packages."""
    from eirene._version import __version__

    return {"eirene": __version__, **{name: version(name) for name in (*_PACKAGES, *more)}}


def write_card(folder: Path, card: dict[str, Any], text: str) -> None:
    """Writes `README.md` and then `card.json`, whose presence says that the training is finished."""
    (folder / README_FILE).write_text(text, encoding="utf-8")
    write_json(folder / CARD_FILE, sealed_value(card))


def write_json(file: Path, value: Mapping[str, Any]) -> None:
    """Writes a whole JSON file or none."""
    trial = file.with_suffix(".tmp")
    trial.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(trial, file)


def markdown(card: Mapping[str, Any], *, title: str, data: Iterable[str], figures: Iterable[str] = ()) -> str:
    """The card for people. `data` says what was trained on and `figures` what came out, a line each.

    Figures that are single values or lists come by themselves; a part puts its nested ones into words.
    """
    run = card["run"]
    lines = [f"# {title}", "", f"Fine-tuned ({run['recipe']['method']}) from `{run['base']}`."]
    lines += ["Use it as `--backend hf:THIS_FOLDER`.", "", "## Data", ""]
    lines += [f"- {line}" for line in data]
    settings = {**run["recipe"], "learning rate used": f"{run['rate']:g}", "seed": run["seed"]}
    lines += ["", "## Settings", "", *_listed(settings)]
    lines += ["", "## Figures", "", *(f"- {line}" for line in figures), *_listed(card["figures"])]
    lines += ["", "## Made with", "", *_listed(card["versions"])]
    return "\n".join(lines) + "\n"


def _listed(values: Mapping[str, Any]) -> list[str]:
    shown = {name: value for name, value in values.items() if value not in (None, []) and not isinstance(value, dict)}
    return [f"- {name}: {value}" for name, value in shown.items()]
