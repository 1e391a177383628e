"""Phrases of the embedded refiner: every wording that it puts into an answer, and how an argument is joined to it."""

from __future__ import annotations

import re

import numpy as np

from eirene.text.english import Decapitalizer, as_sentence, is_statement, side_of

# Side -> (for statements, for fragments). A statement follows "that" in lower case, a fragment a colon as it is.
_FURTHER: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "for": (
        ("Supporters add that", "It is also argued in favour that", "Another point made in favour is that",
         "Those in favour also say that", "A further argument for it is that"),
        ("Another point in favour:", "A further argument for it:", "A further reason given in favour:"),
    ),
    "against": (
        ("Critics add that", "It is also objected that", "Another point made against it is that",
         "Those against it also say that", "A further objection is that"),
        ("Another point against it:", "A further objection:", "A further concern of the critics:"),
    ),
    "": (
        ("It is also said that", "Another point is that", "A further point is that", "It is also argued that"),
        ("Another point:", "A further point:", "One more argument:"),
    ),
}  # fmt: skip
_FIRST: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "for": (("Supporters argue that", "Those in favour say that"), ("A point in favour:", "An argument for it:")),
    "against": (("Opponents argue that", "Those against it say that"), ("A point against it:", "An objection:")),
    "": (("It is also argued that", "A point to add is that"), ("A point to add:", "One more argument:")),
}
_SETS_SIDE = re.compile(
    r"""\b(?:one|other|flip|opposite)\s+(?:hand|side)\b | \bcontrary\b | \bby\s+contrast\b | \bin\s+contrast\b
      | \b(?:those|people|many|some)\s+(?:in\s+favou?r|for|against|who|opposed)\b
      | \b(?:case|argument|reason)s?\s+(?:for|against)\b
      | \b(?:supporter|proponent|advocate|opponent|critic|defender|sceptic|skeptic)s?\b(?!\s+(?:also|add|further))
      | ^\W*(?:however|conversely)\b""",
    re.VERBOSE | re.IGNORECASE,
)


def sets_side(opening: str) -> bool:
    """Whether an opening ("Opponents argue that") tells the reader which side is speaking from here on."""
    return _SETS_SIDE.search(opening) is not None


class Phrases:
    """Words arguments as sentences. Connectives vary, drawn with `rng`; none repeats the one just before."""

    def __init__(self, rng: np.random.Generator, letters: Decapitalizer, *, english: bool) -> None:
        self._rng = rng
        self._letters = letters
        self._english = english
        self._last = ""

    def say(self, argument: str, *, group: str | None, opens: bool, before: str, in_list: bool) -> str:
        """The sentence that adds `argument` for perspective `group` after the sentence `before`."""
        plain = as_sentence(argument)
        if in_list or group is None or not self._english:
            return plain
        lowered = self._letters.lowered(plain) if is_statement(plain) else None
        choices = (_FIRST if opens else _FURTHER)[side_of(group)][0 if lowered is not None else 1]
        lead = self._choose(choices, before)
        if opens and not side_of(group):
            name = " ".join(group.split()).replace('"', "'")
            return f'Another view ("{name}")' + (f": {plain}" if lowered is None else f" is that {lowered}")
        return f"{lead} {plain if lowered is None else lowered}"

    def _choose(self, choices: tuple[str, ...], before: str) -> str:
        just_said = before.casefold()
        free = [c for c in choices if c != self._last and not just_said.startswith(c.casefold())] or list(choices)
        self._last = free[int(self._rng.integers(len(free)))]
        return self._last


def all_leads() -> tuple[str, ...]:
    """Every connective and opening, for tests: each must be recognised as one by `eirene.text.clauses`."""
    return tuple(lead for table in (_FURTHER, _FIRST) for pair in table.values() for kind in pair for lead in kind)
