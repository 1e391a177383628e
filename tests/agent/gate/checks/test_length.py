"""Length check: only gross additions and removals; what was given or asked for makes room."""

from __future__ import annotations

from eirene.agent.gate.checks.base import Asked
from eirene.agent.gate.checks.length import length

from .cases import BEFORE, edit_case, reasons

LONG = " ".join(f"Reason number {n} is that uniforms change what pupils of school {n} do." for n in range(40))


def test_more_than_as_much_again_is_too_much_where_nothing_was_asked_or_given() -> None:
    assert reasons(length, edit_case(BEFORE, f"{BEFORE} {LONG}")) != []
    assert reasons(length, edit_case(BEFORE, f"{BEFORE} They cost money.")) == []
    assert reasons(length, edit_case(LONG, f"{LONG} {LONG[: len(LONG) // 2]}")) == []


def test_the_additions_that_fit_stay() -> None:
    case = edit_case(BEFORE, f"{BEFORE} {LONG}")
    dropped = {o.edit for o in length(case)}
    added = [n for n, edit in case.changed() if edit.kind == "added"]
    assert 0 < len(dropped) < len(added)
    assert min(dropped) > min(added)


def test_given_texts_and_places_asked_for_make_room() -> None:
    assert reasons(length, edit_case(BEFORE, f"{BEFORE} {LONG}", given=LONG.split(". "))) == []
    asked = [Asked(0, 0, "missing")] * 6
    assert reasons(length, edit_case(BEFORE, f"{BEFORE} {LONG}", asked=asked)) == []


def test_a_text_of_which_little_is_left_gets_back_what_nobody_asked_to_go() -> None:
    short = ". ".join(LONG.split(". ")[:3]) + "."
    assert reasons(length, edit_case(LONG, short)) != []
    assert reasons(length, edit_case(LONG, short, asked=[Asked(0, len(LONG), "not supported")])) == []
    assert reasons(length, edit_case(f"{short} {short} {short} {short}", short)) == []
