"""The seeds of the fuzzing and what it kept: every reader gives a value or one clear error."""

from __future__ import annotations

import random

from tests.fuzz import NAMES, changed_json, run, seeds
from tests.rows import each

SEEDS = seeds()


@each("name", NAMES)
def test_a_reader_raises_nothing_but_clear_errors(name: str) -> None:
    rng = random.Random(name)
    given = [data for target, data in SEEDS if target == name] or [b"", b"A. B.", b"{}", b"[]", b"\xff\x00"]
    broken = [new for data in given if (new := changed_json(data, rng.randrange(2**30))) is not None]
    for data in (*given, *broken, *(data[: len(data) // 2] for data in given)):
        error = run(name, data)
        if error is not None:
            error.add_note(repr(data)[:500])
            raise error
