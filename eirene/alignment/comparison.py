"""Compares an answer with what its item gives: who is said to speak where, and where something missing would stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.align import KEPT, Alignment, align, frozen, is_small, load_constants
from eirene.core.records import Item
from eirene.text.cancellation import check_cancelled
from eirene.text.clauses import opening_length
from eirene.text.remembered import memoised
from eirene.text.sentences import Sentence, split_sentences

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

SURE = 0.5
"""Probability from which a unit counts as saying an argument, where a side is looked for."""

KEEPS = 0.8
"""Weight of staying on a side from one sentence to the next, against 1 minus it."""

_FAVOUR = re.compile(
    r"\b(?:support|advoca|proponent|defend|favou?r|in\s+favou?r|case\s+for|reasons?\s+for|pros?\b|benefit|advantage|upside|one\s+(?:hand|side)"
    r"|backer|enthusias|(?:arguments?|points?)\s+for\b)|\A\W*for\W*\Z",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"\b(?:oppos|opponent|object|critic|against|con\b|cons\b|disadvantage|downside|drawback|sceptic|skeptic|other\s+(?:hand|side)|detractor|doubter)",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"\W*(?:(?:[^\s:.,;!?]+ ){0,6}[^\s:.,;!?]+:[*_]*(?=\s|\Z)|(?<=[#*] )[^.:;!?\n]{1,60}\Z"
    r"|[*_]{2}[^.:;!?\n*_]{1,60}[*_]+\Z)\s*"
)
"""A few words and a colon ("Two things are said against it: ...", "**Pro:**"), or a heading by itself ("## Pro")."""
_SAYING = (
    r"(?:say|argue|add|hold|think|believe|claim|fear|reply|repli|object|insist|answer|counter|feel|warn|worr[yi])\w*\b"
)
_SAID = re.compile(rf"(?:[\w'’-]+\s+){{1,7}}?{_SAYING}\s+(?=\w)", re.IGNORECASE)
"""Who says it, where no "that" follows: "Those in favour say rents fall"."""
_CUE = 0.9
"""Chance that an opening which names a side stands on it."""


def side_evidence(
    alignment: Alignment, sentence: int, groups: Sequence[str], names: Sequence[str]
) -> NDArray[np.float64]:
    """Log weight of each group for one sentence (from 0), [G]: by what it says, and by the side its opening names."""
    odds = np.full(len(names), 0.1)
    place = {name: k for k, name in enumerate(names)}
    rows = [place[group] for group in groups]
    for unit in alignment.atoms[sentence]:
        best = np.full(len(names), -np.inf)
        np.maximum.at(best, rows, alignment.p_says[:, unit])
        odds += best
    weight = np.log(odds / odds.sum()) * 0.5
    cue = cue_of(opening_of(alignment.sentences[sentence].text, names), names)
    if cue is not None:
        told = np.full(len(names), (1.0 - _CUE) / (len(names) - 1))
        told[cue] = _CUE
        weight = weight + np.log(told)
    return np.asarray(weight, np.float64)


def opening_of(text: str, names: Sequence[str]) -> str:
    """What a sentence or clause says before it claims anything: "Opponents argue that", "Pro:"; or "".

    A heading, and a speaker without "that", count where they name a side.
    """
    length = opening_length(text)
    if cue_of(text[:length], names) is None:
        for found in (_HEADING.match(text, length), _SAID.match(text, length)):
            if found is not None and cue_of(found.group(), names) is not None:
                return text[: found.end()]
    return text[:length]


def cue_of(opening: str, names: Sequence[str]) -> int | None:
    """Which group an opening names: by its own name, or by words for a side where the names are such words too."""
    named = [k for k, name in enumerate(names) if re.search(rf"\b{re.escape(name)}\b", opening, re.IGNORECASE)]
    if len(named) == 1:
        return named[0]
    side = (bool(_FAVOUR.search(opening)), bool(_AGAINST.search(opening)))
    if side[0] == side[1]:
        return None
    pattern, other = (_FAVOUR, _AGAINST) if side[0] else (_AGAINST, _FAVOUR)
    fitting = [k for k, name in enumerate(names) if pattern.search(name) and not other.search(name)]
    return fitting[0] if len(fitting) == 1 else None


_CONTRAST = re.compile(r"\b(?:but|while|whilst|whereas|al?though|yet|however|others|against\s+this)\b", re.IGNORECASE)
_SPEAKERS = re.compile(
    r"""\b(?:supporter|proponent|advocate|defender|opponent|critic|sceptic|skeptic|objector|adversar(?:y|ie))s?\b
      | \b(?:those|people|many|some|others)\s+(?:in\s+favou?r|against|opposed|who\s+(?:support|oppose|favou?r|object))\b
      | \b(?:one|other|opposite|opposing)\s+(?:hand|side|camp)\b""",
    re.VERBOSE | re.IGNORECASE,
)


def told_by_unit(
    alignment: Alignment,
    openings: Sequence[str],
    groups: Sequence[str],
    names: Sequence[str],
    *,
    turns: Callable[[str], bool],
) -> tuple[str | None, ...]:
    """The side that the answer names as speaking in each unit, [U]; None where none is named or it cannot be told.

    A side goes on speaking until another is named, a sentence `turns` away by its opening, a line is left blank, or a
    clause is set against the one before it ("..., but", "..., whereas"): whose clause that is, nobody says. A unit in
    the middle of which somebody else begins to speak is nobody's, and so is one that sets an argument of one side
    against one of another. `groups` [A] are the arguments' sides, `names` all sides.
    """
    told: list[str | None] = [None] * len(alignment.units)
    now: str | None = None
    for s, opening in enumerate(openings):
        cue = cue_of(opening, names)
        before = alignment.sentences[s - 1].raw if s else ""
        if cue is not None:
            now = names[cue]
        elif turns(opening) or before.count("\n") > 1:
            now = None
        for n, unit in enumerate(alignment.atoms[s]):
            joint, said = _joint(alignment, s, n, names), alignment.units[unit].text
            cue = cue_of(joint, names)
            if cue is not None:
                now = names[cue]
            elif _CONTRAST.search(joint):
                now = None
            if _someone_speaks(said[len(opening_of(said, names)) :], names):
                now = None
            told[unit] = None if _weighs(alignment, unit, groups) else now
    return tuple(told)


def _joint(alignment: Alignment, sentence: int, n: int, names: Sequence[str]) -> str:
    """What stands before the words of a sentence's clause `n` (from 0); "" before the first: that is the opening."""
    if not n:
        return ""
    cut = alignment.sentences[sentence]
    before, unit = (alignment.units[alignment.atoms[sentence][i]] for i in (n - 1, n))
    between = cut.text[before.end - cut.text_start : unit.start - cut.text_start]
    own = cut.text[unit.start - cut.text_start : unit.end - cut.text_start]
    return between + opening_of(own, names)


