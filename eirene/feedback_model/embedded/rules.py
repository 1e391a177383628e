"""Hallucination rules: an answer's names, numbers, dates, negations and opinions against the given text.

Each sentence is aligned, word by word, with the given sentence that shares most with it. Where both go on alike on
either side of a difference, the difference is a replacement, and the given words are its edit. A rule that does not see
its case clearly says nothing: these are for changes of a few words, not for what an answer puts in words of its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from eirene.core.critique import Finding, HallucinationKind
from eirene.core.findings.kinds import finding_of
from eirene.feedback_model.embedded.lexicon import (
    LEXICON,
    are_opposites,
    is_name,
    is_negation,
    is_opinion,
    kind_of_value,
    same_value,
)
from eirene.text.matching import BoundedMatcher
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.words import STOP_WORDS, content_words

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

_VERSION = "2"
RULES_DIGEST = hashlib.sha256(f"{_VERSION}\n{LEXICON}".encode()).hexdigest()[:8]

_TOKEN = re.compile(r"\w+(?:[.,:/]\d+)*(?:['’\-]\w+)*|[^\w\s]")
_MOST_GIVEN = 400
"""Given sentences that are looked at; of more, those with the most words in common."""
_HELD_AGAINST = 3
"""Given sentences that one sentence is compared with: an answer's sentence may say what two of them do."""
_RELATED = 0.34
"""Share of the content words of the shorter that two sentences must have in common to be held side by side."""
_VERBATIM = 0.7
"""Share of the words of both that agree from which a word in another's place is a change, not another wording."""

_MOST_PAIRS = 1_000_000
"""Words of a sentence times those of a given one, from which it is no sentence but a table or code on one line, and
laying it beside the other would take seconds."""
_BESIDE = 3
"""Words on either side of a difference, taken together, from which it is a change of an otherwise equal passage."""

Side = Literal["sure", "likely"]
_MARGIN = {"sure": 3.0, "likely": 1.5}
"""Log odds above the threshold of naming a finding, as those of `eirene.feedback_model.embedded.faults`. Set by hand.
"""


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """One finding, in sentence `sentence` (from 0). `explains`: it says what is wrong with the sentence as a whole;
    `given` is the given sentence that it was compared with, "" where it was compared with none."""

    sentence: int
    margin: float
    finding: Finding
    explains: bool
    given: str = ""


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int

    @property
    def key(self) -> str:
        return self.text.casefold().replace("’", "'")


@dataclass(frozen=True, slots=True)
class _Given:
    text: str
    tokens: tuple[_Token, ...]
    stems: frozenset[str]


def find_by_rules(
    answer: str, sentences: Sequence[Sentence], references: Sequence[str], question: str, encoder: Encodes
) -> tuple[RuleFinding, ...]:
    """All findings, sentence by sentence; none without references.

    A given sentence is close by the share of content words in common, and by meaning (cosine).
    """
    given = [_given(s.text) for text in references for s in split_sentences(text) if s.text]
    if not given:
        return ()
    known = frozenset(t.key for g in given for t in g.tokens) | {t.key for t in _tokens(question, 0)}
    chosen = _closest(sentences, given, encoder)
    said = {_words(g.tokens) for g in given}
    found: list[RuleFinding] = []
    for i, sentence in enumerate(sentences):
        tokens = _tokens(sentence.text, sentence.text_start)
        if not tokens:
            continue
        here = list(_opinions(i, sentence, tokens, known, answer))
        is_given = _words(tokens) in said  # another given sentence does not make it wrong
        for rank, closest in enumerate(() if here or is_given else chosen[i]):
            new = _differences(i, tokens, closest, known, answer, others=rank > 0)
            here += [f for f in new if all(f.finding.start >= h.finding.end or f.finding.end <= h.finding.start
                                           for h in here)]  # fmt: skip
        found += here
    return tuple(found)


def _words(tokens: Sequence[_Token]) -> tuple[str, ...]:
    return tuple(t.key for t in tokens if t.text[0].isalnum())


@lru_cache(maxsize=4096)
def _given(text: str) -> _Given:
    return _Given(text, tuple(_tokens(text, 0)), frozenset(w.stem for w in content_words(text)))


