"""Closed word lists of the marks of polarity: phrases by kind and level, function words, verbs of saying."""

from __future__ import annotations

from typing import Literal, cast

from eirene.text.words import STOP_WORDS, stem, table_lines

MarkKind = Literal["negation", "quantifier", "certainty", "report", "condition", "intent", "quotation"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


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

ONLY_BEFORE_THAT = _words(
    """show shows showed shown know knows knew known reveal reveals revealed demonstrate demonstrates demonstrated
    establish establishes established confirm confirms confirmed"""
)
"""Verbs that are marks before "that" alone."""

NO_MARKS = frozenset(
    [("or", "not"), ("at", "all"), ("after", "all"), ("above", "all"), ("of", "all"), ("as", "if"), ("the", "will"),
     ("free", "will"), ("their", "will"), ("own", "will"), ("of", "may"), ("in", "may"), ("the", "most"),
     ("the", "likely"), ("how", "many"), ("how", "often"), ("so", "many"), ("as", "many"), ("the", "can"),
     ("well", "known"), ("the", "known")]
)  # fmt: skip
"""Pairs of words whose second one is no mark."""

ENDS_SCOPE = frozenset(
    [",", ";", ":", ".", "!", "?", "(", ")", "but", "because", "although", "though", "while", "whereas", "since", "if",
     "unless", "so", "therefore", "which", "who"]
)  # fmt: skip
"""Where the reach of a mark ends; a comma only behind the word that it governs."""

FUNCTION = (
    STOP_WORDS
    | _words(
        """would could should may might must shall can cannot also yet however thus hence therefore moreover furthermore
        upon among amongst towards toward within via per another else even still rather quite very really just us one
        ones let lets much many get gets got make makes made thing things way ways it's that's there's they're
        there they've we've i'm let's doesn do does"""
    )
) - frozenset(["before", "after", "more", "against", "above", "below", "under", "over", "up", "down", "most"])
"""Words that carry no meaning of their own."""

SAYING = frozenset(
    f"{base}{ending}"
    for base in _words("""say argue claim believe think hold add reply state note report maintain insist contend assert
    allege suggest warn point feel fear object counter respond assert complain hope worry admit concede stress explain
    observe declare propose""")
    for ending in ("", "s", "d", "ed", "es", "ing")
) | _words("said held thought felt replies replied worries worried argued arguing argues according")
"""Verbs of saying, in all forms."""

ADVERBS_OF_SAYING = _words(
    """also only early family likely finally similarly equally additionally likewise further conversely accordingly
    consequently usually generally commonly frequently typically repeatedly firmly strongly primarily mainly partly
    secondly thirdly firstly lastly particularly specifically especially simply explicitly implicitly publicly
    originally initially previously recently currently reply apply imply"""
)
"""Words in -ly beside a verb of saying that judge nothing."""

DENIES = frozenset(
    stem(word)
    for word in _words(
        """prevent limit little stop end cease avoid refrain impossible difficult hard necessary needed need require
        debatable solve fix ban withhold remove eliminate reduce decrease lessen less lose loss trouble
        problem zero only keep protect too out against unable refuse reject fail failure lack deny ignore
        violate unfair unwilling untrue false wrong myth question questionable doubt doubtful dispute
        disputed rarely hardly barely few poor bad worse worst harm opposite contrary counterproductive
        instead without unless until neither nor ineffective inefficient unnecessary irrelevant unreliable
        insufficient inadequate useless worthless meaningless pointless free rid exempt restrict restrained
        block hinder discourage forbid prohibit abolish abandon disagree low unlikely improbable rely depend"""
    )
)
"""Stems of words that may stand for a negation: where one comes or goes, another mark may come or go for it."""

COMPARES = _words("more less better best worse worst most least than rather instead beyond too out before")
"""Words that compare, or leave something out: they may stand for a negation too."""
