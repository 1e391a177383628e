"""Names in a text, by offsets: capitalised words and runs within a sentence, acronyms; and every word's keys.

A word is compared without case, diacritics and possessive; a people and its country count as one ("China",
"Chinese"), and so do an acronym and the capitalised words that it is made of.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from eirene.text.english import Decapitalizer
from eirene.text.values.mention import Mention
from eirene.text.values.number_words import ORDINALS, SCALES, SMALL
from eirene.text.values.numbers import ROMAN
from eirene.text.words import STOP_WORDS, listed_words, word_set, words_in

_WORD = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W\d_][^\W_]*(?:['’][^\W_]+)*")
# Words with a capital, or with a letter that may be one, first or after a small letter or two ("iPhone").
_CAPITAL = re.compile(
    r"(?<![^\W_])(?<!\w['’])(?:(?:[^\W\d_]\.){2,}|(?:[^\W\d_a-z]|[a-z]{1,2}[A-Z])[^\W_]*(?:['’][^\W_]+)*)"
)
_POSSESSIVE = re.compile(r"['’]s?$")
_TITLES = word_set("names titles")
_ABBREVIATED = words_in("dr mr mrs ms prof st gen capt gov rev sen rep sgt lt col jr sr")
_NO_NAMES = STOP_WORDS | word_set("names no names")
_NUMBER_WORDS = frozenset([*SMALL, *ORDINALS, *SCALES, "half", "twice"])
_COMMON = words_in("god internet government state states nation earth web church parliament congress constitution")
_LINK = re.compile(
    r"(?:[ \u00a0]|-|\. ?| & )(?:(?:of|de|la|le|von|van|der|den|del|di|da|al|bin|ibn|el|du|des)(?: (?:the|la|der))? )?"
)
_LAST_WORD = re.compile(r"([^\W\d_]{1,5})\.\s$")
_ENDING = re.compile(r"(?:ianity|ians?|ans?|ese|ish|ists?|isms?|ics?|ain|[aey]|is?|s)$")
_DECAPITALIZER = Decapitalizer(())
_ALIASES: dict[str, set[str]] = {}
for _n, _line in enumerate(" ".join(listed_words("names that are one")).split("|")):
    for _word in _line.split():
        _ALIASES.setdefault(_word, set()).add(f"alias:{_n}")
_SENTENCE_END = frozenset('.!?:;…\n\r"“”„«(*#|•>[‘')
_LONGEST_ACRONYM = 6
_LONGEST_RUN = 8
_SHORT_WORD = 3
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_SENTENCE_STOP = re.compile(r"[.!?]\s|[\r\n]")
_GAP = 16
"""Characters between two words that are looked at."""
_FEWEST_IN_HEADLINE = 4


class CapitalWord(NamedTuple):
    """A word with a capital: offsets, its form for comparison, and how it is written.

    `opens`: it stands at the start of a sentence, a line
    or a quotation.
    """

    start: int
    end: int
    word: str
    is_acronym: bool
    opens: bool


@lru_cache(maxsize=32768)
def plain_word(word: str) -> str:
    """A word without case, diacritics, dots and possessive."""
    if not word.isascii():
        word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    return _POSSESSIVE.sub("", word.casefold()).replace(".", "").replace("’", "'")


@lru_cache(maxsize=32768)
def word_keys(word: str) -> frozenset[str]:
    """The keys of a word (as `plain_word` gives it): the word, its root, what it is an alias of."""
    keys = {f"w:{word}", *_ALIASES.get(word, ())}
    root = _ENDING.sub("", word)
    keys.add(f"r:{root if len(root) >= 4 else word}")
    return frozenset(keys)


def words_of(text: str) -> frozenset[str]:
    """The words of a text that begin with a letter, each in its form for comparison."""
    return frozenset(map(plain_word, set(_WORD.findall(text))))


def find_names(text: str) -> Iterator[Mention]:
    """The names of a text, in order; a lone capitalised word at a sentence start is weak."""
    tokens = _capitals(text)
    headlines = _headlines(text, tokens)
    at = 0
    while at < len(tokens):
        end = at + 1
        while end < len(tokens) and end - at < _LONGEST_RUN and _is_linked(text, tokens[end - 1], tokens[end]):
            end += 1
        yield from (replace(m, is_weak=True) if at in headlines else m for m in _names(text, tokens, at, end))
        at = end


def _capitals(text: str) -> list[CapitalWord]:
    """The words of a text that may be names or parts of names."""
    tokens: list[CapitalWord] = []
    for match in _CAPITAL.finditer(text):
        raw, start = match.group(), match.start()
        if raw.islower() or ROMAN.fullmatch(raw):
            continue
        word, opens = plain_word(raw), _opens(text, start)
        capitals = sum(map(str.isupper, raw)) if raw[0].isupper() else 0
        is_acronym = capitals > 1 and capitals >= len(word) - raw.endswith("s") and len(word) <= _LONGEST_ACRONYM
        is_name = (word not in _NO_NAMES and word not in _NUMBER_WORDS) or (raw == "A" and not opens)
        is_short = is_name and (is_acronym or _is_mixed(raw, capitals))
        if is_short or (is_name and raw[0].isupper()):
            tokens.append(CapitalWord(start, match.end(), word, is_short, opens))
    return tokens


def _is_mixed(raw: str, capitals: int) -> bool:
    """Whether capitals stand inside a word, as in "iPhone", and not only after an apostrophe."""
    stem = _POSSESSIVE.sub("", raw)
    return (
        capitals < len(stem) > 2 and "'" not in stem and "’" not in stem and not stem[1:].islower() and stem.isalpha()
    )


def _opens(text: str, start: int) -> bool:
    """Whether a word stands at the start of a sentence, a line or a quotation."""
    at = start
    while at > max(0, start - _GAP) and not text[at - 1].isalnum():
        at -= 1
    gap = text[at:start]
    if at == 0 or not _SENTENCE_END.isdisjoint(gap):
        last = _LAST_WORD.search(text, max(0, at - _LONGEST_ACRONYM), start) if gap.strip() == "." else None
        word = "" if last is None else last.group(1)  # of a title or an initial: "Dr. Smith", "J. Smith"
        return word.lower() not in _ABBREVIATED and not (len(word) == 1 and word.isupper())
    return False


def _is_linked(text: str, left: CapitalWord, right: CapitalWord) -> bool:
    """Whether two capitalised words belong to one name: next to each other, or with "of the" between them."""
    return not right.opens and right.start - left.end <= _GAP and bool(_LINK.fullmatch(text, left.end, right.start))


def _headlines(text: str, tokens: Sequence[CapitalWord]) -> frozenset[int]:
    """The words of sentences that are written as headlines, or in capitals: their capitals say nothing."""
    found: set[int] = set()
    starts = [n for n, token in enumerate(tokens) if token.opens]
    for first, end in pairwise([*starts, len(tokens)]):
        start, stop = tokens[first].start, tokens[end].start if end < len(tokens) else len(text)
        long = sum(t.end - t.start > _SHORT_WORD for t in tokens[first:end])
        if long < _FEWEST_IN_HEADLINE:
            continue
        sentence = _SENTENCE_STOP.split(text[start:stop], maxsplit=1)[0]
        words = _LONG_WORD.findall(sentence)
        if len(words) >= _FEWEST_IN_HEADLINE and all(word[0].isupper() for word in words):
            found.update(n for n in range(first, end) if tokens[n].start < start + len(sentence))
    return frozenset(found)


def _names(text: str, tokens: Sequence[CapitalWord], at: int, end: int) -> Iterator[Mention]:
    run = list(tokens[at:end])
    has_title = len(run) > 1 and run[0].word in _TITLES
    run = [t for t in run if t.word not in _TITLES] or run
    strong = [
        t for t in run if len(t.word) > 1 and t.word not in _COMMON and _is_name(text, t, run, has_title=has_title)
    ]
    strong = [] if all(t.opens and not t.is_acronym for t in run) and not has_title else strong
    initials = "".join(t.word[0] for t in run)
    is_long = 2 <= len(run) <= _LONGEST_ACRONYM
    whole = frozenset([f"short:{initials}"] if is_long else ())
    asks = tuple(_keys(t, "long") | whole for t in strong or run)
    gives = frozenset([f"long:{initials}"] if is_long else ()).union(*(_keys(t, "short") for t in run))
    yield Mention("name", tokens[at].start, tokens[end - 1].end, asks, gives, is_weak=not strong)


def _is_name(text: str, token: CapitalWord, run: Sequence[CapitalWord], *, has_title: bool) -> bool:
    """Whether a capital makes a name; at a sentence start only before another name, and not of a common word."""
    if has_title or token.is_acronym or not token.opens:
        return token.word not in _TITLES
    return len(run) > 1 and _DECAPITALIZER.lowered(text[token.start : token.end]) is None


def _keys(token: CapitalWord, form: str) -> frozenset[str]:
    return word_keys(token.word) | ({f"{form}:{token.word}"} if token.is_acronym else frozenset())