def _tokens(text: str, offset: int) -> list[_Token]:
    found = [_Token(m.group(), offset + m.start(), offset + m.end()) for m in _TOKEN.finditer(text)]
    return _without_possessives(found)


def _without_possessives(tokens: list[_Token]) -> list[_Token]:
    """`Smith's` as `Smith` and `'s`: the name is the same with and without."""
    parts: list[_Token] = []
    for token in tokens:
        cut = len(token.text) - 2
        if cut > 0 and token.text[cut:] in ("'s", "’s"):
            parts += [_Token(token.text[:cut], token.start, token.start + cut),
                      _Token(token.text[cut:], token.start + cut, token.end)]  # fmt: skip
        else:
            parts.append(token)
    return parts


def _closest(sentences: Sequence[Sentence], given: list[_Given], encoder: Encodes) -> list[list[_Given]]:
    """For each sentence the given sentences that it is compared with, the closest first; none where none is related."""
    stems = [frozenset(w.stem for w in content_words(s.text)) for s in sentences]
    shares = np.array([[_share(own, g.stems) for g in given] for own in stems]).reshape(-1, len(given))
    if len(given) > _MOST_GIVEN:
        keep = np.argsort(-shares.max(axis=0), kind="stable")[:_MOST_GIVEN]
        given, shares = [given[k] for k in keep], shares[:, keep]
    texts = [s.text or " " for s in sentences]
    cosine = encoder.encode(texts) @ encoder.encode([g.text for g in given]).T
    together = shares + np.asarray(cosine, np.float64)
    best = np.argsort(-together, axis=1, kind="stable")[:, :_HELD_AGAINST]
    sizes = [len(_TOKEN.findall(text)) for text in texts]
    return [
        [given[b] for b in row if shares[i, b] >= _RELATED and sizes[i] * len(given[b].tokens) <= _MOST_PAIRS]
        for i, row in enumerate(best)
    ]


def _share(own: frozenset[str], given: frozenset[str]) -> float:
    """The content words that both have, as a share of those of the shorter."""
    return len(own & given) / max(min(len(own), len(given)), 1)


def _opinions(
    index: int, sentence: Sentence, tokens: Sequence[_Token], known: frozenset[str], answer: str
) -> Iterator[RuleFinding]:
    """A sentence with words of opinion that nothing given uses."""
    if any(is_opinion(t.key) and t.key not in known for t in tokens) or is_opinion(sentence.text.casefold()):
        finding = finding_of("subjective", sentence.text_start, sentence.text_end, text=answer, edit="")
        yield RuleFinding(index, _MARGIN["likely"], finding, explains=True)


@dataclass(frozen=True, slots=True)
class _HeldAgainst:
    """A sentence beside the given one that it is compared with; `taken` are the edits that it has already."""

    given: _Given
    known: frozenset[str]
    own: frozenset[str]
    alike: float
    taken: set[str]

    @property
    def is_verbatim(self) -> bool:
        return self.alike >= _VERBATIM

    def facing(self, tokens: Sequence[_Token], kind: str) -> list[str]:
        """The values of a type among given words, as they are written there, that the sentence has not."""
        runs = [r for r in _runs(tokens, frozenset()) if _type_of(r) == kind and not self.own & {t.key for t in r}]
        return [t for t in (self.given.text[r[0].start : r[-1].end] for r in runs) if t.casefold() not in self.taken]


def _differences(
    index: int, tokens: Sequence[_Token], given: _Given, known: frozenset[str], answer: str, *, others: bool
) -> Iterator[RuleFinding]:
    """What stands in the sentence in another's place, one finding for each place; compared with `others` than
    the closest sentence, relations only where the words beside them agree."""
    own, other = [t.key for t in tokens], [t.key for t in given.tokens]
    matcher = BoundedMatcher(own, other)
    pair = _HeldAgainst(given, known, frozenset(own), matcher.ratio(), set())
    codes = matcher.get_opcodes()
    for n, (op, a1, a2, b1, b2) in enumerate(codes):
        beside = sum(c[2] - c[1] for c in codes[max(n - 1, 0) : n + 2] if c[0] == "equal")
        named = () if op == "equal" else _named(tokens[a1:a2], given.tokens[b1:b2], pair, beside=beside)
        for kind, here, new, side in named:
            if others and kind != "entity" and beside < _BESIDE:
                continue
            at = tokens[a1].start if a1 < len(tokens) else tokens[-1].end
            start, end = (here[0].start, here[-1].end) if here else (at, at)
            pair.taken.add(new.casefold())
            finding = finding_of(kind, start, end, text=answer, edit=new)
            yield RuleFinding(index, _MARGIN[side], finding, explains=pair.is_verbatim, given=given.text)


