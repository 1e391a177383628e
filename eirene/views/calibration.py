"""Calibration as Markdown and in words: the loss of the fit beside that of the default threshold, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eirene.views.detectors import FEW_CLUSTERS, table
from eirene.views.tables import figure

Json = dict[str, Any]


def calibration_page(figures: Json, *, name: str, errors: Json) -> str:
    """`calibration.md`: for each error the verdict, the losses and the weights. `errors` are the file's."""
    parts = [
        f"# Calibration on {name}",
        f"Loss: {figures['loss']}. Every answer is called by a fit on the other folds, whole questions apart; "
        "intervals are 95 % percentile bootstrap intervals over questions, differences are paired.",
        *(part for error, found in figures["errors"].items() for part in _error(error, found, figures, errors)),
        *(f"Not fitted: {error}: {why}." for error, why in figures["not_fitted"].items()),
    ]
    if figures.get("failed"):
        parts.append(f"{figures['failed']} answers are left out: a detector failed on them.")
    return "\n\n".join(parts) + "\n"


def _error(error: str, found: Json, figures: Json, errors: Json) -> Iterator[str]:
    yield table(
        error.capitalize(), ("", "loss", "called wrongly", "fit minus this", "settings"),
        [(*row, figures["settings"]) for row in loss_rows(found)], said=f"{counted(found)}\n\n{verdict(found)}",
    )  # fmt: skip
    rows = [
        (i["detector"], f"{i['weight']:.3f}", f"{i['centre']:.3f}",
         "-" if i["unscored"] is None else f"{i['unscored']:+.3f}", figures["settings"])
        for i in errors[error]["inputs"]
    ]  # fmt: skip
    said = f"Log odds from which an answer is called faulty: {errors[error]['threshold']:.3f}."
    yield table("Weights", ("detector", "weight", "centre", "unscored", "settings"), rows, heading="###", said=said)
    yield from (f"Left out: {name}: {why}." for name, why in found["left_out"].items())


def counted(found: Json) -> str:
    """How many answers, errors and questions, and what detectors left unscored."""
    text = f"{found['answers']:,} answers, {found['errors']:,} with the error, {found['clusters']:,} questions"
    text += "; intervals over so few are too narrow" if found["clusters"] < FEW_CLUSTERS else ""
    gaps = [f"{n:,} by {name}" for name, n in found["unscored"].items() if n]
    return text + (f"; unscored: {', '.join(gaps)}" if gaps else "")


def loss_rows(found: Json) -> list[tuple[str, str, str, str]]:
    """A line for the fit, then one for each rule beside it, with the difference."""
    rows = [("fitted", figure(found["fitted"]["loss"]), figure(found["fitted"]["wrong"]), "")]
    for name, other in found["others"].items():
        rows.append((name, figure(other["loss"]), figure(other["wrong"]), figure(other["difference"], signed=True)))
    return rows


def verdict(found: Json) -> str:
    """One sentence: than what the fit is better, and than what it is not."""
    said = []
    if found["better_than"]:
        said.append(f"better than {_listed(found['better_than'])}")
    if found["not_shown"]:
        said.append(f"not shown to be better than {_listed(found['not_shown'])}")
    if found["worse_than"]:
        said.append(f"worse than {_listed(found['worse_than'])}")
    if not found["not_shown"] and not found["worse_than"]:
        return f"The fit is {said[0]}."
    return f"The fit is NOT better than everything it was compared with: it is {'; '.join(said)}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
