"""Form check: structure stays whole, sentences stay sentences, and nothing leans on what was taken out.

Structure is data that could be read, tags, brackets and fences in pairs, heads of tables. No sentence breaks off, has
the words of the old one in another order, or letters exchanged in them.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import quoted
from eirene.text.edits.pieces import LIST_MARKER
from eirene.text.edits.words import SentenceEdit
from eirene.text.english import is_torn
from eirene.text.form import is_form
from eirene.text.leaning import announced, is_part, refers
from eirene.text.sentences import split_sentences
from eirene.text.words import lower_words, word_sets

_LONGEST = 50_000
"""Characters of a piece that is read as data or code."""
_OPENING_LINE = re.compile(r"\A[`~]{3,}[^\n]*\n|\n[ \t]*[`~]{3,}\s*\Z")
_BOLD_LINE = re.compile(r"\*\*[^*\n]+\*\*:?[ \t]*$")
_LIST_ASKED = re.compile(r"\b(?:lists?|listed|bullets?|bulleted|steps?|tables?|outline|enumerate)\b", re.IGNORECASE)
_PAIRS = re.compile(
    r"(?P<tag><(?P<end>/?)(?P<name>[A-Za-z][\w:.-]{0,40})(?:\s[^<>]{0,500})?(?<!/)>)"
    r"|\\(?P<environment>begin|end)\{(?P<of>[^{}\n]{1,40})\}|(?P<fence>^[ \t]*(?:`{3,}|~{3,}))|(?P<bracket>[()\[\]{}])",
    re.MULTILINE,
)
_MARKER = re.compile(r"(?<![\w(])\(?\w{1,3}\)(?=\s)|[:;]-?[()]")
_VOID = frozenset(["br", "hr", "img", "input", "link", "meta", "wbr"])
"""Elements that have no end."""
_CLOSERS = {")": "(", "]": "[", "}": "{"}
_MOST_COUNTED = 10

_READ = 20_000
"""Characters of a text whose sentences are looked at."""
# What ends a sentence in some script, and the marks and citations that may close it.
_ENDED = re.compile(r"[.!?…:;。！？｡．：；؟۔؛।॥։።፧။။][\"'”’“)\]»›«」』）】》*_\u200e\u200f]*(?:\s*\[[\d, ]{1,9}\])*$")
_NO_PROSE = re.compile(r"\s*(?:[-*+•|#>]|\(?\w{1,3}[.)、]|`{3}|~{3})\s?|.*[{}\\<>|]")
_LETTERS, _TAIL = 6, 24
"""Least letters of a sentence that tells how its text ends sentences; characters quoted of a torn end."""
_DETERMINERS, _PREPOSITIONS, _FINITE, _JOINING = word_sets("order ").values()
_FOLLOWS_NONE = (
    (_DETERMINERS, _DETERMINERS | _PREPOSITIONS | _FINITE | _JOINING),
    (_PREPOSITIONS, _FINITE | {"and", "or", "of", "but"}),
    (_FINITE, (_FINITE - {"be", "have"}) | {"of", "than"}),
    (_JOINING, frozenset(["of", "than", "and", "or", "is", "are", "was", "were"])),
)
"""Words, and those that follow none of them in a sentence: of 1,500 sentences 96 % have more such pairs in random
order, 0.2 % fewer."""
_ORDERED, _SAME_WORDS, _STILL_BESIDE = 4, 0.85, 0.4
"""Words from which an order is looked at; share of words in common that makes it the same sentence; share of its
neighbours that must be neighbours still."""
_LONG_WORD = 4
"""Letters of a word from which an exchange of them is a misspelling."""


def form(case: EditCase) -> Iterator[Objection]:
    """Objects to edits after which structure is broken that was whole before, or what stays goes on with nothing."""
    if _breaks(case.before, case.after):
        yield from (Objection(n, "the text could be read before, and no longer can") for n, _ in case.changed())
        return
    found = {objection.edit: objection for find in (torn, _dangling, _structure, _layout) for objection in find(case)}
    yield from (found[n] for n in sorted(found))


def torn(case: EditCase) -> Iterator[Objection]:
    """Objects to new sentences that break off, whose words are in another order, or that are misspelt.

    What the text before has as well is no fault of the edit.
    """
    sentences = [s.text for s in split_sentences(case.before[:_READ]) if sum(map(str.isalpha, s.text)) >= _LETTERS]
    is_ended = len(sentences) > 1 and all(map(_ENDED.search, sentences))
    for n, edit in case.changed():
        old, new = case.old(edit), case.new(edit)[:_READ]
        if not new or _NO_PROSE.match(new):
            continue
        if _is_torn(case, edit, is_ended=is_ended):
            yield Objection(n, f"a sentence that breaks off after {quoted(new.rstrip()[-_TAIL:])}")
        elif old and _is_shuffled(old, new):
            yield Objection(n, f"the same words in an order that is no sentence: {quoted(new)}")
        elif words := tuple(
            k for k, w in enumerate(edit.words) if _is_misspelt(case, w.before, w.after, several=len(edit.words) > 1)
        ):
            yield Objection(n, f"exchanges letters: {quoted(case.after[slice(*edit.words[words[0]].after)])}", words)


def _is_torn(case: EditCase, edit: SentenceEdit, *, is_ended: bool) -> bool:
    """Whether a sentence breaks off: after a word that none ends with, or without the mark that all others have."""
    old, new = case.old(edit).rstrip(), case.new(edit)[:_READ].rstrip()
    bare = is_ended and not _ENDED.search(new) and (bool(_ENDED.search(old)) if old else not _is_line(case, edit))
    endless = is_torn(new) and not is_torn(old)
    # A heading or a note that stands so in what was given is none.
    return (bare or endless) and not any(
        line.rstrip().endswith(new) for source in case.sources[1:] for line in source.splitlines()
    )


def _is_line(case: EditCase, edit: SentenceEdit) -> bool:
    """Whether a sentence is a line by itself, as a heading or an item of a list is."""
    assert edit.after is not None
    before, after = case.after[: edit.after[0]].rpartition("\n")[2], case.after[edit.after[1] :].partition("\n")[0]
    return not after.strip() and not any(map(str.isalpha, before)) and "\n" in case.after


def _is_shuffled(old: str, new: str) -> bool:
    """Whether a sentence has the words of the old one, and hardly two of them beside each other as they were."""
    before, after = lower_words(old), lower_words(new)
    shared = (Counter(before) & Counter(after)).total()
    if len(after) < _ORDERED or shared < _SAME_WORDS * max(len(before), len(after)):
        return False
    beside = (Counter(pairwise(before)) & Counter(pairwise(after))).total()
    return beside < _STILL_BESIDE * (len(after) - 1) and _disorder(new, after) > _disorder(old, before)


def _disorder(sentence: str, words: Sequence[str]) -> int:
    """How many words go on with one that cannot follow, or with nothing, and whether it begins with a small letter."""
    breaks = sum(any(a in first and b in second for first, second in _FOLLOWS_NONE) for a, b in pairwise(words))
    return breaks + any(words[-1] in first for first, _ in _FOLLOWS_NONE) + sentence[:1].islower()


def _is_misspelt(case: EditCase, before: tuple[int, int], after: tuple[int, int], *, several: bool) -> bool:
    """Whether letters were exchanged in a word that is spelt so elsewhere, or that is one of `several` changed ones."""
    old, new = (lower_words(text) for text in (case.before[slice(*before)], case.after[slice(*after)]))
    if len(old) != len(new):
        return False
    spelt = Counter(word for source in case.sources for word in lower_words(source))
    return any(
        a != b and len(a) >= _LONG_WORD and a[0] == b[0] and sorted(a) == sorted(b) and not spelt[b]
        for a, b in zip(old, new, strict=True)
        if spelt[a] > 1 or several
    )


def _structure(case: EditCase) -> Iterator[Objection]:
    open_marks = Counter[str]() if any(_open(case.before).values()) else _open(case.after)
    for n, edit in case.changed():
        old, new = case.old(edit), case.new(edit)
        changed = sorted(mark for mark, more in open_marks.items() if more and _open(old)[mark] != _open(new)[mark])
        if new and _breaks(old, new):
            yield Objection(n, "structured text that could be read before no longer can")
        elif changed:
            yield Objection(n, f"leaves {changed[0]} without its other half")
        elif edit.kind == "removed" and {"|", "-"} <= {*old} <= {*" \t:|-"} and "|" in case.after:
            yield Objection(n, "takes the rule under a table's head away")


def _layout(case: EditCase) -> Iterator[Objection]:
    """Items of a list and headings in an answer that has none: what of them stays hangs between its sentences."""
    if _LIST_ASKED.search(case.question) or any(map(_is_item, case.before.splitlines())):
        return
    for n, edit in case.changed():
        if edit.after is not None:
            start = case.after.rfind("\n", 0, edit.after[0]) + 1
            if any(map(_is_item, case.after[start : edit.after[1]].splitlines())):
                yield Objection(n, "a list or a heading in an answer that has none")


def _is_item(line: str) -> bool:
    """Whether a line is an item of a list or a heading."""
    said = line.lstrip(" \t")
    return bool(LIST_MARKER.match(said) or _BOLD_LINE.match(said))


def _breaks(old: str, new: str) -> bool:
    """Whether a text is data or code without an error in it, and another one is not."""
    read = _read_as(old)
    return read is not None and _read_as(new) != read


def _read_as(text: str) -> str | None:
    """What structure without an error in it is: `data` (JSON) or `code` (Python); None for all else."""
    said = _OPENING_LINE.sub("", text.strip())
    if not said or len(said) > _LONGEST or not is_form(text):
        return None
    try:
        json.loads(said)
        return "data"
    except (ValueError, RecursionError):
        pass
    try:
        ast.parse(said)
        return "code"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _open(text: str) -> Counter[str]:
    """How many more of each kind of pair are opened than closed."""
    found: Counter[str] = Counter()
    for mark in _PAIRS.finditer(_MARKER.sub("", text)):
        if mark["tag"]:
            name = mark["name"].lower()
            found[f"<{name}>"] += 0 if name in _VOID else -1 if mark["end"] else 1
        elif mark["environment"]:
            found[f"\\begin{{{mark['of']}}}"] += 1 if mark["environment"] == "begin" else -1
        elif mark["fence"]:
            found["a code fence"] ^= 1
        else:
            found[_CLOSERS.get(mark[0], mark[0])] += -1 if mark[0] in _CLOSERS else 1
    return found


def _dangling(case: EditCase) -> Iterator[Objection]:
    """Removals after which an unchanged sentence goes on with nothing.

    That is one which begins with a part of what was named ("The latter"), and one at the beginning of the text that
    begins with any word for what was named ("They"). So is a sentence that an earlier one counts ("There are three
    reasons."). In the text before, each stood where it made sense.
    """
    stood = sorted((e.before, n) for n, e in enumerate(case.edits) if e.before is not None)
    first = min((e.after for e in case.edits if e.after is not None), default=None)
    follows: int | None = None
    for i in range(len(stood) - 1, -1, -1):
        n = stood[i][1]
        if case.edits[n].kind != "removed":
            follows = n
        elif follows is not None and _hangs(case, case.edits[follows], is_first=case.edits[follows].after == first):
            yield Objection(n, f"a sentence goes on with what would be gone: {quoted(case.new(case.edits[follows]))}")
        elif _is_counted(case, [n for _, n in stood[max(0, i - _MOST_COUNTED) : i + 1]]):
            yield Objection(n, "leaves fewer than the text announces")


def _hangs(case: EditCase, edit: SentenceEdit, *, is_first: bool) -> bool:
    text = case.new(edit).strip()
    return edit.kind == "kept" and (is_part(text) or (is_first and refers(text)))


def _is_counted(case: EditCase, edits: Sequence[int]) -> bool:
    """Whether one of the unchanged sentences among these edits counts the last one in."""
    earlier = [case.old(case.edits[n]) if case.edits[n].kind == "kept" else "" for n in edits[:-1]]
    return announced([*earlier, case.old(case.edits[edits[-1]])], len(earlier))
