"""Errors by rule: a name or number of the same type in another's place, a relation turned round, an opinion added."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

import numpy as np

from eirene.fava.kinds import HallucinationKind
from eirene.sentences import split_sentences
from eirene.synth.fava.changes import Change

OFFLINE: tuple[HallucinationKind, ...] = ("entity", "relation", "subjective")
"""The kinds that rules can make; the others need somebody who knows what there is."""


MOST_VALUES = 5_000
"""Values of a type that are held: of a corpus of any size a sample, the same whatever its order."""


_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})*(?:\.\d+)?(?![\w,]|\.\d)")
_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)*\b")
_PATTERNS = {"year": _YEAR, "number": _NUMBER, "name": _NAME}
_OPPOSITES = (
    ("before", "after"), ("more", "less"), ("most", "least"), ("increased", "decreased"), ("rose", "fell"),
    ("won", "lost"), ("first", "last"), ("northern", "southern"), ("north", "south"), ("east", "west"),
    ("above", "below"), ("with", "without"), ("joined", "left"), ("began", "ended"), ("larger", "smaller"),
    ("highest", "lowest"), ("early", "late"), ("bought", "sold"), ("inside", "outside"), ("older", "younger"),
    ("is", "is not"), ("was", "was not"), ("are", "are not"), ("were", "were not"), ("can", "cannot"),
)  # fmt: skip
_FLIPS = {a: b for one, other in _OPPOSITES for a, b in ((one, other), (other, one))}
_RELATION = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, _FLIPS), key=len, reverse=True))})\b(?! not\b)")
_OPINIONS = (
    "It is by far the finest of its kind.",
    "Nobody could fail to be moved by this.",
    "This is a truly remarkable thing, and everyone should know about it.",
    "It will always be remembered as a masterpiece.",
    "Honestly, there is nothing more fascinating.",
    "This is rather boring compared with what others have done.",
    "It remains the most beautiful story of all.",
    "Sadly, it never got the praise that it deserves.",
)


def entities(texts: Iterable[str], *, most: int = MOST_VALUES) -> dict[str, list[str]]:
    """The years, numbers and names of all texts by type, each once: all, or `most` of them by their hashes."""
    found: dict[str, dict[str, bytes]] = {kind: {} for kind in _PATTERNS}
    for text in texts:
        for kind, start, end in _places(text):
            values, value = found[kind], text[start:end]
            if value not in values:
                values[value] = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                if len(values) > 2 * most:
                    found[kind] = _sampled(values, most)
    return {kind: list(_sampled(values, most)) for kind, values in found.items()}


def _sampled(values: dict[str, bytes], most: int) -> dict[str, bytes]:
    """The values with the lowest hashes, in their order."""
    if len(values) <= most:
        return values
    chosen = set(sorted(values, key=lambda value: (values[value], value))[:most])
    return {value: digest for value, digest in values.items() if value in chosen}


def propose(kind: HallucinationKind, text: str, pool: dict[str, list[str]], rng: np.random.Generator) -> Change | None:
    """A change of a kind somewhere in the text, None where its rules find no place."""
    if kind == "entity":
        return _entity(text, pool, rng)
    if kind == "relation":
        places = list(_RELATION.finditer(text))
        if not places:
            return None
        chosen = places[rng.integers(len(places))]
        return Change("relation", chosen.start(), chosen.end(), _FLIPS[chosen.group()])
    if kind == "subjective":
        sentences = [s for s in split_sentences(text) if s.text and s.text[-1] in ".!?"]
        if not sentences:
            return None
        end = sentences[rng.integers(len(sentences))].text_end
        return Change("subjective", end, end, " " + _OPINIONS[rng.integers(len(_OPINIONS))])
    return None


def _entity(text: str, pool: dict[str, list[str]], rng: np.random.Generator) -> Change | None:
    places = list(_places(text))
    for n in rng.permutation(len(places)):
        kind, start, end = places[n]
        old = text[start:end]
        others = [value for value in pool[kind] if value != old and value not in text and old not in value]
        if others:
            return Change("entity", start, end, others[rng.integers(len(others))])
    return None


def _places(text: str) -> list[tuple[str, int, int]]:
    """Where years, numbers and names stand; a single word that opens a sentence may be no name."""
    opens = {s.text_start for s in split_sentences(text)}
    found = [("year", *m.span()) for m in _YEAR.finditer(text)]
    years = {start for _, start, _ in found}
    found += [("number", *m.span()) for m in _NUMBER.finditer(text) if m.start() not in years]
    found += [("name", *m.span()) for m in _NAME.finditer(text) if m.start() not in opens or " " in m.group()]
    return sorted(found, key=lambda place: place[1])
