"""Slots: where one specific of a sentence took the place of another.

Two versions of a sentence are laid side by side with their specifics taken out; specifics at the same place are a pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eirene.text.matching import BoundedMatcher, token_spans
from eirene.text.values.mention import Mention

_FAMILIES = {"number": "\0number", "date": "\0number", "name": "\0name", "address": "\0address"}
_SMALL = 6
"""Most words of a stretch that was replaced as a whole, for specifics in it to be paired."""


@dataclass(frozen=True, slots=True)
class SlotChange:
    """A specific of a sentence and the one that took its place, with offsets in their own texts."""

    old: Mention
    new: Mention


def exchanges(
    old: str, new: str, old_mentions: Sequence[Mention], new_mentions: Sequence[Mention]
) -> Iterator[SlotChange]:
    """The specifics that took the place of others between two versions of a sentence, with offsets in these."""
    a, at_a = _skeleton(old, old_mentions)
    b, at_b = _skeleton(new, new_mentions)
    for tag, i, i_end, j, j_end in BoundedMatcher(a, b).get_opcodes():
        if tag not in ("equal", "replace"):
            continue
        left = [at_a[k] for k in range(i, i_end) if k in at_a]
        right = [at_b[k] for k in range(j, j_end) if k in at_b]
        small = max(i_end - i, j_end - j) <= _SMALL
        alone = tag == "equal" and i_end - i == 1 and len(a) > 1
        for pair in _pairs(left, right):
            known = any(pair.new.is_same(m) for m in old_mentions)
            weak = (pair.old.is_weak or pair.new.is_weak) and (alone or (tag == "replace" and i_end - i != j_end - j))
            if not weak and not pair.old.is_same(pair.new) and (tag == "equal" or small or not known):
                yield pair


def _pairs(left: Sequence[Mention], right: Sequence[Mention]) -> Iterator[SlotChange]:
    """Specifics of one kind pair by pair, then what is left over ("in March", "in Boston")."""
    olds, news = list(left), list(right)
    for family in dict.fromkeys(_FAMILIES.values()):
        pairs = zip(
            [m for m in left if _FAMILIES[m.kind] == family], [m for m in right if _FAMILIES[m.kind] == family],
            strict=False,
        )  # fmt: skip
        for old, new in pairs:
            olds.remove(old)
            news.remove(new)
            yield SlotChange(old, new)
    yield from (SlotChange(old, new) for old, new in zip(olds, news, strict=False))


def _skeleton(text: str, mentions: Sequence[Mention]) -> tuple[list[str], dict[int, Mention]]:
    """The words of a text with one mark for each specific, and which specific each mark stands for."""
    marked = [m for m in mentions if m.kind in _FAMILIES]
    words: list[str] = []
    places: dict[int, Mention] = {}
    at = 0
    for start, end in token_spans(text):
        while at < len(marked) and marked[at].end <= start:
            at += 1
        if at < len(marked) and marked[at].start < end:
            if not places or places.get(len(words) - 1) is not marked[at]:
                places[len(words)] = marked[at]
                words.append(_FAMILIES[marked[at].kind])
        else:
            words.append(text[start:end].casefold())
    return words, places
