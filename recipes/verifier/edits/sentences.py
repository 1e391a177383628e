"""Sentences of premises as claims: supported as they stand, for rules that few claims of the data allow."""

from __future__ import annotations

import random
from collections.abc import Iterable

from eirene.text.sentences import split_sentences
from recipes.verifier.data import VerifierRow
from recipes.verifier.edits import assertion, figures, opposites, roles
from recipes.verifier.edits.given import ClaimGiven, words

SOURCES = words(
    """bump citation_integrity defacto factcheck_gpt fever_symmetric fib fool_me_twice scifact summedits wice"""
)
"""Sources with prose for premises."""
_RARE = (roles.roles, roles.passive, opposites.direction, opposites.bound, figures.unit, assertion.report)
_FEWEST, _MOST = 5, 32
_OPENS = words("he she it they this that these those but and so his her its their")
"""Words that lean on the sentence before."""


def sentence_rows(rows: Iterable[VerifierRow], *, seed: int, most: int = 2) -> list[VerifierRow]:
    """Up to `most` sentences of each prose premise that a rare rule can edit, as supported claims."""
    made = []
    premises = dict.fromkeys((row.source, row.premise) for row in rows if row.source in SOURCES)
    for source, premise in premises:
        rng = random.Random(f"{seed}:{source}:{premise[0]}")
        found = [text for passage in premise for text in _plain_sentences(passage)]
        rng.shuffle(found)
        whole = "\n".join(premise)
        fit = (text for text in found if any(rule(ClaimGiven(text, whole, rng)) for rule in _RARE))
        for text, _ in zip(fit, range(most), strict=False):
            made.append(VerifierRow(source, premise, text, "supported", by="sentence"))
    return made


def _plain_sentences(passage: str) -> list[str]:
    texts = (cut.text for cut in split_sentences(passage))
    return [
        text
        for text in texts
        if _FEWEST <= len(text.split()) <= _MOST
        and text[:1].isupper()
        and text.endswith(".")
        and text.split()[0].lower() not in _OPENS
        and "\n" not in text
    ]
