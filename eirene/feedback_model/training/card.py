"""What is written beside a trained model: data, settings, figures, as JSON for programs and Markdown for people."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eirene.haluquestqa import TaggedAnswer

CARD_FILE = "card.json"
README_FILE = "README.md"


def describe_rows(rows: Sequence[TaggedAnswer]) -> dict[str, Any]:
    """Counts of a data set: answers, sentences, and how many of each are incomplete."""
    sentences = sum(len(r.tags) for r in rows)
    incomplete = sum(tag == "Incomplete" for r in rows for tag in r.tags)
    return {
        "answers": len(rows),
        "questions": len({r.question for r in rows}),
        "sentences": sentences,
        "incomplete_sentences": incomplete,
        "answers_with_an_incomplete_sentence": sum("Incomplete" in r.tags for r in rows),
    }


def losses(log: Sequence[dict[str, Any]], epochs: int) -> dict[str, Any]:
    """Mean training loss of each epoch, and the dev loss after each where there is one, from a Trainer's log."""
    by_epoch: list[list[float]] = [[] for _ in range(epochs)]
    for entry in log:
        if "loss" in entry:
            # An entry's epoch is where it ends: the last of the first epoch says 1.0.
            by_epoch[min(epochs - 1, max(0, int(entry["epoch"] - 1e-9)))].append(entry["loss"])
    return {
        "train_loss": [round(sum(e) / len(e), 4) if e else None for e in by_epoch],
        "dev_loss": [round(entry["eval_loss"], 4) for entry in log if "eval_loss" in entry],
    }


def write_card(folder: Path, card: dict[str, Any]) -> None:
    """Writes `README.md` and then `card.json`, whose presence says that the training is finished."""
    (folder / README_FILE).write_text(markdown(card), encoding="utf-8")
    write_json(folder / CARD_FILE, card)


def write_json(file: Path, value: dict[str, Any]) -> None:
    """Writes a whole JSON file or none."""
    trial = file.with_suffix(".tmp")
    trial.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(trial, file)


def markdown(card: dict[str, Any]) -> str:
    """The card for people."""
    data, run, figures = card["data"], card["run"], card["figures"]
    train = data["train"]
    lines = [
        "# A feedback model for Eirene",
        "",
        f"Fine-tuned ({run['recipe']['method']}) from `{run['base']}`. Use it as `--backend hf:THIS_FOLDER`.",
        "",
        "## Data",
        "",
        f"- `{data['file']}`, SHA-256 `{data['sha256']}`, split: {data['split']}",
        f"- trained on {train['answers']} answers to {train['questions']} questions, {train['sentences']} sentences, "
        f"of which {train['incomplete_sentences']} incomplete; {data['left_out']} longer answers left out",
        f"- {train['answers_with_an_incomplete_sentence']} of {train['answers']} answers have an incomplete sentence",
    ]
    if train["answers"] and train["answers_with_an_incomplete_sentence"] >= 0.95 * train["answers"]:
        lines.append(
            "- a model trained on answers that nearly always lack something will hardly ever call an answer complete: "
            "its vote says where, not whether, something is missing"
        )
    lines += ["", "## Settings", ""]
    lines += [f"- {name}: {value}" for name, value in run["recipe"].items() if value is not None]
    lines += [f"- learning rate used: {run['rate']:g}", f"- seed: {run['seed']}", "", "## Figures", ""]
    lines += [f"- {name}: {value}" for name, value in figures.items() if value not in (None, [])]
    lines += ["", "## Made with", ""]
    lines += [f"- {name} {version}" for name, version in card["versions"].items()]
    return "\n".join(lines) + "\n"
