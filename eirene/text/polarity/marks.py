"""Marks of polarity in an English sentence: negations, quantifiers, modals, hedges, verbs of saying, conditions.

Each with its offsets and the word that it governs. Opposites of words ("safe", "dangerous") are in
`eirene.text.polarity.antonyms`; what two sentences make of their marks is in `eirene.text.polarity`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from eirene.text.clauses import opening_length
from eirene.text.remembered import remembered
from eirene.text.words import STOP_WORDS, listed_words, stem, table_lines, word_set, words_in

MarkKind = Literal["negation", "quantifier", "certainty", "report", "condition", "intent", "quotation"]
_Phrase = tuple[tuple[str, ...], MarkKind | None, str]


def _by_first_word() -> dict[str, tuple[_Phrase, ...]]:
    found: dict[str, list[_Phrase]] = {}
    for line in table_lines("polarity_marks"):
        kind, level, phrases = line.split(" | ")
        for phrase in phrases.split(","):
            words = tuple(phrase.split())
            found.setdefault(words[0], []).append((words, cast("MarkKind", kind) if kind != "-" else None, level))
    return {word: tuple(sorted(rows, key=lambda row: -len(row[0]))) for word, rows in found.items()}


PHRASES = _by_first_word()
"""The phrases that begin with a word, the longest first: words, kind, level within the kind."""
ONLY_BEFORE_THAT = word_set("marks only before that")
"""Verbs that are marks before "that" alone."""
NO_MARKS = frozenset(tuple(pair.split("/")) for pair in listed_words("marks none behind another word"))
"""Pairs of words whose second one is no mark."""
ENDS_SCOPE = word_set("marks end of scope")
"""Where the reach of a mark ends; a comma only behind the word that it governs."""
FUNCTION = (STOP_WORDS | word_set("marks function")) - word_set("marks of place and degree")
"""Words that carry no meaning of their own."""
SAYING = frozenset(
    f"{base}{ending}" for base in word_set("marks saying") for ending in ("", "s", "d", "ed", "es", "ing")
) | words_in("said held thought felt replies replied worries worried argued arguing argues according")
"""Verbs of saying, in all forms."""
ADVERBS_OF_SAYING = word_set("marks adverbs of saying")
"""Words in -ly beside a verb of saying that judge nothing."""
DENIES = frozenset(stem(word) for word in word_set("marks denies"))
"""Stems of words that may stand for a negation: where one comes or goes, another mark may come or go for it."""
COMPARES = words_in("more less better best worse worst most least than rather instead beyond too out before")
"""Words that compare, or leave something out: they may stand for a negation too."""

_WORD = re.compile(r"[^\W_]++(?>(?:['’][^\W_]++)*)|[,;:.!?()]")
_QUOTED = re.compile(r"[\"“]([^\s\"“”]{1,40}(?:\s[^\s\"“”]{1,40}){0,2})[\"”]")

MAX_WORDS = 2000
"""Words of a sentence that are read; what has more is no sentence."""
_REACH = 12
"""Within so many words of a mark stands what it governs."""
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class PolarityMark:
    """A mark: its offsets in the sentence, its level within its kind ("all", "some"), and what it governs.

    `head` is the index (in `MarkedSentence.words`) of the content word that it bears on first, None where there is
    none; `reach` the index behind the last word that it can bear on.
    """

    kind: MarkKind
    level: str
    start: int
    end: int
    head: int | None
    reach: int


@dataclass(frozen=True, slots=True)
class SentenceWord:
    """A word (lower case, plain apostrophes) or a punctuation mark, with offsets; `is_content`: it carries meaning."""

    word: str
    stem: str
    start: int
    end: int
    is_content: bool


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence as its words and marks. `opening`: index of the first word behind "Critics say that" and the like.

    `is_attributed`: somebody is said to say it. `claimed`: the content words behind the opening.
    """

    text: str
    words: tuple[SentenceWord, ...]
    marks: tuple[PolarityMark, ...]
    opening: int
    is_attributed: bool
    claimed: tuple[int, ...]


