"""No reader of foreign text takes time that grows faster than the text. Each is measured against itself, in one run.

Four times the text may take ten times as long: a linear reader takes four, one that goes by the square sixteen.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest

from tests.pattern_texts import Used, patterns, texts_for
from tests.rows import each
from tests.text_readers import LEADS, MORE_UNITS, READERS, UNITS, Reads

LONG = 12_000
TIMES = 10.0
FLOOR_S = 0.3
"""Processor seconds that say nothing, on a busy machine too: a long text that takes no more is not looked at again."""
IN_A_WINDOW = {
    "gate/checks/rewording.py _COUNTED": "reads the 40 characters before a changed word",
    "models/faults.py _NO_SYSTEM": "reads 2,000 characters of an error",
    "prompts/fence.py _LATIN": "reads the name of a character",
    "text/form_lines.py _STRONG": "reads lines of at most 400 characters",
    "text/form_lines.py _WEAK": "reads lines of at most 400 characters",
    "text/form_lines.py _ALONE": "reads 800 characters",
    "text/sentences.py _ABBREVIATION": "reads the 80 characters before a cut",
    "gate/checks/talk.py RULES": "reads 1,500 characters of a sentence",
    "gate/checks/work_talk.py RULES": "reads 1,500 characters of a sentence",
}


def taken(work: Callable[[], object]) -> float:
    """Processor seconds, without those of the garbage collector: it goes through all that the process holds."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        if was_on:
            gc.enable()


def grows(reads: Callable[[str], object], text_of: Callable[[int], str], n: int) -> bool:
    """Whether a text of `n` takes more than `TIMES` what one of n / 4 takes, each time of three."""
    long, short = text_of(n), text_of(n // 4)
    for _ in range(3):
        whole = taken(lambda: reads(long))
        if whole < FLOOR_S or whole < TIMES * taken(lambda: reads(short)):
            return False
    return True


def made(lead: str, unit: str) -> Callable[[int], str]:
    return lambda n: lead + unit * (n // len(unit)) + "x"


def test_readers_take_time_in_step_with_the_text() -> None:
    cases = [(name, unit) for name in READERS for unit in UNITS[::6]]
    assert [case for case in cases if grows(READERS[case[0]], made("", case[1]), LONG)] == []


@pytest.mark.slow
@each("reads", READERS.values())
def test_a_reader_takes_time_in_step_with_longer_texts(reads: Reads) -> None:
    texts = [(lead, unit) for lead in LEADS for unit in UNITS]
    assert [text for text in texts if grows(reads, made(*text), LONG)] == []
    assert [unit for unit in (*UNITS, *MORE_UNITS) if grows(reads, made("", unit), 4 * LONG)] == []


@pytest.mark.slow
def test_every_pattern_takes_time_in_step_with_the_text() -> None:
    """Fed with what it repeats itself, in the ways in which its module uses it."""
    grown = [used.name for used in patterns() if used.name not in IN_A_WINDOW and _goes_back_and_forth(used)]
    assert grown == []


def _goes_back_and_forth(used: Used) -> bool:
    for short, long in zip(texts_for(used.pattern, 1_500), texts_for(used.pattern, 4 * 1_500), strict=True):
        for few, many in zip(used.readings(short), used.readings(long), strict=True):
            if all(taken(many) > max(0.03, TIMES * taken(few)) for _ in range(3)):
                return True
    return False
