"""Rewording check: what nobody asked to be changed in a sentence that otherwise stays as it was.

Letters exchanged in a word, a claim turned into a question, an end cut off, a condition left out, another unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import quoted
from eirene.text.edits import SentenceEdit, WordEdit
from eirene.text.language import other_language

_ENDS = re.compile(r"[.!?…。！？][\"'”’)\]*_]*\s*\Z")
_ASKS = re.compile(r"[?？][\"'”’)\]*_]*\s*\Z")
_CONDITION = re.compile(
    r"(?:,\s*)?(?:but\s+)?(?:only|if|unless|because|since|when|whenever|until|provided|as\s+long\s+as|in\s+case|although|though)\b",
    re.IGNORECASE,
)
_LEAST_CONDITION = 2
"""Words from which what was left out is a condition, and no "only" in other words."""
_COUNTED = re.compile(
    r"(?:\d[\d.,]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|hundred|thousand|million))\s*\Z"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_LETTERS = 4
"""Letters of a word from which an exchange of them is a misspelling."""
_BEFORE = 40
"""Characters before a changed word in which a number is looked for."""


def rewording(case: EditCase) -> Iterator[Objection]:
    """Objects to such changes of a reworded sentence, by their words where that is enough. English only."""
    if other_language(case.before):
        return
    for n, edit in case.changed():
        if not edit.mostly_stays:
            continue
        old, new = case.old(edit), case.new(edit)
        if _ASKS.search(new) and not _ASKS.search(old):
            yield Objection(n, "turns a claim into a question")
        elif _ENDS.search(old) and not _ENDS.search(new) and not new.rstrip().endswith((":", ";")):
            yield Objection(n, f"breaks off after {quoted(new[-30:])}")
        else:
            yield from _in_words(case, n, edit)


def _in_words(case: EditCase, n: int, edit: SentenceEdit) -> Iterator[Objection]:
    found = {k: why for k, word in enumerate(edit.words) if (why := _fault(case, word)) is not None}
    if found:
        yield Objection(n, next(iter(found.values())), tuple(found))


def _fault(case: EditCase, word: WordEdit) -> str | None:
    old, new = case.before[slice(*word.before)].strip(), case.after[slice(*word.after)].strip()
    if new and any(new in text for a in case.asked for text in (a.reason, a.edit or "")):
        return None
    olds, news = _WORD.findall(old.lower()), _WORD.findall(new.lower())
    if not news and len(olds) >= _LEAST_CONDITION and _CONDITION.match(old):
        return f"leaves out {quoted(old)}"
    if len(olds) != len(news) or not olds:
        return None
    for a, b in zip(olds, news, strict=True):
        if a != b and len(a) >= _LETTERS and sorted(a) == sorted(b):
            return f"exchanges letters: {quoted(b)} for {quoted(a)}"
    if len(olds) == 1 and olds != news and _counts_another(case, word, new):
        return f"counts something else: {quoted(new)} for {quoted(old)}"
    return None


def _counts_another(case: EditCase, word: WordEdit, new: str) -> bool:
    """Whether the word after a number became another one that no given text has after that number."""
    number = _COUNTED.search(case.after[max(0, word.after[0] - _BEFORE) : word.after[0]])
    same = _COUNTED.search(case.before[max(0, word.before[0] - _BEFORE) : word.before[0]])
    if number is None or same is None or number.group().strip() != same.group().strip():
        return False
    counted = f"{number.group().strip()} {new}".lower()
    return not any(counted in " ".join(text.lower().split()) for text in case.given_texts)
