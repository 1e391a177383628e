"""Makes the edits that add and drop statements, so that sentences read well and the layout stays."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import accumulate, pairwise

from eirene.refiners.embedded.layout import AnswerText, Layout, ListItem, renumbered
from eirene.refiners.embedded.plan import Addition, Changes
from eirene.text.cancellation import check_cancelled
from eirene.text.clauses import Unit, opening_length
from eirene.text.edits.words import Edit, apply_edits, compatible
from eirene.text.english import Decapitalizer

Phrase = Callable[[Addition, str, bool], str]
"""Words an addition as a sentence; given the sentence before it, and whether it becomes an item of a list."""
_SETS_SIDE = re.compile(
    r"""\b(?:one|other|flip|opposite)\s+(?:hand|side)\b | \bcontrary\b | \bby\s+contrast\b | \bin\s+contrast\b
      | \b(?:those|people|many|some)\s+(?:in\s+favou?r|for|against|who|opposed)\b
      | \b(?:case|argument|reason)s?\s+(?:for|against)\b
      | \b(?:supporter|proponent|advocate|opponent|critic|defender|sceptic|skeptic)s?\b(?!\s+(?:also|add|further))
      | ^\W*(?:however|conversely)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_NEAR = 200
"""Characters before an offset that tell whether a sentence goes on there."""


def rewrite(
    answer: str, changes: Changes, *, phrase: Phrase, claims: Callable[[int], bool], letters: Decapitalizer
) -> str:
    """The answer with the changes made. `claims(i)` tells whether sentence i (from 0) says something about the matter.

    A span to be removed goes with its sentence where it is all that the sentence says, else with its clause, else as it
    stands. Where none of the answer's own statements would be left, nothing is removed: a list of additions is no
    rewrite of it, even where there is a sentence beside them that says nothing about the matter.
    """
    text = AnswerText(answer)
    additions = changes.additions + tuple(addition for _, addition in changes.moves)
    removed = Removed.of(text, changes.removals + tuple(span for span, _ in changes.moves))
    if not changes.moves and removed.every_claim(text, claims):
        removed = Removed()
    wanted: dict[int, list[tuple[int, Addition]]] = {}  # by the first sentence of the line
    groups = list(text.groups())
    firsts = [group[0] for group in groups]
    for addition in additions:
        i = text.sentence_of(addition.after)
        wanted.setdefault(firsts[bisect_right(firsts, i) - 1] if firsts else 0, []).append((i, addition))
    edits: list[Edit] = []
    for group in groups:
        check_cancelled()
        edits += _group_edits(text, group, removed, wanted.get(group[0], ()), phrase)
    edits += removed.clauses + [Edit(e.start, e.end, e.new) for e in changes.replacements]
    edits += _carried_openings(text, removed, claims, letters)
    edits = compatible(edits)
    return apply_edits(answer, compatible([*edits, *_renumbering(text, removed, edits)]))


def _group_edits(
    text: AnswerText, group: list[int], removed: Removed, wanted: Sequence[tuple[int, Addition]], phrase: Phrase
) -> Iterator[Edit]:
    """The edits on one line of sentences: what is dropped, and what is added after which sentence."""
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
        yield dropped_lines(text.layout, first.text_start, last.text_end)


def _dropped_beside_kept(text: AnswerText, group: list[int], kept: list[int]) -> Iterator[Edit]:
    stays = set(kept)
    for i in group:
        if i in stays:
            continue
        sentence = text.sentences[i]
        if i > kept[0]:
            yield Edit(text.sentences[i - 1].text_end, sentence.text_end)
        else:
            lead = text.lead(sentence) if i == group[0] else 0
            yield Edit(sentence.text_start + lead, text.sentences[i + 1].text_start)


def _added_beside_kept(
    text: AnswerText, kept: list[int], wanted: Sequence[tuple[int, Addition]], phrase: Phrase
) -> Iterator[Edit]:
    said: dict[int, str] = {}
    items = 0
    for i, addition in wanted:
        n_before = bisect_right(kept, i)
        if not n_before:  # all before it are gone: it opens the line
            start = text.sentences[kept[0]].text_start
            said[-1] = phrase(addition, said.get(-1, ""), False)
            yield Edit(start, start, said[-1] + " ")
            continue
        at = kept[n_before - 1]
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


