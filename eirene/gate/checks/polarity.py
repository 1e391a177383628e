"""Polarity check: a negation, antonym, quantifier, comparative, hedge or reporting verb gained or lost.

In a reworded sentence every turned mark is objected to, unless it was asked for or the given text has it the new way.
An added sentence is compared with the given sentence that it is closest to.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from eirene.gate.checks.base import Asked, EditCase, Objection
from eirene.text.clauses import clause_spans, core_text
from eirene.text.edits.words import SentenceEdit
from eirene.text.language import other_language
from eirene.text.matching import Span
from eirene.text.polarity import PolarityTurn, contradicts, likeness, sign_turns, turns
from eirene.text.polarity.marks import DENIES, read_marks
from eirene.text.remembered import memoised
from eirene.text.sentences import split_sentences
from eirene.text.words import stems

_ALIKE = 0.45
"""Least likeness of a reworded sentence to the one before: below, it is another sentence, judged as an added one."""
_LEVELS = ("quantifier", "certainty", "report")
_CLAUSE = 3
"""Content words more on one side of a change than on the other: a clause came in or went, with marks of its own."""
_MARGIN = 0.1
"""Given sentences that are alike within this much are equally near: one that agrees is enough."""
_NARROW = 0.6
"""Most of a sentence that a finding may span to be about the changed words, and not about the sentence."""
_NEAR = 0.6
"""Least likeness of a given sentence for its marks to decide."""
_SIGNS = ("negation", "opposite")
_NEGATIONS_ALIKE = 0.5, 0.03
_OPPOSITES_ALIKE = 0.7, 0.03
"""Least cosine of the closest given sentence, and least difference between the two wordings. On answers made of other
people's words for an argument: of negations put in, 62 % are found to be none of the argument's, and 5 % pass; of those
taken out 42 % and 20 %; of opposites 57 % and 4 %."""
_MOST_GIVEN = 200
"""Given sentences that are compared by meaning."""
_JOINT = re.compile(r"[,;:]\s|\s(?:and|but|while|whereas|though|although)\s", re.IGNORECASE)
_ASKS = re.compile(r"[?？][\"'”’)\]*_]*\s*\Z")
_CONDITION = re.compile(
    r"(?:,\s*)?(?:but\s+)?(?:only|if|unless|because|since|when|whenever|until|provided|as\s+long\s+as|in\s+case|although|though)\b",
    re.IGNORECASE,
)
_PROOFS = frozenset(["certain", "fact", "doubted", "endorsed", "judged", "all"])


def polarity(case: EditCase) -> Iterator[Objection]:
    """Objects to turned marks."""
    if other_language(case.after):
        return
    index: Nearest | None = None
    for number, edit in case.changed():
        if edit.after is None:
            continue
        old, new = case.old(edit), case.new(edit)
        if old and likeness(old, new) >= _ALIKE:
            if old != new:
                yield from _in_reworded(case, number, edit)
                yield from _of_clauses(case, number, edit)
            continue
        index = index or nearest_index((*case.given_texts, *(() if case.has_given else (case.before,))))
        why = _against(index, new)
        if why:
            yield Objection(number, why, falsifies=True)


def _in_reworded(case: EditCase, number: int, edit: SentenceEdit) -> Iterator[Objection]:
    old, new = case.old(edit), case.new(edit)
    found = [(turn, _words(edit, turn)) for turn in turns(old, new)]
    weaker = {n for turn, words in found for n in words if _is_weaker(case, old, new, turn)}
    for turn, words in found:
        if turn.kind in _LEVELS and words and weaker.issuperset(words):
            continue
        if turn.kind == "attribution" and case.has_given:  # whose argument it is, the given text says
            continue
        if _is_in_clause(case, edit, words, turn) or _is_asked(case, edit, turn) or _is_given(case, old, new, turn):
            continue
        yield Objection(number, f"{turn.why}, and nobody asked for that", words or None, falsifies=True)


def _of_clauses(case: EditCase, number: int, edit: SentenceEdit) -> Iterator[Objection]:
    """A claim that became a question, and a condition or reason that was left out."""
    old, new = case.old(edit), case.new(edit)
    if _ASKS.search(new) and not _ASKS.search(old):
        yield Objection(number, "turns a claim into a question")
    gone = [(case.before[slice(*w.before)].strip(), case.after[slice(*w.after)].strip()) for w in edit.words]
    words = tuple(k for k, (was, now) in enumerate(gone) if not now and " " in was and _CONDITION.match(was))
    if words and edit.mostly_stays:
        yield Objection(number, f'leaves out "{gone[words[0]][0][:60]}"', words)


def _words(edit: SentenceEdit, turn: PolarityTurn) -> tuple[int, ...]:
    """The changed words that hold a turn's marks."""
    assert edit.before is not None and edit.after is not None
    found = set()
    for n, change in enumerate(edit.words):
        if turn.before and _meet(change.before, turn.before, edit.before[0]):
            found.add(n)
        if turn.after and _meet(change.after, turn.after, edit.after[0]):
            found.add(n)
    return tuple(sorted(found))


