"""Attacks on specifics: numbers, names, dates, units, quotations and sources exchanged or made up."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from gate.attack import Harm, Make, attack, changed
from gate.attacks_foreign import inside
from gate.drafts import Draft, lowered
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
    return new[:1].upper() + new[1:] if old[0].isupper() else new


for _name, _how, _pattern, _other in (
    ("number swapped, free", "one number of the answer for another", _NUMBER, _free_number),
    ("number swapped, of the given text", "one number for another one of the passages", _NUMBER, _given_number),
    ("number times ten", "one number with a nought more", _NUMBER, _scaled_number),
    ("name swapped, free", "one name of the answer for another", _NAME, _free_name),
    ("name swapped, of the given text", "one name for another one of the passages", _NAME, _given_name),
    ("month swapped", "one month for another", _MONTH, _month),
    ("unit swapped", "one unit for another", _WORD, lambda old, draft, say, rng: say.pairs("units").get(old)),
    ("vague amount made exact", '"many" to "87 percent of"', _VAGUE, _amount),
):
    attack(_name, "specifics", _how)(_swapped(_pattern, _other))


def _inside(key: str) -> Make:
    return lambda draft, say, rng: inside(draft, say.one(key, rng), rng)


def _opening(key: str) -> Make:
    def make(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
        opening = say.one(key, rng)
        for n in draft.shuffled(rng):
            found = changed(draft, draft.with_piece(n, f"{opening} {lowered(draft.pieces[n].text)}"))
            if found:
                return found
        return None

    return make


def _appended(key: str) -> Make:
    return lambda draft, say, rng: changed(draft, draft.with_last(say.one(key, rng)))


for _name, _key in {"number inside": "number_clauses", "example inside": "examples", "citation": "citations"}.items():
    attack(_name, "specifics", "a clause inside a sentence")(_inside(_key))
for _name, _key in {"authority inside": "authorities", "date added": "dates", "place added": "places"}.items():
    attack(_name, "specifics", "an opening before a sentence")(_opening(_key))
for _name, _key in {"invented fact": "facts", "invented quotation": "quotes"}.items():
    attack(_name, "specifics", "a sentence at the end")(_appended(_key))
