"""Whether a mended sentence is one of the given text: word for word but for small words and what was left out.

Only there is another value, name or sign in it surely a slip. A sentence of other words may count or conclude, and its
value stand for something that the given text does not name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eirene.text.specifics.index import find_specifics
from eirene.text.words import content_words
from eirene.verification.claims import claim_of
from eirene.verification.mends.proposal import Proposal

_FEWEST = 1
"""Words that a sentence must have besides what is mended; of a name one more."""


def is_given_but_for(sentence: str, proposal: Proposal, given: str) -> bool:
    """Whether a given sentence says what the sentence says once the proposal is made.

    All content words stand there in their order, the one next to the mend next to it, and no value between them that
    the sentence has not.
    """
    start = len(sentence) - len(claim_of(sentence))  # what leads in ("According to the text, ...") is said of nothing
    before = [stem for stem, at in _words(sentence) if start <= at < proposal.start]
    after = [stem for stem, at in _words(sentence) if at >= proposal.end]
    is_name = proposal.kind == "entity" and not _values(proposal.new)
    if len(before) + len(after) < _FEWEST + is_name:
        return False
    said = {stem for stem, _ in _words(proposal.applied(sentence))}
    words = _words(given)
    return any(
        _go_on_alike(before[::-1], [stem for stem, start in words if start < at][::-1], strange)
        and _go_on_alike(after, [stem for stem, start in words if start >= end], strange)
        and _is_beside(before, after, words, (at, end))
        for at, end in _places(proposal, given, words)
        for strange in [_values(given, beside=(at, end)) - said]
    )


def _words(text: str) -> list[tuple[str, int]]:
    return [(word.stem, word.start) for word in content_words(text)]


def _values(text: str, beside: tuple[int, int] = (0, 0)) -> set[str]:
    """The stems of a text that belong to its numbers, dates and times, but for those with a place in them."""
    found = [(m.start, m.end) for m in find_specifics(text) if m.kind in ("number", "date")]
    spans = [(a, b) for a, b in found if not (a < beside[1] and beside[0] < b)]
    return {stem for stem, at in _words(text) if any(a <= at < b for a, b in spans)}


def _places(proposal: Proposal, given: str, words: Sequence[tuple[str, int]]) -> Iterator[tuple[int, int]]:
    """Where a given sentence has what is put in; anywhere between two words for what is left out."""
    new = proposal.new.strip().casefold()
    if not new:
        yield from ((at, at) for at in (*(start for _, start in words), len(given)))
        return
    text, at = given.casefold(), -1
    while (at := text.find(new, at + 1)) >= 0:
        yield at, at + len(new)


def _is_beside(
    before: Sequence[str], after: Sequence[str], words: Sequence[tuple[str, int]], place: tuple[int, int]
) -> bool:
    """Whether the word before a place, or the one after it, is the same."""
    left = [stem for stem, start in words if start < place[0]]
    right = [stem for stem, start in words if start >= place[1]]
    return not before or not after or left[-1:] == before[-1:] or right[:1] == after[:1]


def _go_on_alike(wanted: Sequence[str], given: Sequence[str], strange: set[str]) -> bool:
    """Whether words stand in a text in their order, with no strange one before the last of them."""
    at = 0
    for stem in wanted:
        while at < len(given) and given[at] != stem:
            if given[at] in strange:
                return False
            at += 1
        if at == len(given):
            return False
        at += 1
    return True
