"""An answer as the refiner sees it: sentences, the clauses in them, and the lines they stand on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from eirene.clauses import Unit, units_of
from eirene.refiners.layout import Layout
from eirene.sentences import Sentence, split_sentences


class AnswerText:
    """An answer with its sentences, units and lines."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.sentences = split_sentences(answer)
        self.layout = Layout(answer)
        self._starts = [s.start for s in self.sentences]
        self.atoms: list[list[Unit]] = [[] for _ in self.sentences]
        for unit in units_of(answer, self.sentences):
            if unit.is_clause or not self.atoms[unit.sentence]:
                self.atoms[unit.sentence].append(unit)
        for atoms in self.atoms:
            if len(atoms) > 1:
                del atoms[0]  # the whole sentence, which its clauses stand for

    def groups(self) -> Iterator[list[int]]:
        """Runs of sentences on one line, by index."""
        group: list[int] = []
        for i, sentence in enumerate(self.sentences):
            between = self.answer[self.sentences[i - 1].text_end : sentence.text_start] if i else ""
            if group and len(between.splitlines()) + between.endswith(("\n", "\r")) > 1:
                yield group
                group = []
            group.append(i)
        if group:
            yield group

    def sentence_of(self, offset: int) -> int:
        """The sentence that ends at an offset, else the one that holds it."""
        at = max(bisect_right(self._starts, offset) - 1, 0)
        ends_here = at > 0 and self.sentences[at].start == offset == self.sentences[at - 1].text_end
        return at - 1 if ends_here else at

    def spans_by_sentence(self, spans: Sequence[tuple[int, int]]) -> dict[int, list[tuple[int, int]]]:
        """The spans that touch each sentence's words, by the sentence's index, in order."""
        found: dict[int, list[tuple[int, int]]] = {}
        for start, end in spans:
            at = max(bisect_right(self._starts, start) - 1, 0)
            while at < len(self.sentences) and self.sentences[at].text_start < end:
                if start < self.sentences[at].text_end:
                    found.setdefault(at, []).append((start, end))
                at += 1
        return dict(sorted(found.items()))

    def lead(self, sentence: Sentence) -> int:
        """How many characters at a sentence's beginning are a list marker."""
        item = self.layout.item_at(sentence.text_start)
        starts_here = item and self.layout.line_at(sentence.text_start) == item.first
        if not item or not starts_here:
            return 0
        return max(self.layout.starts[item.first] + len(item.lead) - sentence.text_start, 0)
