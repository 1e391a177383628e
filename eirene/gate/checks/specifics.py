"""Specifics check: numbers, dates, names, quotations and addresses that no source has, or that were exchanged."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from eirene.gate.checks.base import EditCase, Objection
from eirene.text.edits.words import SentenceEdit
from eirene.text.english import is_english
from eirene.text.language import other_language
from eirene.text.matching import BoundedMatcher, Span, token_spans
from eirene.text.sentences import split_sentences
from eirene.text.specifics.index import SpecificsIndex, find_specifics, specifics_index
from eirene.text.values.derived import Derivations
from eirene.text.values.mention import Mention
from eirene.text.words import STOP_WORDS, stems

_QUOTED = 60
"""Characters of a specific that an objection quotes."""
_GAP = 3
"""Most words that stay between two insertions of the same clause."""


def specifics(case: EditCase) -> Iterator[Objection]:
    """Objects to specifics that are in no source, and to those that took another's place without support there.

    Where nothing was given, and a model compares the texts, that is asked whether they are true.
    """
    if case.is_judged and not case.has_given:
        return
    judge = _Judge(case)
    for n, edit in case.changed():
        if edit.after is None:
            continue
        if edit.kind == "added":
            yield from judge.added(n, edit)
        elif edit.words:
            yield from judge.reworded(n, edit)


def strange_values(case: EditCase) -> Iterator[Objection]:
    """Objects to the numbers and dates of changed words that no source has and that follow from nothing given."""
    judge = _Judge(case)
    for n, edit in case.changed():
        if edit.after is not None:
            yield from judge.strange(n, edit)


class _Judge:
    def __init__(self, case: EditCase) -> None:
        self._case = case
        self._after = _Mentions(case.after)

    @cached_property
    def _before(self) -> _Mentions:
        return _Mentions(self._case.before)

    @cached_property
    def _known(self) -> list[SpecificsIndex]:
        return [specifics_index(text) for text in self._case.sources if text]

    @cached_property
    def _sentences(self) -> list[tuple[SpecificsIndex, set[str]]]:
        texts = (s.text for text in self._case.given_texts for s in split_sentences(text) if s.text)
        return [(specifics_index(text), set(stems(text))) for text in texts]

    @cached_property
    def _derivations(self) -> Derivations:
        return Derivations(self._case.given_texts)

    def strange(self, n: int, edit: SentenceEdit) -> Iterator[Objection]:
        """Objections to numbers and dates that are known from nowhere, with the words that bring them in."""
        for mention in self._after.within(edit.after):
            words = _touched(edit, after=mention)
            is_new = mention.kind in ("number", "date") and not mention.is_weak and (words or edit.kind == "added")
            if is_new and not self._is_known(mention, edit):
                yield Objection(n, self._foreign(mention), _clause(self._case, edit, words) if words else None)

    def added(self, n: int, edit: SentenceEdit) -> Iterator[Objection]:
        """One objection to an added sentence with a specific that no source has."""
        foreign = (m for m in self._after.within(edit.after) if not m.is_weak and not self._is_known(m, edit))
        yield from (Objection(n, self._foreign(mention)) for mention in islice(foreign, 1))

    def reworded(self, n: int, edit: SentenceEdit) -> Iterator[Objection]:
        """Objections to the changed words of a sentence, each naming the words that bring it in."""
        exchanged = self._exchanges(edit)
        taken = {pair.new.start for pair in exchanged}
        for mention in self._after.within(edit.after):
            words = _touched(edit, after=mention)
            if not words or mention.start in taken or mention.is_weak:
                continue
            if not self._is_known(mention, edit):
                yield Objection(n, self._foreign(mention), _clause(self._case, edit, words))
        for pair in exchanged:
            if not self._is_justified(pair, edit):
                at_fault = {*_touched(edit, after=pair.new), *_touched(edit, before=pair.old)}
                old = self._case.before[pair.old.start : pair.old.end][:_QUOTED]
                why = f'"{self._said(pair.new)}" in the place of "{old}"'
                yield Objection(n, why, tuple(sorted(at_fault)) or None, falsifies=True)

    def _exchanges(self, edit: SentenceEdit) -> list[SlotChange]:
        a, b = (edit.before or (0, 0))[0], (edit.after or (0, 0))[0]
        old = [_moved(m, -a) for m in self._before.within(edit.before)]
        new = [_moved(m, -b) for m in self._after.within(edit.after)]
        if not old or not new:
            return []
        found = exchanges(self._case.old(edit), self._case.new(edit), old, new)
        return [SlotChange(_moved(p.old, a), _moved(p.new, b)) for p in found if self._counts(p)]

    def _counts(self, pair: SlotChange) -> bool:
        """Whether a pair is of two specifics, and not of two words that happen to open sentences."""
        if pair.old.kind != "name":
            return True
        is_name = any(not pair.old.asks[0].isdisjoint(index.names) for index in self._known)
        return not (pair.old.is_weak and not is_name) or not pair.new.is_weak

    def _is_justified(self, pair: SlotChange, edit: SentenceEdit) -> bool:
        """Whether a given sentence that is more like this one has the new value, or somebody asked for it."""
        if self._is_asked(pair.new, edit):
            return True
        if not self._case.has_given:
            return False
        words = set(stems(self._case.new(edit))) - set(stems(self._said(pair.new)))
        old, new = self._support(pair.old, words), self._support(pair.new, words)
        if not old and not new:
            return self._is_derived(pair.new, edit)
        return new > old and not (old and self._is_said_twice(pair, edit))

    def _support(self, mention: Mention, words: set[str]) -> int:
        """One more than most words that a given sentence has of some which holds a specific; 0 where none holds it."""
        return max((1 + len(words & own) for index, own in self._sentences if index.holds(mention)), default=0)

    def _is_said_twice(self, pair: SlotChange, edit: SentenceEdit) -> bool:
        """Whether the sentence had the new value already, at another place ("from 100 to 100")."""
        return any(
            m is not pair.new and m.start != pair.new.start and m.stands_in(pair.new.gives)
            for m in self._after.within(edit.after)
        ) and any(pair.new.is_same(m) for m in self._before.within(edit.before))

    def _is_asked(self, mention: Mention, edit: SentenceEdit) -> bool:
        asked = (text for a in self._case.asked_at(edit) for text in (a.edit or "", a.reason) if text)
        return any(specifics_index(text).holds(mention) for text in asked)

    def _is_known(self, mention: Mention, edit: SentenceEdit) -> bool:
        return any(index.holds(mention) for index in self._known) or self._is_derived(mention, edit)

    def _is_derived(self, mention: Mention, edit: SentenceEdit) -> bool:
        """Whether a number or date of a sentence follows from what is given."""
        is_value = mention.kind in ("number", "date") and self._case.has_given
        return is_value and self._derivations.carried(self._case.new(edit)).follows

    def _said(self, mention: Mention) -> str:
        return " ".join(self._case.after[mention.start : mention.end].split())[:_QUOTED]

    def _foreign(self, mention: Mention) -> str:
        said = self._said(mention)
        quoted = said if mention.kind == "quotation" else f'"{said}"'
        article = "an" if mention.kind == "address" else "a"
        return f"{article} {mention.kind} that no source has: {quoted}"


class _Mentions:
    def __init__(self, text: str) -> None:
        english = other_language(text) is None or is_english(text)  # the first takes lists of names for others
        self._mentions = specifics_index(text).mentions if english else find_specifics(text, english=False)
        self._starts = [m.start for m in self._mentions]

    def within(self, span: Span | None) -> Sequence[Mention]:
        if span is None:
            return ()
        return self._mentions[bisect_left(self._starts, span[0]) : bisect_left(self._starts, span[1])]


def _moved(mention: Mention, by: int) -> Mention:
    return replace(mention, start=mention.start + by, end=mention.end + by)


def _touched(edit: SentenceEdit, *, after: Mention | None = None, before: Mention | None = None) -> tuple[int, ...]:
    """The changed words that a specific of the text after or before stands in."""
    if after is not None:
        return tuple(k for k, w in enumerate(edit.words) if w.after[0] < after.end and after.start < w.after[1])
    assert before is not None
    return tuple(k for k, w in enumerate(edit.words) if w.before[0] < before.end and before.start < w.before[1])


def _clause(case: EditCase, edit: SentenceEdit, touched: Sequence[int]) -> tuple[int, ...]:
    """The changed words together with insertions next to them, between which only small words stayed."""
    first, last = touched[0], touched[-1]
    while first > 0 and _is_next_to(case, edit, first - 1, first):
        first -= 1
    while last + 1 < len(edit.words) and _is_next_to(case, edit, last, last + 1):
        last += 1
    return tuple(range(first, last + 1))


def _is_next_to(case: EditCase, edit: SentenceEdit, left: int, right: int) -> bool:
    a, b = edit.words[left], edit.words[right]
    gap = case.after[a.after[1] : b.after[0]]
    tokens = [gap[slice(*span)].lower() for span in token_spans(gap)] if len(gap) <= 30 else None
    if tokens is None or len(tokens) > _GAP:
        return False
    return all(t in STOP_WORDS or not t[0].isalnum() for t in tokens)


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
