"""Layout of an answer: sentences, their clauses, lines and list items, so that Markdown stays Markdown when edited."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from eirene.text.clauses import Unit, units_of
from eirene.text.form import form_spans
from eirene.text.matching import Span
from eirene.text.sentences import Sentence, split_sentences

# Quote marks may stand before the marker; a number or a letter needs its point or bracket.
_ITEM = re.compile(r"((?:[ \t]*>)*[ \t]*)([-*+•‣▪–—]|\(?(?:\d{1,3}|[a-z])[.)])([ \t]+)(?=\S)")
_BLOCK = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\|)")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class ListItem:
    """One item of a list: its first and last line (from 0), and `indent`, `marker`, `gap` as its first line begins."""

    first: int
    last: int
    indent: str
    marker: str
    gap: str

    @property
    def lead(self) -> str:
        """Everything before the item's words."""
        return self.indent + self.marker + self.gap


class Layout:
    """The lines of a text, found by offset."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True) or [""]
        self.starts = [0]
        for line in self.lines[:-1]:
            self.starts.append(self.starts[-1] + len(line))
        self._markers = list(self._marked_lines())
        self._ends: dict[int, int] = {}

    @cached_property
    def _form(self) -> tuple[Span, ...]:
        """The structured stretches in order, read once: a long text is asked for each of its sentences."""
        return form_spans(self.text)

    def line_at(self, offset: int) -> int:
        """The number of the line (from 0) that holds an offset."""
        return max(bisect_right(self.starts, offset) - 1, 0)

    def content_end(self, line: int) -> int:
        """Offset after the last character of a line that is no white space (the line's start if there is none)."""
        return self.starts[line] + len(self.lines[line].rstrip())

    def line_end(self, line: int) -> int:
        """Offset after a line, its line break included."""
        return self.starts[line] + len(self.lines[line])

    def is_blank(self, line: int) -> bool:
        """Whether a line holds nothing, or does not exist."""
        return not (0 <= line < len(self.lines) and self.lines[line].strip())

    def newline(self, line: int) -> str:
        """The line break in use around a line."""
        for near in (line, line - 1, 0):
            broken = self.lines[near]
            ending = broken[len(broken.rstrip("\r\n")) :]
            if ending:
                return "\r\n" if ending.startswith("\r\n") else ending[0]
        return "\n"

    def is_block(self, offset: int) -> bool:
        """Whether a heading, a table row or structure stands at an offset: nothing can be added on the same line."""
        at = bisect_right(self._form, offset, key=itemgetter(0)) - 1
        return (at >= 0 and offset < self._form[at][1]) or _BLOCK.match(self.lines[self.line_at(offset)]) is not None

    def item_at(self, offset: int) -> ListItem | None:
        """The list item that holds an offset, its nested items included in its length."""
        line = self.line_at(offset)
        first = self._markers[line]
        found = None if first is None else _ITEM.match(self.lines[first])
        if first is None or found is None or (first != line and _width(self.lines[line]) <= len(found.group(1))):
            return None
        indent, marker, gap = found.groups()
        return ListItem(first, self._last_line(first, len(indent)), indent, marker, gap)

    def item_after(self, item: ListItem) -> ListItem | None:
        """The next item of the same list, whose number goes on by one; None at the end of the list."""
        line = item.last + 1
        if self.is_blank(line) and not self.is_blank(line + 1):
            line += 1
        after = self.item_at(self.starts[line]) if not self.is_blank(line) else None
        if after is None or after.first != line or after.indent != item.indent:
            return None
        return after if after.marker == renumbered(item.marker, 1) else None

    def _marked_lines(self) -> Iterator[int | None]:
        """For each line the nearest with a list marker, itself or above it with no blank one between."""
        nearest: int | None = None
        for n, line in enumerate(self.lines):
            nearest = None if not line.strip() else n if _ITEM.match(line) else nearest
            yield nearest

    def _last_line(self, first: int, indent: int) -> int:
        if first not in self._ends:
            last = first
            while not self.is_blank(last + 1) and _width(self.lines[last + 1]) > indent:
                last += 1
            self._ends[first] = last
        return self._ends[first]


def renumbered(marker: str, by: int) -> str:
    """The marker with its number moved on; letters are moved within the alphabet, bullets stay."""
    if _NUMBER.search(marker):
        return _NUMBER.sub(lambda m: str(max(int(m.group()) + by, 0)), marker)
    return re.sub(r"[a-z]", lambda m: chr(min(max(ord(m.group()) + by, ord("a")), ord("z"))), marker)


def _width(line: str) -> int:
    return len(line) - len(line.lstrip(" \t>"))


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
