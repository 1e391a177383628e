"""`python -m recipes.gate DATA`: fits the comparison and prints, or writes, its file.

    python -m recipes.gate DATA --out eirene/gate/passages.json

DATA has `train.jsonl` of people's edits (`id`, `source`, `question`, `before`, `after`, `context`) and may have
`dev.jsonl`, on which it is then measured. Some minutes on one core.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from eirene.cli.terminal import say
from eirene.gate.calibration import GateCalibration
from eirene.gate.readings import PASSAGE_READINGS, PassageReadings
from eirene.models.verifier.runtime import shipped_verifier
from recipes.gate.fit import FOLDS, Array, fitted, held_out, limits_of, rows_of, signs
from recipes.gate.pairs import AnswerPair, harmed, read_pairs

NAME = "people's corrections and their reverse (DeFacto, QA-Feedback, ExpertQA; English)"
HARM = 0.25
"""Weight of a pair made by rule beside one of people's."""


def main(
    data: Path,
    out: Annotated[Path | None, typer.Option(help="Write the fit here.")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="A folder for what was measured, which is not measured again.")
    ] = None,
    seed: int = 0,
) -> None:
    """Fit, measure, print."""
    train, differences, narrowness = measured(data / "train.jsonl", seed, keep)
    people = np.array([pair.kind == "human" for pair in train])
    limits = limits_of(differences[people])
    rows, weights, sign = rows_of(differences, narrowness, limits), weights_of(train), signs()
    parts = [int(hashlib.sha256(pair.group.encode()).hexdigest(), 16) % FOLDS for pair in train]
    odds = held_out(rows, weights, sign, parts)
    calibration = GateCalibration(
        fit="", name=NAME, better=tuple(odds[people].round(2)), worse=tuple((-odds[people]).round(2))
    )
    numbers = fitted(rows, weights, sign)
    show("train, held out", train, odds, calibration)
    if (data / "dev.jsonl").exists():
        dev, found, narrow = measured(data / "dev.jsonl", seed, keep)
        show("dev", dev, rows_of(found, narrow, limits) @ numbers, calibration)
    sources = Counter(pair.source for pair in train if pair.kind == "human")
    content = fit_file(numbers, limits, calibration, seed, sources)
    say(json.dumps({key: content[key] for key in ("weights", "narrow", "limits")}, indent=1))
    if out is not None:
        out.write_text(json.dumps(content) + "\n")


def measured(file: Path, seed: int, keep: Path | None) -> tuple[list[AnswerPair], Array, Array]:
    """The pairs of a file with harm by rule, the differences of their readings, [pairs, readings], and how narrow each
    change is, [pairs].
    """
    people = read_pairs(file)
    pairs = [*people, *harmed(people, seed=seed)]
    kept = None if keep is None else keep / f"{file.stem}.npy"
    if kept is not None and kept.exists() and len(found := np.load(kept)) == len(pairs):
        return pairs, found[:, :-1], found[:, -1]
    verifier = shipped_verifier()
    by_item: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for n, pair in enumerate(pairs):
        by_item.setdefault((pair.question, pair.passages), []).append(n)
    found = np.zeros((len(pairs), len(PASSAGE_READINGS) + 1))
    with typer.progressbar(by_item.items(), label=file.name) as items:
        for (question, passages), numbers in items:
            readings = PassageReadings(question, passages, verifier)
            for n in numbers:
                found[n, :-1], found[n, -1] = readings.differences(pairs[n].worse, pairs[n].better)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, found)
    return pairs, found[:, :-1], found[:, -1]


def weights_of(pairs: Sequence[AnswerPair]) -> Array:
    """How much each pair counts: sources by the root of their size, harm by rule less."""
    sizes = Counter(pair.source for pair in pairs if pair.kind == "human")
    found = np.array([(1.0 if p.kind == "human" else HARM) / sizes[p.source] ** 0.5 for p in pairs])
    return np.asarray(found / found[[p.kind == "human" for p in pairs]].mean())


def show(name: str, pairs: Sequence[AnswerPair], odds: Array, calibration: GateCalibration) -> None:
    """Prints, by source and kind, the share accepted and the share of their reverses accepted."""
    at = {risk: calibration.threshold_for(risk) for risk in (0.05, 0.1)}
    say(f"{name} {at}")
    needed = {risk: np.inf if p is None else np.log(p / (1 - p)) for risk, p in at.items()}
    for kind in sorted({(p.kind == "human", p.source if p.kind == "human" else p.kind) for p in pairs}, reverse=True):
        own = odds[[(p.kind == "human", p.source if p.kind == "human" else p.kind) == kind for p in pairs]]
        shares = ", ".join(f"{(own >= t).mean():.3f} / {(-own >= t).mean():.3f}" for t in needed.values())
        say(f"  {kind[1]:14} n={len(own):4} on the right side {(own > 0).mean():.3f}; accepted / reverse: {shares}")


def fit_file(
    numbers: Array, limits: Array, calibration: GateCalibration, seed: int, rows: Counter[str]
) -> dict[str, object]:
    """The content of the fit's file."""
    named = {"weights": numbers[: len(limits)], "narrow": numbers[len(limits) :], "limits": limits}
    return {
        "about": "Logistic regression on differences of readings, without an intercept; python -m recipes.gate",
        "rows": dict(rows),
        "seed": seed,
        **{key: dict(zip(PASSAGE_READINGS, part.round(4).tolist(), strict=True)) for key, part in named.items()},
        "calibration": {"name": calibration.name, "better": calibration.better, "worse": calibration.worse},
    }


if __name__ == "__main__":
    typer.run(main)
