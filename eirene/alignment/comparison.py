"""What an item's answer is compared with, and where in the answer something that is missing would stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.core import Alignment, align
from eirene.alignment.given import bearing_sentences, passage_sentences
from eirene.alignment.placement import _KEEPS, SURE, _cue, _evidence, _opening, standings
from eirene.records import Item
from eirene.sentences import Sentence

if TYPE_CHECKING:
    from eirene.encoder.runtime import Encodes


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """An answer held against what its item gives.

    `groups` [A] names each argument's perspective, None for a passage's sentence; `stands` [S] is the perspective that
    each sentence of the answer stands in, None where there are no two.
    """

    alignment: Alignment
    groups: tuple[str | None, ...]
    stands: tuple[str | None, ...]

    def says_group(self, sentence: int, group: str | None) -> float:
        """The highest probability that a part of the sentence says an argument of the group."""
        rows = [a for a, g in enumerate(self.groups) if g == group]
        units = list(self.alignment.atoms[sentence])
        return float(self.alignment.p_says[np.ix_(rows, units)].max(initial=0.0))

    def side_probabilities(self) -> NDArray[np.float64]:
        """The probability that each sentence stands in each argument's perspective, [A, S]; 0.5 where there are no two.

        `stands` is the likeliest sequence of this chain; these are its marginals (forward-backward).
        """
        names = list(dict.fromkeys(g or "" for g in self.groups))
        n_sentences = len(self.alignment.sentences)
        if len(names) < 2 or not n_sentences:
            return np.full((len(self.groups), n_sentences), 0.5)
        groups = [g or "" for g in self.groups]
        seen = np.array([_evidence(self.alignment, s, groups, names) for s in range(n_sentences)])
        step = np.log(np.where(np.eye(len(names), dtype=bool), _KEEPS, (1.0 - _KEEPS) / (len(names) - 1)))
        ahead, behind = seen.copy(), np.zeros_like(seen)
        for s in range(1, n_sentences):
            ahead[s] += np.logaddexp.reduce(ahead[s - 1][:, None] + step, axis=0)
        for s in range(n_sentences - 2, -1, -1):
            behind[s] = np.logaddexp.reduce(step + (seen[s + 1] + behind[s + 1])[None], axis=1)
        total = ahead + behind
        shares = np.exp(total - np.logaddexp.reduce(total, axis=1, keepdims=True))
        return np.asarray(shares[:, [names.index(g) for g in groups]].T, np.float64)

    def told_side(self, sentence: int) -> str | None:
        """The perspective that the last opening up to a sentence names in words ("Opponents argue that"), if any."""
        names = list(dict.fromkeys(g or "" for g in self.groups))
        for s in range(sentence, -1, -1):
            cue = _cue(_opening(self.alignment, s), names)
            if cue is not None:
                return names[cue]
        return None


@dataclass(frozen=True, slots=True)
class Place:
    """After which sentence (from 0) an argument would stand; `opens`: the answer has nothing of its perspective yet."""

    sentence: int
    opens: bool


def compare(
    item: Item, answer: str, encoder: Encodes, *, sentences: Sequence[Sentence] | None = None
) -> Comparison | None:
    """Aligns the answer with the item's arguments, else with its passages; None where the item gives neither.

    An argument that is given twice is compared once, for the perspective that names it first.
    """
    if item.perspectives:
        held: dict[str, str] = {}
        for perspective in item.perspectives:
            for argument in perspective.arguments:
                held.setdefault(" ".join(argument.split()), perspective.name)
        alignment = align(tuple(held), answer, encoder, question=item.question, sentences=sentences)
        names = tuple(held.values())
        return Comparison(alignment, names, standings(alignment, names))
    if item.context:
        arguments = tuple(dict.fromkeys(bearing_sentences(item.context, item.question, encoder)))
        evidence = passage_sentences(item.context)
        alignment = align(arguments, answer, encoder, question=item.question, evidence=evidence, sentences=sentences)
        return Comparison(alignment, (None,) * len(arguments), (None,) * len(alignment.sentences))
    return None


def place_of(comparison: Comparison, argument: int, *, without: frozenset[int] = frozenset()) -> Place:
    """Where argument `argument` would stand: after the last sentence that says something of its perspective.

    Sentences in `without` (those that are to go) are no places. A passage's sentence stands after the sentence of the
    answer that is closest to it in meaning.
    """
    alignment, group = comparison.alignment, comparison.groups[argument]
    usable = [s for s, cut in enumerate(alignment.sentences) if cut.text and s not in without]
    if not usable:
        return Place(max(len(alignment.sentences) - 1, 0), True)
    if group is None:
        closest = [float(alignment.cosine[argument, list(alignment.atoms[s])].max()) for s in usable]
        return Place(usable[int(np.argmax(closest))], False)
    own = [s for s in usable if comparison.stands[s] in (None, group) and comparison.says_group(s, group) >= SURE]
    if own:
        return Place(own[-1], False)
    beside = [s for s in usable if comparison.stands[s] == group and alignment.p_claimless_sentences[s] < SURE]
    return Place(beside[-1], False) if beside else Place(_last_claim(comparison, usable), True)


def _last_claim(comparison: Comparison, usable: Sequence[int]) -> int:
    claiming = [s for s in usable if comparison.alignment.p_claimless_sentences[s] < SURE]
    return claiming[-1] if claiming else usable[-1]
