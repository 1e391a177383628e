"""The conclusion of an evaluation of detectors in words: who ranks errors best, and is it better than counting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eirene.views.detectors import figure, floor_name

Json = Mapping[str, Any]
ALPHA = 0.05
_CHANCE = 0.5
_FEW_NAMED = 3


def conclusion(level: Json) -> str:
    """A sentence or two about one level; the areas in it have 95 % intervals."""
    if not level["errors"] or level["errors"] == level["n"]:
        which = "every one is an error" if level["errors"] else "none of them is an error"
        return f"Nothing can be told: of {level['n']:,} labelled {level['level']}s {which}."
    ranked = sorted(_areas(level["detectors"]), key=lambda entry: -entry[1]["value"])
    if not ranked:
        return "Nothing can be told: no detector scores at this level."
    name, area = ranked[0]
    if "low" not in area:
        return f"Nothing can be told: {name} has a ROC AUC of {figure(area, 2)}, without an interval."
    if all(found.get("low", 0.0) <= _CHANCE for _, found in ranked):
        said = "No detector can" if len(ranked) > 1 else f"{name} cannot"
        return f"{said} be told from chance; the ROC AUC of {name} is {figure(area, 2)}."
    best = "ranks errors best, with a" if len(ranked) > 1 else "ranks errors with a"
    text = f"{name} {best} ROC AUC of {figure(area, 2)}"
    text += ", which cannot be told from chance" if area["low"] <= _CHANCE else ""
    return "; ".join([text, *_against_others(level, name), *_against_counting(level, area)]) + "."


def _areas(found: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    for name, figures in found.items():
        if "value" in figures.get("auc", {}):
            yield name, figures["auc"]


def _against_others(level: Json, best: str) -> Iterator[str]:
    """Whom the best detector is told from, by paired differences and p-values with Holm's correction."""
    better, open_ = [], []
    for pair in level["pairs"]:
        if best not in (pair["a"], pair["b"]) or "difference" not in pair:
            continue
        other = pair["b"] if pair["a"] == best else pair["a"]
        found = pair["difference"]
        if "low" not in found or pair.get("holm", 1.0) >= ALPHA or found["low"] <= 0 <= found["high"]:
            open_.append(other)
        else:
            low, high = sorted(abs(found[end]) for end in ("low", "high"))
            better.append(f"{other} (by {abs(found['value']):.2f} [{low:.2f}, {high:.2f}])")
    if better:
        yield f"better than {_joined(better)}"
    if open_:
        yield f"not told apart from {_joined(open_)}"


def _against_counting(level: Json, area: Json) -> Iterator[str]:
    """Whether the best area lies above that of the best count, which reads no word."""
    floors = [(floor_name(name, floor), a) for name, floor in level["floors"].items() if name != "all"
              for a in [floor["auc"]] if "value" in a]  # fmt: skip
    if not floors:
        return
    name, floor = max(floors, key=lambda entry: entry[1]["value"])
    counting = f'counting alone ("{name}": {figure(floor, 2)})'
    if area["low"] > floor.get("high", floor["value"]):
        yield f"above {counting}"
    elif area["value"] > floor["value"]:
        yield f"not clearly above {counting}: the intervals overlap"
    else:
        yield f"no better than {counting}"


def _joined(names: Sequence[str]) -> str:
    if len(names) > _FEW_NAMED:
        names = [*names[: _FEW_NAMED - 1], f"{len(names) - _FEW_NAMED + 1} others"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
