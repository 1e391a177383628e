"""The training recipe (settings) of a causal language model, its progress, and the card beside the trained model."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Literal

from eirene.core.errors import InputError
from eirene.data.line_checksum import sealed_value
from eirene.models.local.spec import DTYPES

Method = Literal["full", "lora", "prompt"]
Schedule = Literal["linear", "cosine", "constant"]
SCHEDULES: tuple[Schedule, ...] = ("linear", "cosine", "constant")
Precision = Literal["bf16", "fp32"]
PRECISIONS: tuple[Precision, ...] = ("bf16", "fp32")
CARD_FILE = "card.json"
README_FILE = "README.md"
_PACKAGES = ("torch", "transformers", "peft", "accelerate")


@dataclass(frozen=True, slots=True)
class Step:
    """Where a training is: `loss` is the step's own; `accuracy` is a share in [0, 1], where the training has one."""

    step: int
    steps: int
    epoch: float
    loss: float
    accuracy: float | None = None


Progress = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class TrainingRecipe:
    """What decides a run besides data, base model and seed. A part's own recipe adds to these and sets its defaults.

    - `micro_batch`: examples at once, where a batch does not fit the memory; gradients add up to `batch_size`.
    - `max_tokens`: longer examples are left out and counted, never cut: a cut reply teaches the model not to end.
    - `max_steps`: the end of the run, whatever `epochs` says; None leaves it to them.
    - `method`: the whole model, a LoRA adapter, or virtual tokens before a frozen model (prompt tuning).
    - `learning_rate`: None is the recipe's own for its method, see `rate`.
    - `warmup`: steps, or where it is below 1 a share of all steps, over which the rate rises from 0.
    - `virtual_tokens`: of prompt tuning.
    - `lora_targets`: ends of the names of the layers that get an adapter; None is every linear layer but the last.
    - `dtype`: of the frozen weights under LoRA. A model trained in full is kept in float32.
    - `precision`: what is computed in; None is bf16 on GPUs that can, else fp32.
    - `checkpoint_steps`: steps between checkpoints; None is one an epoch.
    """

    RATES: ClassVar[Mapping[Method, float]] = {"full": 2e-5, "lora": 2e-4}
    """The learning rate of each method that there is."""

    method: Method = "lora"
    epochs: int = 5
    batch_size: int = 4
    micro_batch: int | None = None
    max_tokens: int = 1024
    max_steps: int | None = None
    learning_rate: float | None = None
    schedule: Schedule = "linear"
    warmup: float = 0.0
    weight_decay: float = 0.0
    lora_rank: int = 16
    lora_alpha: int = 32
    lora_dropout: float = 0.05
    lora_targets: tuple[str, ...] | None = None
    virtual_tokens: int = 5
    dtype: str | None = None
    precision: Precision | None = None
    gradient_checkpointing: bool = False
    checkpoint_steps: int | None = None

    def __post_init__(self) -> None:
        check_known("method", self.method, tuple(self.RATES))
        check_known("schedule", self.schedule, SCHEDULES)
        if self.dtype is not None:
            check_known("dtype", self.dtype, DTYPES)
        if self.precision is not None:
            check_known("precision", self.precision, PRECISIONS)
        for name in ("epochs", "batch_size", "max_tokens", "lora_rank", "lora_alpha", "virtual_tokens"):
            _at_least_one(name, getattr(self, name))
        for name in ("micro_batch", "max_steps", "checkpoint_steps"):
            if getattr(self, name) is not None:
                _at_least_one(name, getattr(self, name))
        if self.batch_size % self.at_once:
            raise InputError(
                f"micro_batch must divide batch_size = {self.batch_size}, got {self.micro_batch}", field="micro_batch"
            )
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise InputError(f"learning_rate must be a number above 0, got {self.rate}", field="learning_rate")
        for name in ("warmup", "weight_decay"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise InputError(f"{name} must be a number of at least 0, got {getattr(self, name)}", field=name)
        if not 0 <= self.lora_dropout < 1:
            raise InputError(
                f"lora_dropout must be at least 0 and below 1, got {self.lora_dropout}", field="lora_dropout"
            )
        if self.lora_targets is not None and not (self.lora_targets and all(t.strip() for t in self.lora_targets)):
            raise InputError("lora_targets must name layers, such as q_proj; got an empty name", field="lora_targets")

    @property
    def rate(self) -> float:
        """The learning rate that is used."""
        return self.RATES[self.method] if self.learning_rate is None else self.learning_rate

    @property
    def at_once(self) -> int:
        """Examples in one forward pass."""
        return self.batch_size if self.micro_batch is None else self.micro_batch


def check_known(name: str, value: object, known: tuple[str, ...]) -> None:
    """Raises `InputError` where a setting has none of its known values."""
    if value not in known:
        raise InputError(f"{name} must be one of {', '.join(known)}, got {value!r}", field=name)


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise InputError(f"{name} must be at least 1, got {value}", field=name)


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
