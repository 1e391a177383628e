"""Untrusted texts in prompts: the fence, a word on the lines around them; one line each; no chat control tokens.

Who writes one of the texts must not be able to end it: no text holds the word, and a text is searched as a model may
see it: without case, accents, invisible characters, spaces and hyphens, foreign letters as the Latin ones
whose shape they have.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from itertools import count

_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvwxz" for vowel in "aeio"]
_FENCE_SYLLABLES = 2  # letters, as tokenizers take more tokens for digits
_LATIN = re.compile(r"(?:LATIN|REGIONAL INDICATOR) .*\b([A-Z])(?: WITH .*)?\Z")  # small capitals, letters in boxes
_SHAPES = {
    shape: latin
    for latin, shapes in {
        "a": "аαɑᎪꓮ4", "b": "вьβᏴꓐ8", "c": "сϲᏟꓚ", "d": "ԁժᎠꓓ", "e": "еєэεҽᎬꓰ3", "f": "ғϝꓝ", "g": "ԍցᏀꓖ9",
        "h": "һнհᎻꓧ", "i": "іїιıӏߊ1|lⅼᏞꓡ", "k": "кκᏦꓗ", "m": "мϻᎷꓟ", "n": "пηνոѵᏙꓠꓦv", "o": "оοσօ0ᎾꓳΘ", "p": "рρᏢꓑ",
        "r": "гᴦᎡꓣ", "s": "ѕᏚꓢ5", "t": "тτᎢꓔ7", "u": "υսꓴ", "w": "ԝѡωшᎳꓪ", "x": "хχᚷ×ꓫ", "y": "уүγᎩꓬ", "z": "зζᏃꓜ2",
    }.items()
    for shape in shapes
}  # fmt: skip
"""Letters of Cyrillic, Greek, Armenian, Cherokee and Lisu, and digits, as the small Latin letter of about their shape.

Some Latin letters are one: Greek has ν beside Ν, and an l may be an I. To take more for alike costs nothing but a
longer fence where a text happens to hold the word.
"""


def fence_word(*texts: str, made_from: str | None = None) -> str:
    """A word for the fence lines around each of the texts, which holds none that looks like it.

    It is a hash of `made_from`, what several prompts begin with, so that they begin alike and a server's prompt cache
    serves them; without it, and where a text holds that word, of all the texts. The same texts give the same word. It
    is short, since every fence line costs its tokens, and longer where the texts hold the shorter ones.
    """
    whole = "\x1f".join(texts)
    shape = _shape(whole)
    for attempt in count():
        source = whole if attempt or made_from is None else made_from
        made = hashlib.sha256(f"{attempt}\n{source}".encode(errors="backslashreplace")).digest()
        mark = "TEXT-" + "".join(_SYLLABLES[byte % len(_SYLLABLES)] for byte in made[: _FENCE_SYLLABLES + attempt])
        if _shape(mark) not in shape:
            return mark
    raise AssertionError("unreachable")  # pragma: no cover


def _shape(text: str) -> str:
    """The letters of a text by their shapes."""
    return text.translate({ord(char): _shape_of(char) for char in set(text)})


def _shape_of(char: str) -> str:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", char).casefold())
    return "".join(map(_latin, plain))


def _latin(char: str) -> str:
    """The small Latin letter of a character's shape; "" for one of none."""
    known = _SHAPES.get(char)
    if known is not None:
        return known
    named = char if char.isascii() else _LATIN.search(unicodedata.name(char, ""))
    if isinstance(named, re.Match):
        char = named[1].lower()
        return _SHAPES.get(char, char)
    return char if named is not None and char.isalpha() else ""


# What tokenizers and chat templates read as control: <|...|>, <s>, [INST], <<SYS>>, turns, thinking.
_CONTROL = re.compile(
    r"<(?=[|｜][^<>\s]{1,60}>|/?s>|/?(?:bos|eos|pad|unk)>|(?:start|end)_of_turn>|/?think(?:ing)?>|<?/?SYS>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])",
    re.IGNORECASE,
)
_HEADING = re.compile(r"(?<!#)#{2,}+(?=\s*+(?:instruction|input|response)\b)", re.IGNORECASE)
_CODE = re.compile(r"^[ \t]{0,3}(?:`{3}|~{3})|^(?: {4}|\t)\S", re.MULTILINE)
_UNSEEN = {c: " " for c in (*range(0x20), *range(0x7F, 0xA0))} | dict.fromkeys((0x200B, 0x2060, 0xFEFF))


def break_control_tokens(text: str) -> str:
    """The text with a space inside each chat control token; anything else is unchanged."""
    return _CONTROL.sub(lambda found: found.group() + " ", text)


def one_line(text: str) -> str:
    """The text on one line: a line break becomes a space, in code a visible ⏎; control characters are dropped."""
    joint = " ⏎ " if _CODE.search(text) else " "
    lines = (" ".join(line.translate(_UNSEEN).split()) for line in text.strip().splitlines())
    return joint.join(line for line in lines if line)


def shown_line(text: str) -> str:
    """`one_line` without what a chat template or our own layout would read as more than text."""
    return _HEADING.sub("#", break_control_tokens(one_line(text)))
