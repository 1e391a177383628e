"""Makes the edits that add and drop statements, so that what is left reads well and keeps its layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from eirene.clauses import Unit, units_of
from eirene.openings import opening_length
from eirene.refiners.edits import Edit, apply_edits, compatible
from eirene.refiners.layout import Layout, ListItem, renumbered
from eirene.refiners.wording import Letters, sets_side
from eirene.sentences import Sentence, split_sentences


@dataclass(frozen=True, slots=True)
class Addition:
    """Something to be said after the sentence that ends at (or holds) offset `after`.

    `group` names the perspective that it belongs to, None for plain facts; `opens` says that the answer has nothing of
    that perspective yet.
    """

    text: str
    after: int
    group: str | None = None
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to be done to an answer: `removals` are spans of it, `moves` spans and what is said elsewhere instead."""

    additions: tuple[Addition, ...] = ()
    removals: tuple[tuple[int, int], ...] = ()
    moves: tuple[tuple[tuple[int, int], Addition], ...] = ()
    replacements: tuple[Edit, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.additions or self.removals or self.moves or self.replacements)


Phrase = Callable[[Addition, str, bool], str]
"""Words an addition as a sentence; given the sentence before it, and whether it becomes an item of a list."""


def rewrite(answer: str, changes: Changes, *, phrase: Phrase, claims: Callable[[int], bool], letters: Letters) -> str:
    """The answer with the changes made. `claims(i)` tells whether sentence i (from 0) says something about the matter.

    A span to be removed goes with its sentence where it is all that the sentence says, else with its clause, else as it
    stands. Where nothing would be left, nothing is removed.
    """
    text = _Text(answer)
    additions = changes.additions + tuple(addition for _, addition in changes.moves)
    removed = _Removed.of(text, changes.removals + tuple(span for span, _ in changes.moves))
    if removed.everything(text) and not additions:
        removed = _Removed()
    edits = [edit for group in text.groups() for edit in _group_edits(text, group, removed, additions, phrase)]
    edits += removed.clauses + [Edit(e.start, e.end, e.new) for e in changes.replacements]
    edits += _carried_openings(text, removed, claims, letters)
    edits = compatible(edits)
    return apply_edits(answer, compatible([*edits, *_renumbering(text, removed, edits)]))


class _Text:
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


@dataclass(slots=True)
class _Removed:
    sentences: set[int] = field(default_factory=set)
    clauses: list[Edit] = field(default_factory=list)

    @classmethod
    def of(cls, text: _Text, spans: Sequence[tuple[int, int]]) -> _Removed:
        result = cls()
        for i, sentence in enumerate(text.sentences):
            here = [(a, b) for a, b in spans if a < sentence.text_end and sentence.text_start < b]
            if not here:
                continue
            atoms = text.atoms[i]
            dropped = [u for u in atoms if _covered(text.answer, u, here)]
            if len(dropped) == len(atoms):
                result.sentences.add(i)
            elif dropped:
                result.clauses += _clause_edits(text.answer, atoms, dropped)
            else:
                result.clauses += [_literal(text.answer, a, b) for a, b in here]
        return result

    def everything(self, text: _Text) -> bool:
        return all(i in self.sentences or not s.text for i, s in enumerate(text.sentences))