def _carried_openings(
    text: AnswerText, removed: Removed, claims: Callable[[int], bool], letters: Decapitalizer
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


def _reopened(text: AnswerText, index: int, opening: str, own: str, letters: Decapitalizer) -> Iterator[Edit]:
    sentence = text.sentences[index]
    start = sentence.text_start
    rest = text.answer[start + len(own) : sentence.text_end]
    lowered = rest if own else letters.lowered(rest)
    if lowered is None or text.lead(sentence) or text.layout.is_block(start):
        return
    changed = start + len(own) + (0 if lowered == rest else 1)
    yield Edit(start, changed, opening + lowered[: changed - start - len(own)])


def sets_side(opening: str) -> bool:
    """Whether an opening ("Opponents argue that") tells the reader which side is speaking from here on."""
    return _SETS_SIDE.search(opening) is not None


def _opening(text: AnswerText, index: int) -> str:
    sentence = text.sentences[index]
    return sentence.text[: opening_length(sentence.text)]


def _renumbering(text: AnswerText, removed: Removed, edits: Sequence[Edit]) -> Iterator[Edit]:
    """Numbers of list items that follow an added or a dropped one, moved on so that the list still counts."""
    moves: dict[int, int] = {}  # first line of an item -> by how much the numbers after it move
    for edit in edits:
        starts_line = text.layout.starts[text.layout.line_at(edit.start)] == edit.start
        by = -1 if starts_line and not edit.new else 1 if edit.new[:1] in ("\r", "\n") else 0
        item = text.layout.item_at(edit.start) if by else None
        if item is not None and any(c.isalnum() for c in item.marker):
            moves[item.first] = moves.get(item.first, 0) + by
    yield from _moved_numbers(text.layout, moves)


def _moved_numbers(layout: Layout, moves: dict[int, int]) -> Iterator[Edit]:
    """Goes down the lines once: each item hands on to the next of its list what it was moved by itself, and more."""
    moved: dict[int, int] = {}
    waiting = sorted(moves)  # a sorted list is a heap
    while waiting:
        first = heappop(waiting)
        item = layout.item_at(layout.starts[first])
        after = None if item is None else layout.item_after(item)
        if after is None:
            continue
        if after.first not in moves and after.first not in moved:
            heappush(waiting, after.first)
        moved[after.first] = moves.get(first, 0) + moved.get(first, 0)
        if moved[after.first]:
            start = layout.starts[after.first] + len(after.indent)
            yield Edit(start, start + len(after.marker), renumbered(after.marker, moved[after.first]))


@dataclass(slots=True)
class Removed:
    """Whole sentences that go (by index), and edits for the clauses and words that go from others."""

    sentences: set[int] = field(default_factory=set)
    clauses: list[Edit] = field(default_factory=list)

    @classmethod
    def of(cls, text: AnswerText, spans: Sequence[tuple[int, int]]) -> Removed:
        result = cls()
        for i, here in text.spans_by_sentence(spans).items():
            atoms = text.atoms[i]
            covered = _Covered(here)
            dropped = [u for u in atoms if covered.holds(text.answer, u)]
            if len(dropped) == len(atoms):
                result.sentences.add(i)
            elif dropped:
                result.clauses += _clause_edits(text.answer, atoms, dropped)
            else:
                result.clauses += [_literal(text.answer, a, b) for a, b in here]
        return result

    def every_claim(self, text: AnswerText, claims: Callable[[int], bool]) -> bool:
        """Whether no sentence that `claims` something stays, whole or in part; where none does, whether none stays."""
        stays = [i for i, s in enumerate(text.sentences) if s.text and i not in self.sentences]
        return not stays or (bool(self.sentences) and not any(map(claims, stays)) and any(map(claims, self.sentences)))


class _Covered:
    """How much of a text spans hold; what two of them hold counts twice."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._starts, self._ends = _Below(start for start, _ in spans), _Below(end for _, end in spans)

    def holds(self, answer: str, unit: Unit) -> bool:
        """Whether the spans hold at least half of what a unit says, its opening left out."""
        start, end = unit.start + opening_length(answer[unit.start : unit.end]), unit.end
        return 2 * (self._before(end) - self._before(start)) >= max(end - start, 1)

    def _before(self, offset: int) -> int:
        return self._starts.distances(offset) - self._ends.distances(offset)


class _Below:
    """How far an offset is past those that lie before it, in all."""

    def __init__(self, offsets: Iterable[int]) -> None:
        self._sorted = sorted(offsets)
        self._sums = [0, *accumulate(self._sorted)]

    def distances(self, offset: int) -> int:
        n = bisect_left(self._sorted, offset)
        return n * offset - self._sums[n]


def _clause_edits(answer: str, atoms: Sequence[Unit], dropped: Sequence[Unit]) -> list[Edit]:
    """A clause goes with the joint before it, the first ones with the joint after them; the opening stays."""
    gone = frozenset(dropped)
    kept = [u for u in atoms if u not in gone]
    edits = []
    for before, unit in pairwise(atoms):
        if unit in gone and unit.start > kept[0].start:
            end = unit.start + len(answer[unit.start : unit.end].rstrip(" \t.!?…\"'”’)]*_"))
            edits.append(Edit(before.end, end))
    if atoms[0] in gone:
        opening = opening_length(answer[atoms[0].start : atoms[0].end])
        start = atoms[0].start + opening
        end = kept[0].start + opening_length(answer[kept[0].start : kept[0].end])
        capital = answer[end : end + 1].upper()
        needed = answer[start : start + 1].isupper() and not _goes_on(answer, start) and len(capital) == 1
        edits.append(Edit(start, end + 1, capital) if needed else Edit(start, end))
    return edits


def _goes_on(answer: str, offset: int) -> bool:
    """Whether an offset stands inside a sentence, after "that" or a comma, where no capital letter is needed."""
    before = answer[max(0, offset - _NEAR) : offset].rstrip()
    return before.endswith((",", " that", ":", ";"))


def _literal(answer: str, start: int, end: int) -> Edit:
    """A span that is less than a clause, with one of the two spaces around it."""
    if answer[end : end + 1] == " " and (start == 0 or answer[start - 1].isspace()):
        return Edit(start, end + 1)
    if start and answer[start - 1] == " " and (answer[end : end + 1] in (".", ",", ";", ":", "!", "?", "")):
        return Edit(start - 1, end)
    return Edit(start, end)


def dropped_lines(layout: Layout, start: int, end: int) -> Edit:
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
