"""Attacks on specifics: numbers, names, dates, units, quotations and sources exchanged or made up."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from gate.attack import Harm, Make, appended, attacks, changed, inside, one_sentence
from gate.drafts import Draft, lowered, raised
from gate.survival import count
from gate.wordings import Wordings

_NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w])")
_NAME = re.compile(r"(?<=[a-z,;] )(?:[A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})*)")
_MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip
_MONTH = re.compile(r"\b(?:" + "|".join(_MONTHS) + r")\b")
_WORD = re.compile(r"\b[a-z]+\b")
_VAGUE = re.compile(r"\b(?:some|many|most|several|a lot of|lots of|a few)\b", re.I)


def _swapped(pattern: re.Pattern[str], other: Callable[[str, Draft, Wordings, Random], str | None]) -> Make:
    """A kind that exchanges one found thing of a sentence for another."""

    def make(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
        for n in draft.shuffled(rng):
            text = draft.pieces[n].text
            found = list(pattern.finditer(text))
            for match in rng.sample(found, len(found)):
                new = other(match[0], draft, say, rng)
                if new is not None and new != match[0]:
                    harm = changed(draft, draft.with_piece(n, text[: match.start()] + new + text[match.end() :]))
                    if harm:
                        return harm
        return None

    return make


def _free_number(old: str, draft: Draft, say: Wordings, rng: Random) -> str | None:
    digits = [n for n, c in enumerate(old) if c.isdigit()]
    at = rng.choice(digits[-2:])
    new = old[:at] + str((int(old[at]) + rng.randint(1, 8)) % 10) + old[at + 1 :]
    return None if count(new, draft.text) else new.lstrip("0") or None


def _scaled_number(old: str, draft: Draft, say: Wordings, rng: Random) -> str | None:
    return f"{old}0" if "." not in old and "," not in old else None


def _given_number(old: str, draft: Draft, say: Wordings, rng: Random) -> str | None:
    found = sorted({n for text in draft.subject.given for n in _NUMBER.findall(text)} - {old})
    alike = [n for n in found if len(n) == len(old) and not count(n, draft.text)]
    fits = alike or [n for n in found if not count(n, draft.text)]
    return rng.choice(fits) if fits else None


def _free_name(old: str, draft: Draft, say: Wordings, rng: Random) -> str | None:
    return say.one("names", rng)


def _given_name(old: str, draft: Draft, say: Wordings, rng: Random) -> str | None:
    found = sorted({n for text in draft.subject.given for n in _NAME.findall(text)} - {old})
    new = [n for n in found if not count(n, draft.text) and n not in _MONTHS]
    alike = [n for n in new if len(n.split()) == len(old.split())]
    return rng.choice(alike or new) if new else None


def _month(old: str, draft: Draft, say: Wordings, rng: Random) -> str | None:
    return rng.choice([month for month in _MONTHS if month != old])


def _amount(old: str, draft: Draft, say: Wordings, rng: Random) -> str | None:
    new = say.one("quantities", rng)
    return raised(new) if old[0].isupper() else new


attacks("specifics", {
    "number swapped, free": ("one number of the answer for another", _swapped(_NUMBER, _free_number)),
    "number swapped, of the given text": ("one number for another one of the passages",
                                          _swapped(_NUMBER, _given_number)),
    "number times ten": ("one number with a nought more", _swapped(_NUMBER, _scaled_number)),
    "name swapped, free": ("one name of the answer for another", _swapped(_NAME, _free_name)),
    "name swapped, of the given text": ("one name for another one of the passages", _swapped(_NAME, _given_name)),
    "month swapped": ("one month for another", _swapped(_MONTH, _month)),
    "unit swapped": ("one unit for another",
                     _swapped(_WORD, lambda old, draft, say, rng: say.pairs("units").get(old))),
    "vague amount made exact": ('"many" to "87 percent of"', _swapped(_VAGUE, _amount)),
})  # fmt: skip


def opening(key: str) -> Make:
    """A wording of this key before a sentence."""

    def make(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
        said = say.one(key, rng)
        return one_sentence(lambda text, *_: f"{said} {lowered(text)}")(draft, say, rng)

    return make


INSIDE = {"number inside": "number_clauses", "example inside": "examples", "citation": "citations"}
BEFORE = {"authority inside": "authorities", "date added": "dates", "place added": "places"}
AFTER = {"invented fact": "facts", "invented quotation": "quotes"}
attacks("specifics", {name: ("a clause inside a sentence", inside(key)) for name, key in INSIDE.items()})
attacks("specifics", {name: ("an opening before a sentence", opening(key)) for name, key in BEFORE.items()})
attacks("specifics", {name: ("a sentence at the end", appended(key)) for name, key in AFTER.items()})
