"""Names and numbers of a text: what tells passages on one thing from passages on the like of it."""

from __future__ import annotations

import hashlib
import re

from eirene.words import STOP_WORDS

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*", re.UNICODE)
_LONGEST = 64


def names_of(text: str) -> frozenset[str]:
    """The words that begin with a capital letter, lower-cased, and the numbers; stop words are no names.

    A sentence's first word counts as well: it cannot be told from a name by its letter, and a common word weighs little
    (see `eirene.retrieval.search`). Text without any capital letter (a typed query) has its numbers alone.
    """
    found = set()
    for match in _WORD.finditer(text):
        word = match.group()[:_LONGEST]
        if word[0].isdigit() or (word[0].isupper() and word.lower() not in STOP_WORDS):
            found.add(word.lower())
    return frozenset(found)


def hashed(name: str) -> int:
    """64 bits that stand for a name."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