def _covered(answer: str, unit: Unit, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether the spans hold at least half of what a unit says, its opening left out."""
    start, end = unit.start + opening_length(answer[unit.start : unit.end]), unit.end
    inside = sum(max(0, min(b, end) - max(a, start)) for a, b in spans)
    return 2 * inside >= max(end - start, 1)


def _clause_edits(answer: str, atoms: Sequence[Unit], dropped: Sequence[Unit]) -> list[Edit]:
    """A clause goes with the joint before it, the first ones with the joint after them; the opening stays."""
    kept = [u for u in atoms if u not in dropped]
    edits = []
    for before, unit in pairwise(atoms):
        if unit in dropped and unit.start > kept[0].start:
            end = unit.start + len(answer[unit.start : unit.end].rstrip(" \t.!?…\"'”’)]*_"))
            edits.append(Edit(before.end, end))
    if atoms[0] in dropped:
        opening = opening_length(answer[atoms[0].start : atoms[0].end])
        start = atoms[0].start + opening
        end = kept[0].start + opening_length(answer[kept[0].start : kept[0].end])
        capital = answer[end : end + 1].upper()
        needed = answer[start : start + 1].isupper() and not _goes_on(answer, start) and len(capital) == 1
        edits.append(Edit(start, end + 1, capital) if needed else Edit(start, end))
    return edits


def _goes_on(answer: str, offset: int) -> bool:
    """Whether an offset stands inside a sentence, after "that" or a comma, where no capital letter is needed."""
    before = answer[:offset].rstrip()
    return before.endswith((",", " that", ":", ";"))


def _literal(answer: str, start: int, end: int) -> Edit:
    """A span that is less than a clause, with one of the two spaces around it."""
    if answer[end : end + 1] == " " and (start == 0 or answer[start - 1].isspace()):
        return Edit(start, end + 1)
    if start and answer[start - 1] == " " and (answer[end : end + 1] in (".", ",", ";", ":", "!", "?", "")):
        return Edit(start - 1, end)
    return Edit(start, end)


def _group_edits(
    text: _Text, group: list[int], removed: _Removed, additions: Sequence[Addition], phrase: Phrase
) -> Iterator[Edit]:
    """The edits on one line of sentences: what is dropped, and what is added after which sentence."""
    wanted = [(text.sentence_of(a.after), a) for a in additions]
    wanted = [(i, a) for i, a in wanted if group[0] <= i <= group[-1]]
    kept = [i for i in group if i not in removed.sentences]
    if kept:
        yield from _dropped_beside_kept(text, group, kept)
        yield from _added_beside_kept(text, kept, wanted, phrase)
        return
    first, last = text.sentences[group[0]], text.sentences[group[-1]]
    if wanted:
        before = ""
        said = [before := phrase(a, before, bool(text.lead(first))) for _, a in wanted]
        yield Edit(first.text_start + text.lead(first), last.text_end, " ".join(said))
    else:
        yield _dropped_lines(text.layout, first.text_start, last.text_end)


def _dropped_beside_kept(text: _Text, group: list[int], kept: list[int]) -> Iterator[Edit]:
    for i in group:
        if i in kept:
            continue
        sentence = text.sentences[i]
        if i > kept[0]:
            yield Edit(text.sentences[i - 1].text_end, sentence.text_end)
        else:
            lead = text.lead(sentence) if i == group[0] else 0
            yield Edit(sentence.text_start + lead, text.sentences[i + 1].text_start)


def _added_beside_kept(
    text: _Text, kept: list[int], wanted: list[tuple[int, Addition]], phrase: Phrase
) -> Iterator[Edit]:
    said: dict[int, str] = {}
    items = 0
    for i, addition in wanted:
        at = max((k for k in kept if k <= i), default=None)
        if at is None:  # all before it are gone: it opens the line
            start = text.sentences[kept[0]].text_start
            said[-1] = phrase(addition, said.get(-1, ""), False)
            yield Edit(start, start, said[-1] + " ")
            continue
        anchor = text.sentences[at]
        item = text.layout.item_at(anchor.text_start)
        said[at] = phrase(addition, said.get(at, anchor.text), item is not None)
        if item:
            items += 1
            yield _new_item(text.layout, item, said[at], items)
        elif text.layout.is_block(anchor.text_start):
            line = text.layout.line_at(max(anchor.text_end - 1, 0))
            end = text.layout.content_end(line)
            yield Edit(end, end, 2 * text.layout.newline(line) + said[at])
        else:
            yield Edit(anchor.text_end, anchor.text_end, _glue(anchor.text, said[at]) + said[at])


def _new_item(layout: Layout, item: ListItem, said: str, nth: int) -> Edit:
    end = layout.content_end(item.last)
    lead = item.indent + renumbered(item.marker, nth) + item.gap
    return Edit(end, end, layout.newline(item.last) + lead + said)


def _glue(before: str, said: str) -> str:
    """What joins a new sentence to the one before: a full stop if that has none, a space where the script has one."""
    last = before.rstrip("\"'”’)]»*_`")[-1:]
    if last and last in "。！？" and said[:1] > "\u2e7f":
        return ""
    return ". " if before[-1:].isalnum() or (last.isalnum() and before[-1:] in "\"'”’)]»") else " "


def _dropped_lines(layout: Layout, start: int, end: int) -> Edit:
    """Whole lines, with one of two blank lines around them, so that paragraphs stay one blank line apart."""
    first, last = layout.line_at(start), layout.line_at(max(end - 1, start))
    a, b = layout.starts[first], layout.line_end(last)
    if layout.is_blank(first - 1) and layout.is_blank(last + 1):
        while last + 1 < len(layout.lines) and layout.is_blank(last + 1):
            last += 1
        if last + 1 < len(layout.lines) or first == 0:
            return Edit(a, layout.line_end(last))
        while first > 0 and layout.is_blank(first - 1):
            first -= 1
    if last + 1 >= len(layout.lines) and first > 0:  # at the end the line break before goes, the last one stays
        a, b = layout.content_end(first - 1), layout.content_end(layout.line_at(max(end - 1, start)))
    return Edit(a, b)


def _carried_openings(
    text: _Text, removed: _Removed, claims: Callable[[int], bool], letters: Letters
) -> Iterator[Edit]:
    """Where the sentence that opened a side is dropped, the side's next sentence takes over its opening.

    Otherwise "They also say that ..." would stand after the other side and turn its meaning round.
    """
    for i in sorted(removed.sentences):
        opening = _opening(text, i)
        if not sets_side(opening):
            continue
        for j in range(i + 1, len(text.sentences)):
            if j in removed.sentences:
                if sets_side(_opening(text, j)):
                    break
                continue
            if not claims(j):
                continue
            own = _opening(text, j)
            if not sets_side(own):
                yield from _reopened(text, j, opening, own, letters)
            break


def _reopened(text: _Text, index: int, opening: str, own: str, letters: Letters) -> Iterator[Edit]:
    sentence = text.sentences[index]
    start = sentence.text_start
    rest = text.answer[start + len(own) : sentence.text_end]
    lowered = rest if own else letters.lowered(rest)
    if lowered is None or text.lead(sentence) or text.layout.is_block(start):
        return
    changed = start + len(own) + (0 if lowered == rest else 1)
    yield Edit(start, changed, opening + lowered[: changed - start - len(own)])


def _opening(text: _Text, index: int) -> str:
    sentence = text.sentences[index]
    return sentence.text[: opening_length(sentence.text)]


def _renumbering(text: _Text, removed: _Removed, edits: Sequence[Edit]) -> Iterator[Edit]:
    """Numbers of list items that follow an added or a dropped one, moved on so that the list still counts."""
    shifts: dict[int, tuple[int, str]] = {}
    for edit in edits:
        starts_line = text.layout.starts[text.layout.line_at(edit.start)] == edit.start
        by = -1 if starts_line and not edit.new else 1 if edit.new[:1] in ("\r", "\n") else 0
        item = text.layout.item_at(edit.start) if by else None
        if item is None or not any(c.isalnum() for c in item.marker):
            continue
        for offset, marker in text.layout.following(item):
            shifts[offset] = (shifts.get(offset, (0, marker))[0] + by, marker)
    for offset, (by, marker) in shifts.items():
        if by:
            yield Edit(offset, offset + len(marker), renumbered(marker, by))
