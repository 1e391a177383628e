"""StatementFrame of a sentence: the words in it that deny, ask or suppose a statement, and the statement's own words.

A frame is found by its form: a word of a closed class (a denial, a doubt, a condition) and the place of the statement
beside it. What somebody reports counts as said: "The report says that ..." is no frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from eirene.text.english import AUXILIARIES
from eirene.text.frames import frame_words as of
from eirene.text.matching import Span
from eirene.text.polarity.marks import SentenceWord, read_marks

FrameKind = Literal["denied", "open", "affirmed", "loose", "condition"]

LONGEST = 1_000
"""Characters of a sentence that is looked at."""
_LEAST = 3
"""Words of a statement."""
_REACH = 6
"""Words behind a verb within which a predicate says what becomes of its subject."""
_QUOTED = re.compile(r"[\"“«]([^\"“”«»]{8,400})[\"”»]")


@dataclass(frozen=True, slots=True)
class StatementFrame:
    """A frame of a sentence. `kind`: its statement is denied, left open, or affirmed ("There is no doubt that"); of a
    `loose` one words tell less surely that it may not have come about: a wish, an attempt. Of a `condition` the rest
    hangs on it: what will, or would, be.

    `statement` has the words that are governed, as a sentence; `rest` what the sentence says besides, "" for nothing.
    """

    kind: FrameKind
    statement: str
    rest: str = ""


@lru_cache(maxsize=1024)
def frame_of(sentence: str) -> StatementFrame | None:
    """The frame that a sentence has by its own words, the first one; None where it has none."""
    if not _LEAST < len(sentence) <= LONGEST:
        return None
    marked = read_marks(sentence)
    at = {word.start: n for n, word in enumerate(marked.words)}
    negations = frozenset(at[m.start] for m in marked.marks if m.kind == "negation")
    sure = frozenset(at[m.start] for m in marked.marks if (m.kind, m.level) == ("certainty", "certain"))
    return next(_FramedWords(sentence, marked.words, negations, sure).frames(), None)


@dataclass(frozen=True)
class _FramedWords:
    """The words of a sentence, and at which of them negations and certainties ("there is no doubt that") begin."""

    text: str
    words: tuple[SentenceWord, ...]
    negations: frozenset[int]
    certainties: frozenset[int]

    def frames(self) -> Iterator[StatementFrame]:
        """The frames that are found, the surest first."""
        yield from self._labelled()
        yield from self._quoted()
        yield from self._alleged()
        yield from self._complements()
        yield from self._asked()
        yield from self._conditions()
        yield from self._planned()
        yield from self._loose()

    def kind(self, *stretches: Span, head: int | None = None) -> FrameKind | None:
        """What the words of some stretches make of a statement that they govern; None where they let it stand.

        `head`: the word that takes the statement; of what stands before it only what bears on it counts.
        """
        at = [n for first, end in stretches for n in range(first, end) if head is None or self._bears_on(n, head)]
        stems = {self.words[n].stem for n in at}
        denials = sum(n in self.negations and self.words[n].stem not in of.FALSE for n in at)
        if any(self.words[n].word == "not" and self._word(n + 1) in ("only", "just") for n in at):
            denials -= 1
        if not self.certainties.isdisjoint(at):
            return "affirmed"
        if stems & of.FALSE:
            return "affirmed" if denials % 2 else "denied"
        if stems & of.OPEN:
            return "affirmed" if denials and stems & of.NO_DOUBT else "open"
        if denials <= 0:
            return None
        if stems & of.FACTIVE or denials % 2 == 0:
            return "affirmed"
        return "denied" if stems & of.TRUE else "open"

    def _labelled(self) -> Iterator[StatementFrame]:
        """ "Myth: ...", "The following is untrue: ..." """
        colon = next((n for n, w in enumerate(self.words[:12]) if w.word == ":"), None)
        if colon is None:
            return
        stems = {w.stem for w in self.words[:colon]}
        points = colon <= _LEAST or any(w.word in ("following", "this", "statement") for w in self.words[:colon])
        if points and stems & (of.LABELS | of.OPEN):
            kind = self.kind((0, colon))
            if kind is not None and len(self.words) - colon > _LEAST:
                yield StatementFrame(kind, _sentence(self.text[self.words[colon].end :]))

    def _quoted(self) -> Iterator[StatementFrame]:
        """'The claim "..." is false.'"""
        for match in _QUOTED.finditer(self.text):
            before = [n for n, w in enumerate(self.words) if w.end <= match.start()]
            after = [n for n, w in enumerate(self.words) if w.start >= match.end()]
            verb = next((n for n in after[:2] if self.words[n].word in of.PREDICATES), None)
            if verb is None or (before and before[-1] and self.words[before[-1]].stem not in of.HEADS):
                continue
            kind = self.kind((verb, min(verb + _REACH, len(self.words))))
            if kind is not None:
                yield StatementFrame(kind, _sentence(match[1]))

    def _complements(self) -> Iterator[StatementFrame]:
        """ "It is false that ...", "Some wrongly claim ...", "The idea that ... is a myth." """
        for n, word in enumerate(self.words):
            if word.word in ("that", "whether", "if"):
                found = self._complement(n, n + 1)
            elif word.stem in of.SAYING and self._word(n + 1) not in of.BEFORE_A_NOUN - {"the", "a", "an", "this"}:
                found = self._complement(n + 1, n + 1, bare=True)
            else:
                continue
            if found is not None:
                yield found

    def _complement(self, that: int, first: int, *, bare: bool = False) -> StatementFrame | None:
        matrix = self._begin(that)
        if that == matrix:
            return self._fronted(first)
        head = that - 1
        while head > matrix and head > that - 4 and self.words[head].stem not in of.HEADS:
            head -= 1
        asks: FrameKind | None = "open" if self._word(that) == "whether" and not bare else None
        is_head = asks is not None or self.words[head].stem in of.HEADS
        if head < matrix or not is_head or self._word(first) in AUXILIARIES:
            return None
        if asks is None and any(w.word in of.BEFORE_A_NOUN for w in self.words[head + 1 : that]):
            return None  # "rejected a bridge that", and not "rejected that"
        if self._word(that) == "if" and not bare and self.kind((matrix, that)) != "open":
            return None
        end, predicate = self._end(first, self._word(matrix) in of.PREPOSITIONS), (0, 0)
        verb = self._predicate(matrix, head, first, end)
        if verb is not None:
            predicate, last = (verb, end), verb
        else:
            last = end
        kind = self.kind((matrix, that), predicate, head=head) or asks
        if kind is None or last - first < _LEAST:
            return None
        return self._frame(kind, (first, last), (matrix, end))

    def _bears_on(self, n: int, head: int) -> bool:
        """Whether a word before a head says something of its statement: "*wrongly* say", "a *myth* says", "*wrong* to
        say"; not "the *test* showed", "*denied* a bribe and said"."""
        word, after = self.words[n], self._word(n + 1)
        if word.word in ("lie", "lies") and after in of.PLACING:
            return False
        if n >= head or self.words[head].stem not in of.TELLING:
            return True
        if any(self._word(k) == "and" for k in range(max(n, head - 2), head)):
            return False
        if word.stem not in of.FALSE | of.OPEN or (word.word.endswith("ly") and word.word != "unlikely"):
            return True
        return after in ("to", "when", "in") or (word.stem in of.TALES and self.words[head].stem not in of.FINDING)

    def _fronted(self, first: int) -> StatementFrame | None:
        """ "That the castle has a tunnel is a myth." """
        end = self._end(first)
        verb = self._predicate(first, first, first, end)
        kind = None if verb is None else self.kind((verb, end))
        if verb is None or kind is None or verb - first < _LEAST:
            return None
        return self._frame(kind, (first, verb), (first, end))

    def _predicate(self, matrix: int, head: int, first: int, end: int) -> int | None:
        """The verb behind a statement with which its sentence goes on: "The idea that ... *has been* debunked"."""
        before = [w.word for w in self.words[matrix:head]]
        tells = bool(before) and before[-1] not in of.BEFORE_A_NOUN and self.words[head].stem in of.TELLING
        if any(word in AUXILIARIES for word in before) or (tells and "who" not in before[-3:]):
            return None
        verbs = [n for n in range(first + 2, end) if self.words[n].word in of.PREDICATES]
        return next((n for n in reversed(verbs) if self.kind((n, min(n + _REACH, end))) is not None), None)

    def _asked(self) -> Iterator[StatementFrame]:
        """ "Did the mayor resign?"; what asks who, when or why takes the rest for granted."""
        if not self.words or self.words[-1].word != "?":
            return
        words = {w.word for w in self.words}
        begins = any(w.word in AUXILIARIES for w in self.words[:2])
        if not words & of.ASKS and (begins or "," not in words):
            yield StatementFrame("open", self.text)

    def _conditions(self) -> Iterator[StatementFrame]:
        """ "If ..., ...", "Suppose that ...", "Had ..., ... would" """
        for n, word in enumerate(self.words):
            is_inverted = word.word in ("had", "were") and any(w.word in of.UNREAL for w in self.words[n:])
            is_condition = word.word in of.CONDITIONS or is_inverted
            if not is_condition or (word.word not in ("if", "unless") and n != self._begin(n)):
                continue
            first = n + 2 if self._word(n + 1) == "that" else n + 1
            end = self._end(first, comma=True)
            if end - first >= _LEAST:
                depends = any(w.word in ("will", "would") for w in (*self.words[:n], *self.words[end:]))
                kind: FrameKind = "condition" if depends else "open"
                yield self._frame(kind, (first, end), (n, end))

    def _alleged(self) -> Iterator[StatementFrame]:
        """ "The mayor allegedly resigned." """
        for n, word in enumerate(self.words):
            if word.word in of.ALLEGING and (not n or self._word(n - 1) not in of.BEFORE_A_NOUN):
                begin, end = self._begin(n), self._end(n)
                kept = self.text[self.words[begin].start : word.start] + self._span(n + 1, end)
                yield StatementFrame("open", _sentence(kept), self._without(begin, end))

    def _planned(self) -> Iterator[StatementFrame]:
        """ "The bridge was once planned to ...", "There was a plan for the bridge to ..." """
        for n, word in enumerate(self.words[:-2]):
            if self._word(n + 1) not in ("to", "for") or n == 0:
                continue
            begin = self._begin(n)
            end = self._end(n + 2, comma=self._word(begin - 1) in ("which", "who"))
            before = [w.word for w in self.words[begin:n]]
            is_past = any(w in of.PAST for w in before)
            if word.stem in of.PLANNED and is_past:
                verb = next((k for k in range(begin, n) if self.words[k].word in of.PAST), n)
                subject = "" if self._word(n + 1) == "for" else self._span(begin, verb)
                yield StatementFrame(
                    "open", _sentence(f"{subject} {self._span(n + 2, end)}"), self._without(begin, end)
                )
            elif word.stem in of.PLAN and is_past:
                yield self._frame("open", (n + 2, end), (begin, end))

    def _loose(self) -> Iterator[StatementFrame]:
        """ "They hoped to ...", "It nearly ...", "... would have ...", "Instead of ...", "... was a hoax." """
        for n in range(len(self.words)):
            begin, end = self._begin(n), self._end(n)
            if self._word(begin) == "as":
                continue
            first = self._governed(n)
            if self._word(n) in ("instead", "rather") and self._word(n + 1) in ("of", "than"):
                end = self._end(n, comma=True)
                yield self._frame("loose", (n + 2, end), (n, end))
            elif first is not None and first < end:
                yield self._frame("loose", (first, end), (first, end))
            elif self._is_unreal(n) or (
                self.words[n].stem in of.ONCE_THOUGHT and not of.UNTIL.isdisjoint(w.word for w in self.words[begin:end])
            ):
                yield self._frame("loose", (begin, end), (begin, end))

    def _governed(self, n: int) -> int | None:
        """Where what is wished, considered or charged begins: "hoped to *sell* it", "accused of *stealing* it"."""
        stem, after = self.words[n].stem, [self._word(k) for k in range(n + 1, n + 7)]
        if stem in of.LOOSE and after[0] in ("to", "that"):
            return n + 2
        if stem in of.CONSIDERED and after[0].endswith("ing"):
            return n + 1
        return n + 2 + after.index("of") if stem in of.ACCUSED and "of" in after else None

    def _is_unreal(self, n: int) -> bool:
        word, before, after = self.words[n], self._word(n - 1), self._word(n + 1)
        if word.word in of.NEARLY:
            return after.endswith("ed")
        is_called = word.stem in of.LABELS and before in ("a", "an", "be", "was", "is", "were", "as")
        return is_called or (word.word == "would" and after == "have")

    def _word(self, n: int) -> str:
        return self.words[n].word if 0 <= n < len(self.words) else ""

    def _begin(self, n: int) -> int:
        """The first word of the clause in which a word stands."""
        for k in range(n - 1, -1, -1):
            word = self.words[k].word
            if word in of.ENDS or (word == "," and self._word(k + 1) not in ("that", "whether")):
                return k + 1
            if word in of.TURNS and not (k and self.words[k].word == "who"):
                return k + 1
        return 0

    def _end(self, first: int, comma: bool = False) -> int:
        """The index behind the last word of the clause that begins with a word."""
        for k in range(first, len(self.words)):
            word, after = self.words[k].word, self._word(k + 1)
            if word in of.ENDS or (word in of.TURNS and k > first and word not in ("which", "who")):
                return k
            if word == "," and (comma or after in of.TURNS or after in ("and", "so")):
                return k
        return len(self.words)

    def _span(self, first: int, end: int) -> str:
        return self.text[self.words[first].start : self.words[end - 1].end] if first < end else ""

    def _without(self, first: int, end: int) -> str:
        """The sentence without some of its words; "" where hardly anything is left."""
        if first and self.words[first - 1].word in of.TURNS:
            first -= 1
        rest = self.text[: self.words[first].start] + self.text[self.words[end - 1].end :]
        left = sum(w.is_content for w in (*self.words[:first], *self.words[end:]))
        return _tidy(rest) if left >= 2 else ""

    def _frame(self, kind: FrameKind, statement: Span, whole: Span) -> StatementFrame:
        return StatementFrame(kind, _sentence(self._span(*statement)), self._without(*whole))


def _tidy(rest: str) -> str:
    """The rest of a sentence without the spaces and commas that a clause leaves before a mark."""
    text = " ".join(rest.split())
    for loose, mark in ((" ,", ","), (",,", ","), (" .", "."), (",.", ".")):
        text = text.replace(loose, mark)
    return text.strip(" ,;:")


def _sentence(words: str) -> str:
    """Words as a sentence, as the verifier knows them."""
    text = words.strip(" ,;:-*_")
    return text[:1].upper() + text[1:] + ("" if text[-1:] in (".", "!", "?") else ".")
