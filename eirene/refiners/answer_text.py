"""An answer as the refiner sees it: sentences, the clauses in them, and the lines they stand on."""

from __future__ import annotations

from collections.abc import Iterator

from eirene.clauses import Unit, units_of
from eirene.refiners.layout import Layout
from eirene.sentences import Sentence, split_sentences


class AnswerText:
    """An answer with its sentences, units and lines."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.sentences = split_sentences(answer)
        self.layout = Layout(answer)
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
        for i, s in enumerate(self.sentences):
            if offset <= s.text_end or offset < s.end:
                return i
        return len(self.sentences) - 1

    def lead(self, sentence: Sentence) -> int:
        """How many characters at a sentence's beginning are a list marker."""
        item = self.layout.item_at(sentence.text_start)
        starts_here = item and self.layout.line_at(sentence.text_start) == item.first
        if not item or not starts_here:
            return 0
        return max(self.layout.starts[item.first] + len(item.lead) - sentence.text_start, 0)
