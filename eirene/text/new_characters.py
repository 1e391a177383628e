"""New characters: invisible, overriding and dressed-up ones that a rewrite has and no earlier text; taken out of it.

Control, bidirectional, zero-width, tag and private-use characters, odd spaces, stacks of marks, letters of another
alphabet that pass for Latin ones, and Latin letters as mathematics, circles or full width. What languages, emoji and
earlier texts need stays.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

_SPACES = "\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
_HIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\ue000-\uf8ff\U000e0000-\U000fffff"
    "\U00100000-\U0010ffff\ufe00-\ufe0f\u180b-\u180d\U0001d173-\U0001d17a\u2066-\u2069"
)
_MARKS = "\u0300-\u034e\u0350-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_OVERLAYS = re.compile("[\u0332\u0333\u0334-\u0338\u0305\u033f\u20d2-\u20e4]")
# Latin letters as circles, squares, mathematics, of full width, small capitals and raised ones.
_DRESSED = (
    "\U0001d400-\U0001d7ff\U0001f110-\U0001f18a\u249c-\u24e9\uff01-\uff5e\u02b0-\u02b8"
    "\u02e1-\u02e3\u1d00-\u1d6a\u0262\u026a\u0274\u0276\u0280\u028f\u0299\u029c\u029f\u2070-\u209c\u2c7c\ua730\ua731"
)
_ASIDE = f"{_SPACES}{_HIDDEN}"
_ODD = re.compile(f"[{_ASIDE}{_MARKS}{_DRESSED}\u0370-\u052f\u0531-\u0589\u13a0-\u13ff]")
_PIECE = re.compile(
    f"(?P<flag>\U0001f3f4[\U000e0061-\U000e007a]{{2,6}}\U000e007f)|(?P<space>[{_SPACES}]+)|(?P<hidden>[{_HIDDEN}]+)"
    f"|(?P<marks>[^\\W\\d_][{_MARKS}]+)|(?P<dressed>[{_DRESSED}]+)"
)
_MIXED = re.compile(r"[^\W\d_]+")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_IDEOGRAPH = re.compile("[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff]")
_JOINERS = frozenset("\u200b\u200c\u200d\ufe0e\ufe0f\u180b\u180c\u180d\u180e")
"""Characters that scripts without Latin letters, and emoji, need between their letters."""
_NEED_JOINERS = re.compile("[0-9#*\xa9\xae\u0590-\u1cff\u203c\u2049\u2100-\U0001fbff]")
_DIRECTIONS = frozenset("\u200e\u200f\u061c\u2066\u2067\u2068\u2069")
_LINE_ENDS = frozenset("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")

# Letters of other alphabets that look like Latin ones.
_TWINS = str.maketrans(
    "аеорсухіјѕһԁԛԝкмнтвгАВЕКМНОРСТУХІЈЅԌԚԜЗαοερτυνκιχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧգոսօհԱՏՍՕ",
    "aeopcyxijshdqwkmhtbrABEKMHOPCTYXIJSGQWZaoeptuvkixwABEZHIKMNOPTYXgnuohUSUO",
)
_SMALL_CAPITAL = re.compile(r"LATIN LETTER SMALL CAPITAL ([A-Z])")
_SMALL_CAPITALS = re.compile("[\u1d00-\u1d2b\u0262\u026a\u0274\u0276\u0280\u028f\u0299\u029c\u029f\ua730\ua731]{3}")
_LETTER = re.compile(r".*LATIN (CAPITAL|SMALL) LETTER ([A-Z])")


@dataclass(frozen=True, slots=True)
class CharacterEdit:
    """Characters of a rewrite (offsets) that were replaced by `instead`, "" where they were taken out; their names."""

    start: int
    end: int
    instead: str
    names: str


def without_new_characters(before: str, after: str, sources: Iterable[str]) -> tuple[str, tuple[CharacterEdit, ...]]:
    """The rewrite without characters that hide, override or dress up, as far as no text has them; and where they stood.

    `sources` are the given texts beside the text before. In time linear in all texts; the edits are in order.
    """
    if _is_plain(after):
        return after, ()
    known = _SeenCharacters((before, *sources), after)
    edits = sorted(_edits(after, known), key=lambda e: e.start)
    kept: list[str] = []
    at = 0
    for edit in edits:
        kept += [after[at : edit.start], edit.instead]
        at = edit.end
    return "".join([*kept, after[at:]]), tuple(edits)


def _is_plain(text: str) -> bool:
    return _ODD.search(text) is None


class _SeenCharacters:
    """What the earlier texts hold: single characters, and the places (with a neighbour on each side) of hidden ones."""

    def __init__(self, texts: tuple[str, ...], rewrite: str) -> None:
        self.characters = frozenset().union(*texts)
        odd = [text for text in texts if not _is_plain(text)]
        self.places = frozenset(_place(t, m.start(), m.end()) for t in odd for m in _PIECE.finditer(t))
        self.marked = frozenset(m[0] for t in odd for m in _PIECE.finditer(t) if m["marks"])
        self.words = frozenset(m[0] for t in odd for m in _MIXED.finditer(t))
        self.right_to_left = any(_RIGHT_TO_LEFT.search(t) for t in texts)
        self.ideographs = any(_IDEOGRAPH.search(t) for t in texts)
        self.small_capitals = _SMALL_CAPITALS.search(rewrite) is not None


def _place(text: str, start: int, end: int) -> str:
    return text[max(start - 1, 0) : end + 1]


def _edits(text: str, known: _SeenCharacters) -> Iterator[CharacterEdit]:
    taken: list[tuple[int, int]] = []
    for found in _PIECE.finditer(text):
        kind = found.lastgroup
        if kind in (None, "flag"):
            continue
        instead = _INSTEAD[kind or ""](text, found.start(), found.end(), known)
        if instead != found[0]:
            taken.append(found.span())
            yield CharacterEdit(*found.span(), instead, character_names(found[0]))
    at = 0
    for found in _MIXED.finditer(text):
        word = found[0]
        if word.isascii() or word in known.words or not _is_mixed(word):
            continue
        while at < len(taken) and taken[at][1] <= found.start():
            at += 1
        folded = word.translate(_TWINS)
        if folded != word and not (at < len(taken) and taken[at][0] < found.end()):
            odd = "".join(c for c, d in zip(word, folded, strict=True) if c != d)
            yield CharacterEdit(*found.span(), folded, character_names(odd))


def _space_instead(text: str, start: int, end: int, known: _SeenCharacters) -> str:
    def one(c: str) -> str:
        return c if c in known.characters or (c == "\u3000" and known.ideographs) else " "

    return "".join(map(one, text[start:end]))


def _hidden_instead(text: str, start: int, end: int, known: _SeenCharacters) -> str:
    piece, left = text[start:end], text[start - 1 : start]
    is_needed = len(piece) <= 2 and _JOINERS.issuperset(piece) and _NEED_JOINERS.match(left) is not None
    has_directions = known.right_to_left and _DIRECTIONS.issuperset(piece)
    if _place(text, start, end) in known.places or is_needed or has_directions:
        return piece
    return "\n" if any(c in _LINE_ENDS for c in piece) and left not in "\n " else ""


def _marks_instead(text: str, start: int, end: int, known: _SeenCharacters) -> str:
    """A letter with its marks; without them where they are a stack, strike it through, or belong to no language."""
    piece = text[start:end]
    if piece in known.marked:
        return piece
    whole = unicodedata.normalize("NFC", piece)
    latin = piece[0].isascii() or _is_latin(piece[0])
    if len(piece) > 3 and len(whole) > 2:
        return piece[0]
    if latin and _OVERLAYS.search(piece):
        return piece[0]
    beside = _PIECE.match(text, end) or (start > 1 and re.match(f"[{_MARKS}]", text[start - 1]))
    return piece[0] if latin and len(whole) > 1 and beside else piece


def _dressed_instead(text: str, start: int, end: int, known: _SeenCharacters) -> str:
    piece = text[start:end]
    raised = all("\u02b0" <= c <= "\u02e3" or "\u1d2c" <= c <= "\u1d6a" or "\u2070" <= c <= "\u209c" for c in piece)
    if raised and (end - start < 3 or not any(map(str.isalpha, piece))):  # 5th, m2, H2O
        return piece
    if known.ideographs and all("\uff00" <= c <= "\uff60" for c in piece):
        return piece
    if end - start == 1 and "\U0001f170" <= piece <= "\U0001f18a":  # the blood groups are emoji
        return piece
    is_phonetic = "\u0250" <= piece <= "\u02af" or "\u1d00" <= piece <= "\u1d2b" or piece in "\ua730\ua731"
    if end - start == 1 and is_phonetic and not known.small_capitals:
        return piece
    return "".join(c if c in known.characters else _plain_letter(c) for c in piece)


@lru_cache(maxsize=2048)
def _plain_letter(c: str) -> str:
    folded = unicodedata.normalize("NFKC", c)
    if folded != c:
        return folded.strip("()") or c
    name = unicodedata.name(c, "")
    small = _SMALL_CAPITAL.fullmatch(name)
    if small:
        return small[1].lower()
    letter = _LETTER.fullmatch(name)
    return c if letter is None else letter[2] if letter[1] == "CAPITAL" else letter[2].lower()


def _is_mixed(word: str) -> bool:
    """Whether Latin letters and letters of an alphabet that looks like it stand in one word."""
    twins = sum("\u0370" <= c <= "\u0589" or "\u13a0" <= c <= "\u13ff" for c in word)
    return 0 < twins < len(word) and any(c.isascii() or _is_latin(c) for c in word)


@lru_cache(maxsize=2048)
def _is_latin(c: str) -> bool:
    return unicodedata.name(c, "").startswith("LATIN")


def character_names(characters: str) -> str:
    """The first three distinct characters by code and name, such as `U+200B ZERO WIDTH SPACE`."""
    distinct = list(dict.fromkeys(characters))
    names = [f"U+{ord(c):04X} {unicodedata.name(c, '')}".strip() for c in distinct[:3]]
    return ", ".join([*names, *(["..."] if len(distinct) > 3 else [])])


_INSTEAD: dict[str, Callable[[str, int, int, _SeenCharacters], str]] = {
    "space": _space_instead,
    "hidden": _hidden_instead,
    "marks": _marks_instead,
    "dressed": _dressed_instead,
}