def _speaks(name: str, said: str) -> bool:
    """Whether a side is named as speaking: "teachers that", "parents may reply", "For parents,"."""
    who = rf"\b{re.escape(name)}\b"
    speaks = rf"{who}(?:\s+\w+){{0,2}}?\s+(?:that\b|{_SAYING})|\b(?:for|to)\s+(?:the\s+)?{who}\s*,"
    return re.search(speaks, said, re.IGNORECASE) is not None


def _weighs(alignment: Alignment, unit: int, groups: Sequence[str]) -> bool:
    """Whether a unit has arguments of two sides word for word, with a contrast between them."""
    sides = {group for group, said in zip(groups, alignment.features.said[:, unit], strict=True) if said}
    return len(sides) > 1 and _CONTRAST.search(alignment.units[unit].text) is not None


def _someone_speaks(said: str, names: Sequence[str]) -> bool:
    if _SPEAKERS.search(said) or any(_speaks(name, said) for name in names):
        return True
    return bool(_CONTRAST.search(said)) and cue_of(said, names) is not None


# Openings after which the same side goes on speaking; any other that names a speaker or a contrast may turn to another.
_GOES_ON = re.compile(
    r"\W*(?:they|he|she|it|some\s+also|(?:yet\s+)?an(?:other|\s+additional)|"
    r"(?:a|one)\s+(?:further|second|third|last|more)|"
    r"also|besides|moreover|further(?:more)?|in\s+(?:addition|their|his|her|particular|fact)|additionally|likewise|similarly|"
    r"first|second|third|final|last|next|then|thus|hence|therefore|indeed|for\s+(?:example|instance))",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """An answer compared with what its item gives.

    `groups` [A] names each argument's perspective, None for a passage's sentence. `sides` [A, S] is the chance that
    a sentence stands in the argument's perspective (0.5 where there are no two), `stands` [S] the likeliest one; `told`
    [U] the one that the answer names in words as speaking in a unit ("Opponents argue that"), there or before, with no
    turn since. `shared` are the arguments that more than one perspective gives: none of them stands on a wrong side.
    """

    alignment: Alignment
    groups: tuple[str | None, ...]
    sides: NDArray[np.float64]
    stands: tuple[str | None, ...]
    told: tuple[str | None, ...]
    shared: frozenset[int] = frozenset()

    def says_group(self, sentence: int, group: str | None) -> float:
        """The highest probability that a part of the sentence says an argument of the group."""
        return self._says_groups[group][sentence] if group in self._says_groups else 0.0

    @property
    def in_passages(self) -> bool:
        """Whether the answer is compared with the sentences of passages, and not with arguments."""
        return None in self.groups

    @cached_property
    def with_words(self) -> tuple[int, ...]:
        """The sentences that are not blank."""
        return tuple(s for s, cut in enumerate(self.alignment.sentences) if cut.text)

    @cached_property
    def _says_groups(self) -> dict[str | None, list[float]]:
        """`says_group` of every sentence: who asks for one asks for all, once for each argument that is missing."""
        alignment = self.alignment
        if not alignment.atoms:
            return {}
        flat = [u for units in alignment.atoms for u in units]
        starts = np.cumsum([0, *(len(units) for units in alignment.atoms)])[:-1]
        found: dict[str | None, list[float]] = {}
        for group in dict.fromkeys(self.groups):
            rows = [a for a, g in enumerate(self.groups) if g == group]
            best = alignment.p_says[rows].max(axis=0, initial=0.0)[flat]
            found[group] = [float(p) for p in np.maximum.reduceat(best, starts)]
        return found


@dataclass(frozen=True, slots=True)
class Place:
    """After which sentence (from 0) an argument would stand; `opens`: the answer has nothing of its perspective yet."""

    sentence: int
    opens: bool


def compare(
    item: Item, answer: str, encoder: Encodes, *, sentences: Sequence[Sentence] | None = None
) -> Comparison | None:
    """Aligns the answer with the item's arguments, else with its passages; None where the item gives neither."""
    if item.perspectives:
        sides = [(perspective.name, perspective.arguments) for perspective in item.perspectives]
        return compare_sides(sides, answer, encoder, question=item.query, sentences=sentences)
    if item.context:
        arguments = tuple(dict.fromkeys(bearing_sentences(item.context, item.query, encoder)))
        evidence = passage_sentences(item.context)
        alignment = align(arguments, answer, encoder, question=item.query, evidence=evidence, sentences=sentences)
        return _unplaced(alignment, (None,) * len(arguments))
    return None


def compare_sides(
    sides: Sequence[tuple[str, Sequence[str]]],
    answer: str,
    encoder: Encodes,
    *,
    question: str,
    sentences: Sequence[Sentence] | None = None,
) -> Comparison:
    """Aligns the answer with the arguments of named sides.

    An argument that is given twice is compared once, for the side that names it first.
    """
    named = tuple((name, " ".join(argument.split())) for name, arguments in sides for argument in arguments)
    cut = tuple(split_sentences(answer) if sentences is None else sentences)
    return _compare_sides(named=named, answer=answer, encoder=encoder, question=question, sentences=cut)


@memoised(KEPT, small=is_small)
def _compare_sides(
    *,
    named: tuple[tuple[str, str], ...],
    answer: str,
    encoder: Encodes,
    question: str,
    sentences: tuple[Sentence, ...],
) -> Comparison:
    """With each argument its side's name beside it."""
    held: dict[str, list[str]] = {}
    for name, argument in named:
        held.setdefault(argument, []).append(name)
    alignment = align(tuple(held), answer, encoder, question=question, sentences=sentences)
    shared = frozenset(a for a, names in enumerate(held.values()) if len(set(names)) > 1)
    return frozen(replace(_placed(alignment, tuple(names[0] for names in held.values())), shared=shared))


def _unplaced(alignment: Alignment, groups: tuple[str | None, ...]) -> Comparison:
    nowhere = (None,) * len(alignment.sentences)
    sides = np.full((len(groups), len(nowhere)), 0.5)
    return Comparison(alignment, groups, sides, nowhere, (None,) * len(alignment.units))


def _placed(alignment: Alignment, groups: tuple[str, ...]) -> Comparison:
    """With the side of each sentence: marginals of a chain that tends to stay on a side (forward-backward)."""
    names = list(dict.fromkeys(groups))
    n = len(alignment.sentences)
    if len(names) < 2 or not n:
        return _unplaced(alignment, groups)
    openings = [opening_of(sentence.text, names) for sentence in alignment.sentences]
    seen = np.array([side_evidence(alignment, s, groups, names) for s in range(n)])
    ahead, behind = seen.copy(), np.zeros_like(seen)
    for s in range(1, n):
        ahead[s] += np.logaddexp.reduce(ahead[s - 1][:, None] + _step(openings[s], len(names)), axis=0)
    for s in range(n - 2, -1, -1):
        step = _step(openings[s + 1], len(names))
        behind[s] = np.logaddexp.reduce(step + (seen[s + 1] + behind[s + 1])[None], axis=1)
    total = ahead + behind
    shares = np.exp(total - np.logaddexp.reduce(total, axis=1, keepdims=True))
    sides = shares[:, [names.index(g) for g in groups]].T
    stands = tuple(names[k] for k in shares.argmax(axis=1))
    told = told_by_unit(alignment, openings, groups, names, turns=_turns)
    return Comparison(alignment, groups, sides, stands, told)


def _step(opening: str, n_groups: int) -> NDArray[np.float64]:
    """Log probabilities of going from one side to another before a sentence with this opening."""
    keeps = 1.0 / n_groups if _turns(opening) else KEEPS
    other = (1.0 - keeps) / (n_groups - 1)
    return np.log(np.where(np.eye(n_groups, dtype=bool), keeps, other))


def _turns(opening: str) -> bool:
    return any(c.isalpha() for c in opening) and _GOES_ON.match(opening) is None


def place_of(comparison: Comparison, argument: int, *, without: frozenset[int] = frozenset()) -> Place:
    """Where argument `argument` would stand: after the last sentence that says something of its perspective.

    Sentences in `without` (those that are to go) are no places. A passage's sentence stands after the sentence of the
    answer that is closest to it in meaning.
    """
    alignment, group = comparison.alignment, comparison.groups[argument]
    check_cancelled()
    usable = [s for s in comparison.with_words if s not in without] if without else comparison.with_words
    if not usable:
        return Place(max(len(alignment.sentences) - 1, 0), True)
    if group is None:
        closest = [float(alignment.features.cosine[argument, list(alignment.atoms[s])].max()) for s in usable]
        return Place(usable[int(np.argmax(closest))], False)
    own = [s for s in usable if comparison.stands[s] in (None, group) and comparison.says_group(s, group) >= SURE]
    if own:
        return Place(own[-1], False)
    beside = [s for s in usable if comparison.stands[s] == group and alignment.p_claimless_sentences[s] < SURE]
    if beside:
        return Place(beside[-1], False)
    claiming = [s for s in usable if alignment.p_claimless_sentences[s] < SURE]
    return Place(claiming[-1] if claiming else usable[-1], True)


def passage_sentences(passages: Sequence[str]) -> tuple[str, ...]:
    """All sentences of the passages, in order, blank ones and copies left out."""
    return tuple(dict.fromkeys(s.text for passage in passages for s in split_sentences(passage) if s.text))


def bearing_sentences(passages: Sequence[str], question: str, encoder: Encodes) -> tuple[str, ...]:
    """The passages' sentences that bear on the question, in order: what an answer is expected to cover.

    A sentence bears on it if its cosine with the question reaches the share `bearing` of the highest one there is; at
    least one does where there are any. This finds the topic, not the answer: on questions with passages it tells little
    of what a good answer would have used.
    """
    sentences = passage_sentences(passages)
    if not sentences:
        return ()
    similarity = encoder.encode(sentences) @ encoder.encode([question])[0]
    threshold = float(similarity.max()) * load_constants().bearing
    return tuple(s for s, value in zip(sentences, similarity, strict=True) if value >= min(threshold, similarity.max()))