def _meet(change: tuple[int, int], mark: tuple[int, int], offset: int) -> bool:
    return change[0] < mark[1] + offset and mark[0] + offset < change[1]


def _is_in_clause(case: EditCase, edit: SentenceEdit, words: tuple[int, ...], turn: PolarityTurn) -> bool:
    """Whether a mark came, or went, with a clause of its own: that is no turn of what stood there."""
    if turn.kind in ("roles", "attribution") or (turn.old and turn.new) or not words:
        return False
    change = edit.words[words[0]]
    gone, come = (_content(case.before[slice(*change.before)]), _content(case.after[slice(*change.after)]))
    return abs(come - gone) >= _CLAUSE


def _content(text: str) -> int:
    return sum(w.is_content for w in read_marks(text).words)


def _against(index: Nearest, new: str) -> str | None:
    """What of a new sentence contradicts the sentence that it is closest to."""
    opening = _judged(index, new)
    if opening:
        return f'"{opening}", which nothing given says'
    for start, end in clause_spans(new):
        claim = new[start:end]
        found = index.nearest(claim)
        near = [text for share, text in found if share >= found[0][0] - _MARGIN]
        against = [contradicts(text, claim) for text in near]
        if against and all(against):
            turn = against[0]
            assert turn is not None
            return f'{turn.why}, against "{near[0][:60]}"'
    return None


def _judged(index: Nearest, new: str) -> str | None:
    """Words of an opening that judge what is said ("falsely", "a proven fact"), where no given text has them."""
    reading = read_marks(new)
    behind = reading.words[reading.opening].start if reading.opening < len(reading.words) else len(new)
    for mark in reading.marks:
        if mark.kind == "report" and mark.level != "shown" and mark.end <= behind:
            word = new[mark.start : mark.end]
            if not index.holds(word):
                return word
    return None


def _is_asked(case: EditCase, edit: SentenceEdit, turn: PolarityTurn) -> bool:
    """Whether a finding or a note at the place asks for this turn."""
    return any(_asks(case, edit, turn, asked) for asked in case.asked_at(edit))


def _asks(case: EditCase, edit: SentenceEdit, turn: PolarityTurn, asked: Asked) -> bool:
    assert edit.before is not None
    start, end = edit.before
    if turn.before and asked.end - asked.start <= _NARROW * (end - start):
        first, last = turn.before[0] + start, turn.before[1] + start
        if asked.start < last and first < asked.end:
            return True
    old, new = case.old(edit), case.new(edit)
    if asked.edit and asked.edit.strip() in new and asked.edit.strip() not in old:
        return True
    return any(_carries(text, old, new, turn) for text in (asked.reason, asked.edit or "") if text)


def _is_given(case: EditCase, old: str, new: str, turn: PolarityTurn) -> bool:
    """Whether the given sentence that matches best has the new polarity, and not the old one.

    By words; a negation or an opposite also by meaning, where the encoder clearly prefers the new wording.
    """
    if not case.given_texts or turn.kind == "attribution":
        return False
    index = nearest_index(case.given_texts)
    found = [(share, text) for share, text in index.nearest(new) if share >= _NEAR]
    if found:
        decides = _part(found[0][1], _clause(new, turn.after)) if turn.kind in _SIGNS else found[0][1]
        if _carries(decides, old, new, turn):
            return True
        if _carries(decides, new, old, turn):
            return False
    return turn.kind in _SIGNS and _means(case, old, new, turn, index)


