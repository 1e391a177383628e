"""Nearest sentence: which sentences of given texts share most words with a sentence; by an inverted index, bounded."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache

from eirene.text.polarity import likeness
from eirene.text.polarity.marks import read_marks
from eirene.text.sentences import split_sentences

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


def nearest_index(texts: tuple[str, ...]) -> Nearest:
    """The index of the texts; those of usual length are kept."""
    return _known(texts) if sum(map(len, texts)) <= 100_000 else Nearest(texts)


@lru_cache(maxsize=16)
def _known(texts: tuple[str, ...]) -> Nearest:
    return Nearest(texts)
