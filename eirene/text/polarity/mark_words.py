"""Closed word lists of the marks of polarity: phrases by kind and level, function words, verbs of saying."""

from __future__ import annotations

from typing import Literal, cast

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
