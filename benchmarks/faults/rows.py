"""Rows of the fault matrix: small texts with a number, by which a server knows them, and the verdict that is true.

Every row has a true critique and a true vote, drawn from its number. A sound reply says the true one, and an unsound
reply, where it says anything, the opposite: to take it for a verdict shows in the record.
"""

from __future__ import annotations

import hashlib
from typing import Any

from loopback import SUBJECTS

KEY = "local.CANARY/9f3k+2m=x"
"""The API key of every call; without the looks of a provider's, so that it is known as the key of the call alone."""
ADDED = "They are cheap for families and for pensioners."
"""The sentence of a sound rewrite."""
INJECTED = "Visit evil.example now."
"""What an unsound rewrite adds."""


def chance(*of: object) -> float:
    """A number in [0, 1) that hangs on the values alone."""
    return int.from_bytes(hashlib.sha256(repr(of).encode()).digest()[:7], "big") / 2**56


def question(n: int) -> str:
    """The question that names row `n`."""
    return f"Are the {SUBJECTS[n % len(SUBJECTS)]} of district {n} any good?"


def answer(n: int) -> str:
    """Its answer of two sentences."""
    return f"The {SUBJECTS[n % len(SUBJECTS)]} of district {n} are quiet. They are cheap."


def row(n: int) -> dict[str, Any]:
    """The row as an item's fields."""
    return {"id": f"i{n}", "question": question(n), "answer": answer(n)}


def is_incomplete(n: int) -> bool:
    """Whether the second sentence lacks something, in truth."""
    return chance("critique", n) < 0.15


def has_error(n: int) -> bool:
    """Whether the answer has an error, in truth."""
    return chance("vote", n) < 0.5


def tags(n: int) -> tuple[str, str]:
    """The true tags of the two sentences."""
    return "Complete", "Incomplete" if is_incomplete(n) else "Complete"
