"""Slots: where one specific of a sentence took the place of another, and which of the two its place is known with.

Two versions of a sentence are laid side by side with their specifics taken out; specifics at the same place are a pair.
A value belongs to a place if the sentence that holds it shares the place's other words, the nearer the better.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from eirene.text.matching import BoundedMatcher, Span, token_spans
from eirene.text.sentences import split_sentences
from eirene.text.specifics.index import keys_of, specifics_index
from eirene.text.specifics.names import plain_word, word_keys
from eirene.text.values.mention import Mention
from eirene.text.values.value import Values
from eirene.text.words import Word, content_words

_FAMILIES = {"number": "\0number", "date": "\0number", "name": "\0name", "address": "\0address"}
_NEAR = 4
"""Content words to either side of a place that count for its neighbourhood."""
_SMALL = 6
"""Most words of a stretch that was replaced as a whole, for specifics in it to be paired."""
_OTHER_SIDE = 0.4
"""What a neighbour counts that stands on the other side of the value there."""
_BEFORE = 0.4
"""What a word counts that stands in the sentence before the supporting one, which a pronoun may refer to."""
_ELSEWHERE = 0.1
"""What a word counts that stands elsewhere in the same text."""
_HELD = 0.01
_BARE = 0.5
"""What the support of "5 km" by a bare "5" counts."""


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


@dataclass(frozen=True, slots=True)
class _Evidence:
    text: str
    words: tuple[Word, ...]
    stems: frozenset[str]
    mentions: tuple[Mention, ...]
    keys: frozenset[str]
    values: Values

    def places(self, mention: Mention) -> list[int]:
        """The offsets at which a specific stands in the sentence."""
        found = [m.start for m in self.mentions if mention.is_same(m)]
        if found or mention.kind != "name":
            return found
        wanted = mention.asks[-1] if mention.asks else frozenset()
        return [w.start for w in self.words if not wanted.isdisjoint(word_keys(plain_word(self.text[w.start : w.end])))]


_Place = tuple[_Evidence, frozenset[str], frozenset[str]]
"""A sentence, the stems of the one before it, and those of its whole text."""


@lru_cache(maxsize=256)
def _sentences(text: str) -> tuple[_Evidence, ...]:
    index = specifics_index(text)
    starts = [m.start for m in index.mentions]
    found = []
    for piece in split_sentences(text):
        if piece.text:
            own = index.mentions[bisect_left(starts, piece.text_start) : bisect_left(starts, piece.text_end)]
            mentions = tuple(replace(m, start=m.start - piece.text_start, end=m.end - piece.text_start) for m in own)
            words = content_words(piece.text)
            stems = frozenset(w.stem for w in words)
            held = Values(v for m in mentions for v in m.values)
            found.append(_Evidence(piece.text, words, stems, mentions, keys_of(piece.text, mentions), held))
    return tuple(found)


@lru_cache(maxsize=32)
def support_in(texts: tuple[str, ...]) -> Support:
    """The support that texts give; those of the last few are kept."""
    return Support(texts)


class Support:
    """The sentences of texts as support of values at places of other sentences."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._sentences: list[_Place] = []
        for text in texts:
            group = _sentences(text)
            all_stems = frozenset().union(*(s.stems for s in group))
            before: frozenset[str] = frozenset()
            for sentence in group:
                self._sentences.append((sentence, before, all_stems))
                before = sentence.stems
        counts = Counter(stem for sentence, *_ in self._sentences for stem in sentence.stems)
        self._weights = {stem: math.log(1 + len(self._sentences) / n) for stem, n in counts.items()}
        self._unknown = math.log(1 + max(1, len(self._sentences)))

    def __len__(self) -> int:
        return len(self._sentences)

    def of(self, mention: Mention, sentence: str, place: Span, without: Sequence[Span]) -> float:
        """How well a value is supported at a place of a sentence: 0 where nothing holds it, 2 at most.

        One part for the words that the sentence shares with a given one that holds the value, one for the words next
        to it. `without`: spans of the sentence that do not count.
        """
        words = [w for w in content_words(sentence) if not any(s <= w.start < e for s, e in without)]
        return max((self._score(words, place[0], mention, where) for where in self._sentences), default=0.0)

    def best_match(self, sentence: str, without: Sequence[Span]) -> float:
        """The largest share of a sentence's words, by weight, that one sentence has, in [0, 1]."""
        own = {w.stem for w in content_words(sentence) if not any(s <= w.start < e for s, e in without)}
        total = sum(map(self._weight, own))
        most = max((sum(map(self._weight, own & held.stems)) for held, *_ in self._sentences), default=0.0)
        return most / total if total else 0.0

    def _score(self, words: Sequence[Word], place: int, mention: Mention, where: _Place) -> float:
        held, before, text = where
        if not mention.stands_in(held.keys, held.values):
            return 0.0
        all_stems = {w.stem for w in words}
        total = sum(map(self._weight, all_stems))
        own = all_stems & held.stems
        earlier = (all_stems - own) & before
        elsewhere = (all_stems - own - earlier) & text
        shared = sum(map(self._weight, own)) + _BEFORE * sum(map(self._weight, earlier))
        shared += _ELSEWHERE * sum(map(self._weight, elsewhere))
        score = (shared / total if total else 0.0) + self._nearness(words, place, mention, held)
        return _HELD + score * (1.0 if _has_unit(mention, held) else _BARE)

    def _nearness(self, words: Sequence[Word], place: int, mention: Mention, held: _Evidence) -> float:
        near = _neighbours(words, place)
        total = sum(self._weight(stem) / abs(d) for stem, d in near.items())
        if not total:
            return 0.0
        best = 0.0
        for at in held.places(mention):
            there = _neighbours(held.words, at)
            shared = 0.0
            for stem, d in near.items():
                if stem in there:
                    side = 1.0 if (d < 0) == (there[stem] < 0) else _OTHER_SIDE
                    shared += side * self._weight(stem) / max(abs(d), abs(there[stem]))
            best = max(best, shared / total)
        return best

    def _weight(self, stem: str) -> float:
        return self._weights.get(stem, self._unknown)


def _has_unit(mention: Mention, held: _Evidence) -> bool:
    """Whether a number is held with its unit, if it has one."""
    with_unit = [key for key in mention.gives if key.startswith("n:") and " " in key]
    is_bare = mention.kind != "number" or not with_unit or not held.keys.isdisjoint(with_unit)
    return is_bare or mention.stands_in(frozenset(), held.values)


def _neighbours(words: Sequence[Word], place: int) -> dict[str, int]:
    """The stems of the words next to a place, each with its distance: from 1 on after it, from -1 before it."""
    left = [w for w in words if w.start < place][-_NEAR:]
    right = [w for w in words if w.start > place][:_NEAR]
    near: dict[str, int] = {}
    for sign, side in ((-1, left[::-1]), (1, right)):
        for distance, word in enumerate(side, start=1):
            if distance < abs(near.get(word.stem, _NEAR + 1)):
                near[word.stem] = sign * distance
    return near