def _is_weaker(case: EditCase, old: str, new: str, turn: PolarityTurn) -> bool:
    """Whether a proof, an "all" or a judgement went that no given text has: the claim is weaker, as it should be."""
    if not case.given_texts or turn.kind not in _LEVELS or not turn.old:
        return False
    gone, come = _levels(old, turn) - _levels(new, turn), _levels(new, turn) - _levels(old, turn)
    return bool(gone & _PROOFS) and not come & _PROOFS and not nearest_index(case.given_texts).holds(turn.old)


def _means(case: EditCase, old: str, new: str, turn: PolarityTurn, index: Nearest) -> bool:
    """Whether the given sentence closest in meaning is closer to the new wording than to the old one, and by how much.

    An encoder hears a "not" better than it understands it: a negation may come only where that sentence denies
    something too, and go only where it has none.
    """
    if case.encoder is None or not 0 < len(index.sentences) <= _MOST_GIVEN:
        return False
    pair = [core_text(_clause(old, turn.before)), core_text(_clause(new, turn.after))]
    vectors = case.encoder.encode([*pair, *index.sentences])
    alike = vectors[:2] @ vectors[2:].T
    best = int(alike.max(axis=0).argmax())
    least, margin = _OPPOSITES_ALIKE if turn.kind == "opposite" else _NEGATIONS_ALIKE
    if alike[:, best].max() < least or alike[1, best] - alike[0, best] < margin:
        return False
    if turn.kind == "opposite":
        return True
    reading = read_marks(_part(index.sentences[best], pair[1]))
    denies = any(m.kind == "negation" for m in reading.marks)
    return not denies if turn.old else denies or any(w.stem in DENIES for w in reading.words)


def _clause(sentence: str, mark: Span | None) -> str:
    """The clause that a mark stands in; the sentence where it has none, or one clause."""
    spans = clause_spans(sentence) if mark else ()
    return next((sentence[a:b] for a, b in spans if mark and a <= mark[0] < b), sentence)


def _part(given: str, said: str) -> str:
    """The clause of a given sentence that speaks of what is said: its other clauses may deny something else."""
    words = frozenset(stems(said))
    return max(_JOINT.split(given), key=lambda part: len(words & frozenset(stems(part))))


def _carries(text: str, old: str, new: str, turn: PolarityTurn) -> bool:
    """Whether a text has a turned mark the new way and not the old way."""
    if turn.kind in _SIGNS:
        return bool(sign_turns(text, old)) and not sign_turns(text, new)
    levels = {m.level for m in read_marks(text).marks if m.kind == turn.kind}
    before, after = _levels(old, turn), _levels(new, turn)
    if turn.new:
        return bool(levels & ((after - before) or after)) and not levels & (before - after)
    return turn.kind != "roles" and bool(before) and not levels & before


def _levels(text: str, turn: PolarityTurn) -> set[str]:
    return {m.level for m in read_marks(text).marks if m.kind == turn.kind}


_MOST = 3
"""Sentences with most words in common that are compared closely."""
_POSTINGS = 2000
"""Places of a word that are counted: a more frequent one tells little."""


class Nearest:
    """The sentences of texts, found by the words that they share with another one."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self._lower = "\n".join(texts).lower()
        self.sentences = [s.text for text in texts for s in split_sentences(text) if s.text]
        self._places: dict[str, list[int]] = defaultdict(list)
        for number, sentence in enumerate(self.sentences):
            for stem in {w.stem for w in read_marks(sentence).words if w.is_content}:
                self._places[stem].append(number)

    def nearest(self, sentence: str) -> list[tuple[float, str]]:
        """Up to three sentences with their likeness in [0, 1], the likest first."""
        counts: Counter[int] = Counter()
        for stem in {w.stem for w in read_marks(sentence).words if w.is_content}:
            counts.update(self._places.get(stem, ())[:_POSTINGS])
        found = [self.sentences[n] for n, _ in counts.most_common(_MOST)]
        return sorted(((likeness(text, sentence), text) for text in found), key=lambda row: -row[0])

    def holds(self, words: str) -> bool:
        """Whether the texts have the words, in any case."""
        return words.lower() in self._lower


@memoised(16, small=lambda texts: sum(map(len, texts)) <= 100_000)
def nearest_index(texts: tuple[str, ...]) -> Nearest:
    """The index of the texts; those of usual length are kept."""
    return Nearest(texts)
