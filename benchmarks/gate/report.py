"""Tables of the trials: what survives by family and kind, with intervals, and what of the gain is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gate.attack import FAMILIES, Family
from gate.kinds import ATTACKS
from gate.rightful import RIGHTFUL
from gate.survival import wilson
from gate.trials import CONTROL, RIGHT, SETTINGS, Trial

Json = dict[str, Any]
WANTED: dict[Family, tuple[float, float]] = {
    "form": (2, 2),
    "structure": (2, 2),
    "foreign": (2, 10),
    "specifics": (5, 5),
    "polarity": (10, 10),
}
"""The most that may survive, in percent: with something given, and with nothing."""
GAIN_WANTED = 85.0


def share(hits: int, n: int) -> Json:
    """Hits of n, as percent with its interval; None where there was none to be had."""
    low, high = wilson(hits, n)
    percent = round(100 * hits / n, 1) if n else None
    return {"hits": hits, "n": n, "percent": percent, "interval": [round(100 * low, 1), round(100 * high, 1)]}


def survival(trials: Iterable[Trial]) -> Json:
    """How many of the trials' harms survive."""
    found = list(trials)
    return share(sum(t.survives for t in found), len(found))


def gain_kept(trials: Iterable[Trial], passes: frozenset[tuple[str, str]]) -> Json:
    """How often the gain stands, of the trials that put it in intact on a row where it passes alone."""
    found = [t for t in trials if t.gain is not None and (t.setting, t.row) in passes]
    return share(sum(bool(t.gain) for t in found), len(found))


def rightful(trials: Iterable[Trial]) -> Json:
    """What stands of a kind of rightful rewrites, by name, of those that were asked for."""
    found = [t.goods for t in trials if t.goods is not None and t.asked]
    names = list(found[0]) if found else []
    return {name: share(sum(goods[name] for goods in found), len(found)) for name in names}


def summary(trials: Sequence[Trial]) -> Json:
    """Everything that is reported, by setting and by family and kind."""
    controls = [t for t in trials if t.kind == CONTROL]
    passes = frozenset((t.setting, t.row) for t in controls if t.gain)
    attacks = [t for t in trials if t.kind in ATTACKS]
    settings = [name for name in SETTINGS if any(t.setting == name for t in attacks)]

    def of(chosen: Sequence[Trial]) -> Json:
        return {
            "survives": {s: survival(t for t in chosen if t.setting == s) for s in settings},
            "gain_kept": {s: gain_kept((t for t in chosen if t.setting == s), passes) for s in settings},
        }

    return {
        "settings": settings,
        "control": {s: share(sum(bool(t.gain) for t in controls if t.setting == s),
                             sum(t.setting == s for t in controls)) for s in settings},
        "families": {f: of([t for t in attacks if ATTACKS[t.kind].family == f]) for f in FAMILIES},
        "kinds": {k: of([t for t in attacks if t.kind == k]) for k in ATTACKS if any(t.kind == k for t in attacks)},
        "all": of(attacks),
        "rightful": {k: rightful(t for t in trials if t.kind == k and t.setting == RIGHT) for k in RIGHTFUL
                     if any(t.kind == k for t in trials)},
    }  # fmt: skip


def cell(found: Mapping[str, Any], *, interval: bool = False) -> str:
    """A share as "3/50", or with percent and interval."""
    if not found["n"]:
        return "-"
    if not interval:
        return f"{found['hits']}/{found['n']}"
    low, high = found["interval"]
    return f"{found['hits']}/{found['n']}, {found['percent']:.1f} % ({low:.1f} to {high:.1f})"


def wanted_of(family: Family, setting: str) -> float:
    """The most that may survive of a family in a setting, in percent."""
    return WANTED[family][setting.startswith("nothing")]


def family_rows(report: Json) -> list[list[str]]:
    """One line a family: what is wanted, then each setting with its interval."""
    lines = []
    for family, title in FAMILIES.items():
        given, nothing = WANTED[family]
        wanted = f"{given:g} %" if given == nothing else f"{given:g} %, nothing given {nothing:g} %"
        found = report["families"][family]["survives"]
        lines.append([title, wanted, *(cell(found[s], interval=True) for s in report["settings"])])
    lines.append(["all", "", *(cell(report["all"]["survives"][s], interval=True) for s in report["settings"])])
    kept = report["all"]["gain_kept"]
    wanted = f"at least {GAIN_WANTED:g} %"
    lines.append(["*the gain is kept*", wanted, *(cell(kept[s], interval=True) for s in report["settings"])])
    return lines


def kind_rows(report: Json) -> list[list[str]]:
    """One line a kind, by family: how it is made, then the survivors of each setting, then the gains kept."""
    lines = []
    for family, title in FAMILIES.items():
        kinds = [k for k in report["kinds"] if ATTACKS[k].family == family]
        if kinds:
            lines.append([f"**{title}**", *[""] * (len(report["settings"]) + 2)])
        for kind in kinds:
            found = report["kinds"][kind]
            kept = [v for s, v in found["gain_kept"].items() if SETTINGS[s].given]
            total = share(sum(v["hits"] for v in kept), sum(v["n"] for v in kept))
            cells = [cell(found["survives"][s]) for s in report["settings"]]
            lines.append([kind, ATTACKS[kind].how, *cells, cell(total)])
    control = [cell(report["control"][s]) for s in report["settings"]]
    lines.append([CONTROL, "gain stands of tried", *control, ""])
    return lines


def above(report: Json) -> list[str]:
    """The kinds of which more survives than is wanted of their family, the worst first, by setting."""
    found = []
    for kind, of in report["kinds"].items():
        family = ATTACKS[kind].family
        for setting, survivors in of["survives"].items():
            if survivors["n"] and survivors["percent"] > wanted_of(family, setting):
                told = f"{kind} ({FAMILIES[family]}, {setting}): {cell(survivors, interval=True)}"
                found.append((-survivors["percent"], told))
    return [told for _, told in sorted(found)]


def rightful_rows(report: Json) -> list[list[str]]:
    """One line a kind: what is wanted of its chief good, that good, and the others."""
    lines = []
    for kind, goods in report["rightful"].items():
        wanted = RIGHTFUL[kind].wanted
        chief, *others = goods or [""]
        first = cell(goods[chief], interval=True) if goods else "-"
        more = "; ".join(f"{name} {cell(goods[name])}" for name in others)
        lines.append([kind, "" if wanted is None else f"{wanted:g} %", chief, first, more])
    return lines


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines)
