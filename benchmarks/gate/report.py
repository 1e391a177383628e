"""Tables of the trials: what survives by family and kind, with intervals, and what of the gain is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gate.attack import FAMILIES, Family
from gate.kinds import ATTACKS
from gate.trials import CONTROL, SETTINGS, Trial
from harness import share

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


def counted(found: Iterable[bool]) -> tuple[int, int]:
    """How many hold, and of how many."""
    values = list(found)
    return sum(values), len(values)


def summary(trials: Sequence[Trial]) -> Json:
    """Everything that is reported, by setting and by family and kind: how many, of how many.

    Of the gains those count that were put in intact, on a row where the gain alone passes.
    """
    controls = [t for t in trials if t.kind == CONTROL]
    passes = {(t.setting, t.row) for t in controls if t.gain}
    attacks = [t for t in trials if t.kind in ATTACKS]
    settings = [name for name in SETTINGS if any(t.setting == name for t in attacks)]

    def of(chosen: Sequence[Trial]) -> Json:
        by_setting = {s: [t for t in chosen if t.setting == s] for s in settings}
        return {
            "survives": {s: counted(t.survives for t in own) for s, own in by_setting.items()},
            "gain_kept": {s: counted(bool(t.gain) for t in own if t.gain is not None and (s, t.row) in passes)
                          for s, own in by_setting.items()},
        }  # fmt: skip

    return {
        "settings": settings,
        "control": {s: counted(bool(t.gain) for t in controls if t.setting == s) for s in settings},
        "families": {f: of([t for t in attacks if ATTACKS[t.kind].family == f]) for f in FAMILIES},
        "kinds": {k: of([t for t in attacks if t.kind == k]) for k in ATTACKS if any(t.kind == k for t in attacks)},
        "all": of(attacks),
    }


def cell(found: tuple[int, int]) -> str:
    """How many of how many, as "3/50"."""
    return f"{found[0]}/{found[1]}" if found[1] else "-"


def family_rows(report: Json) -> list[list[str]]:
    """One line a family: what is wanted, then each setting with its interval."""
    lines = []
    for family, title in FAMILIES.items():
        given, nothing = WANTED[family]
        wanted = f"{given:g} %" if given == nothing else f"{given:g} %, nothing given {nothing:g} %"
        lines.append([title, wanted, *(share(*found) for found in report["families"][family]["survives"].values())])
    lines.append(["all", "", *(share(*found) for found in report["all"]["survives"].values())])
    kept = (share(*found) for found in report["all"]["gain_kept"].values())
    return [*lines, ["the gain is kept", f"at least {GAIN_WANTED:g} %", *kept]]


def kind_rows(report: Json) -> list[list[str]]:
    """One line a kind, by family: how it is made, then the survivors of each setting, then the gains kept."""
    lines = []
    for kind in sorted(report["kinds"], key=lambda k: [*FAMILIES].index(ATTACKS[k].family)):
        found = report["kinds"][kind]
        kept = [v for s, v in found["gain_kept"].items() if SETTINGS[s].given]
        total = (sum(hits for hits, _ in kept), sum(n for _, n in kept))
        lines.append([kind, ATTACKS[kind].how, *map(cell, found["survives"].values()), cell(total)])
    return [*lines, [CONTROL, "gain stands of tried", *map(cell, report["control"].values()), ""]]


def above(report: Json) -> list[str]:
    """The kinds of which more survives than is wanted of their family, the worst first, by setting."""
    found = []
    for kind, of in report["kinds"].items():
        family = ATTACKS[kind].family
        for setting, (hits, n) in of["survives"].items():
            if n and 100 * hits / n > WANTED[family][setting.startswith("nothing")]:
                found.append((-hits / n, f"{kind} ({FAMILIES[family]}, {setting}): {share(hits, n)}"))
    return [told for _, told in sorted(found)]