@remembered(1024, longest=2000)
def read_marks(sentence: str) -> MarkedSentence:
    """The words and marks of one sentence; linear in its length."""
    found: list[tuple[str, int, int]] = []
    for match in _WORD.finditer(sentence):
        if len(found) >= MAX_WORDS:
            break
        found += _parts(match.group().lower().replace("’", "'"), match.start(), match.end())
    plain = [word for word, _, _ in found]
    behind = opening_length(sentence)
    opening = next((n for n, (_, start, _) in enumerate(found) if start >= behind), len(found))
    raw = [*_phrase_marks(plain), *_evaluations(plain, opening)]
    covered = {n for first, end, *_ in raw for n in range(first, end)}
    words = tuple(
        SentenceWord(w, _stem(w), start, end, n not in covered and w not in FUNCTION and (w[0].isalnum()))
        for n, (w, start, end) in enumerate(found)
    )
    marks = [_placed(words, first, end, kind, level) for first, end, kind, level in raw if kind is not None]
    marks += _quotations(sentence)
    said = any(word in SAYING for word in plain[: max(opening, 1)])
    attributed = (opening > 0 and said) or "according" in plain[:12]
    claimed = tuple(n for n in range(opening, len(words)) if words[n].is_content)
    return MarkedSentence(sentence, words, tuple(sorted(marks, key=lambda m: m.start)), opening, attributed, claimed)


def _parts(word: str, start: int, end: int) -> list[tuple[str, int, int]]:
    """A word as its parts: "don't" as "do" and "not", "cannot" as "can" and "not"."""
    cut, first, second = 0, "", ""
    if word.endswith("n't") and len(word) > 3:
        cut, first, second = 3, _BASES.get(word[:-3], word[:-3]), "not"
    elif word in _UNMARKED:
        cut, first, second = 2, _UNMARKED[word], "not"
    elif word == "cannot":
        cut, first, second = 3, "can", "not"
    elif word.endswith("'ll") and len(word) > 3:
        cut, first, second = 3, word[:-3], "will"
    if not cut or len(word) != end - start:  # a letter whose lower case is two
        return [(word, start, end)]
    return [(first, start, end - cut), (second, end - cut, end)]


_BASES = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_UNMARKED = dict(pair.split("/") for pair in listed_words("marks without apostrophe"))


@remembered(16384, longest=_LONGEST)
def _stem(word: str) -> str:
    return stem(word.removesuffix("'s")) if len(word) <= _LONGEST else word


_RawMark = tuple[int, int, MarkKind | None, str]


def _phrase_marks(words: list[str]) -> Iterator[_RawMark]:
    """The marks by the table, the longest phrase first; kind None for phrases that look like a mark and are none."""
    n = 0
    while n < len(words):
        for phrase, kind, level in PHRASES.get(words[n], ()):
            if tuple(words[n : n + len(phrase)]) == phrase and not _is_exempt(words, n, len(phrase), kind):
                yield n, n + len(phrase), kind, level
                n += len(phrase)
                break
        else:
            n += 1


def _is_exempt(words: list[str], n: int, length: int, kind: MarkKind | None) -> bool:
    """Whether a word of the table is no mark here: "at all", "no more than", "aren't they?", "show respect"."""
    before = words[n - 1] if n else ""
    after = words[n + length] if n + length < len(words) else ""
    word = words[n]
    if (before, word) in NO_MARKS:
        return True
    if kind == "negation" and length == 1:
        is_tag = word == "not" and words[n + 2 : n + 3] == ["?"] and n > 1 and words[n - 2] == ","
        return is_tag or (word == "no" and after in ("more", "less", "fewer", "matter"))
    if word in ONLY_BEFORE_THAT:
        return after != "that"
    return False


def _evaluations(words: list[str], opening: int) -> Iterator[_RawMark]:
    """Adverbs that judge what someone says, beside a verb of saying, as in "Critics foolishly say"."""
    for n, word in enumerate(words[:opening]):
        if not word.endswith("ly") or word in ADVERBS_OF_SAYING or word in PHRASES:
            continue
        before, after = words[n - 1] if n else "", words[n + 1] if n + 1 < len(words) else ""
        if (before and after in SAYING) or (before in SAYING and after == "that"):
            yield n, n + 1, "report", "judged"


def _placed(words: tuple[SentenceWord, ...], first: int, end: int, kind: MarkKind, level: str) -> PolarityMark:
    """A mark with what it governs: the first content word behind it that is no adverb."""
    reach = min(len(words), end + _REACH)
    if kind == "negation" and end < len(words) and words[end].word == "," and first == 0:
        reach = end  # "No, it helps" answers; it governs nothing
    head = None
    for n in range(end, reach):
        if words[n].word in ENDS_SCOPE and (head is not None or words[n].word != ","):
            reach = n
            break
        if head is None and words[n].is_content and not words[n].word.endswith("ly"):
            head = n
    return PolarityMark(kind, level, words[first].start, words[end - 1].end, head, reach)


def _quotations(sentence: str) -> Iterator[PolarityMark]:
    """One to three words between quotation marks."""
    for found in _QUOTED.finditer(sentence):
        yield PolarityMark("quotation", found[1].lower(), found.start(), found.end(), None, 0)