_Named = tuple[HallucinationKind, Sequence[_Token], str, Side]


def _named(mine: Sequence[_Token], theirs: Sequence[_Token], pair: _HeldAgainst, *, beside: int) -> Iterator[_Named]:
    """The findings of one difference: values of a type first, then negations, opposites, and any other word.

    `beside`: how many words directly on either side of it the two sentences have in common.
    """
    values = list(_values(mine, theirs, pair))
    if values:
        yield from values
        return
    negation = _negation(mine, theirs, pair.given.text) if pair.is_verbatim or beside >= _BESIDE else None
    if negation is not None:
        yield negation
        return
    said = {t.key for t in theirs}
    for here in (t for t in mine if t.key not in said):
        facing = [t for t in theirs if are_opposites(here.key, t.key)]
        if facing:
            yield "relation", (here,), facing[0].text, "sure" if pair.is_verbatim else "likely"
            return
    if pair.is_verbatim and len(mine) == len(theirs) == 1 and _are_other_words(mine[0], theirs[0], pair):
        yield "relation", mine, theirs[0].text, "likely"


def _are_other_words(mine: _Token, theirs: _Token, pair: _HeldAgainst) -> bool:
    """Whether two single words that face each other are two, and not forms of one; the first stands nowhere given."""
    both = (mine.key, theirs.key)
    says_something = all(k.isalpha() and len(k) > 2 and k not in STOP_WORDS for k in both)
    return says_something and mine.key not in pair.known and both[0][:4] != both[1][:4]


def _values(mine: Sequence[_Token], theirs: Sequence[_Token], pair: _HeldAgainst) -> Iterator[_Named]:
    """Values (numbers, dates, names) that nothing given has, facing one of their type that the sentence has not."""
    for run in _runs(mine, pair.known):
        kind = _type_of(run)
        side: Side = "sure"
        facing = pair.facing(theirs, kind)
        if not facing and kind != "name":  # not in the same place: the only one of its type will do
            side, facing = "likely", pair.facing(pair.given.tokens, kind)
            facing = facing if len(facing) == 1 else []
        if facing and not any(same_value(" ".join(w.text for w in run), t) for t in facing):
            yield "entity", run, facing[0], side


def _type_of(run: Sequence[_Token]) -> str:
    return kind_of_value(run[0].text) or "name"


def _runs(tokens: Sequence[_Token], known: frozenset[str]) -> list[list[_Token]]:
    """Values in a row of words: single numbers and dates, and runs of words that are written as names."""
    runs: list[list[_Token]] = []
    held: list[_Token] = []
    for token in tokens:
        kind = kind_of_value(token.text)
        if kind is not None:
            held = []
            if token.key not in known:
                runs.append([token])
        elif is_name(token.text):
            if held and token.start - held[-1].end <= 1:
                held.append(token)
            else:
                held = [token]
                runs.append(held)
        else:
            held = []
    return [r for r in runs if any(t.key not in known for t in r)]


def _negation(mine: Sequence[_Token], theirs: Sequence[_Token], given: str) -> _Named | None:
    """A "not" that one of them has and the other has not; what is said instead is as `given` has it."""
    here = [t for t in mine if is_negation(t.key)]
    there = [t for t in theirs if is_negation(t.key)]
    if bool(here) == bool(there):
        return None
    words = theirs if mine else [t for t in theirs if t.text[0].isalnum()]  # commas stay out where words are put in
    new = given[words[0].start : words[-1].end] if words else ""
    return "relation", mine, new, "sure"
