"""Lexicon of the hallucination rules: values by type, negations, opinions; opposites by `eirene.text`. English only."""

from __future__ import annotations

import re

from eirene.text.opposites import LISTED_OPPOSITES, OPPOSITES

_NUMBER_WORDS = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion dozen
    first second third fourth fifth sixth seventh eighth ninth tenth half twice thrice
"""
_MONTHS = "january february march april june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_NEGATIONS = "not never no none nobody nothing neither nor cannot without n't"
_OPINIONS = """
    amazing amazingly awesome awful beautiful beautifully brilliant brilliantly boring breathtaking charming delightful
    disappointing disappointingly dreadful dull elegant enchanting exciting extraordinary fabulous fantastic fascinating
    gorgeous horrible impressive incredible incredibly iconic inspiring lovely magnificent marvellous marvelous
    masterpiece mediocre memorable mesmerizing mesmerising overrated pathetic perfect perfectly remarkable remarkably
    ridiculous sadly spectacular splendid stunning superb terrible terribly thrilling tragic tragically underrated
    unforgettable unfortunately fortunately luckily wonderful wonderfully worthless
    arguably undoubtedly unquestionably hopefully thankfully regrettably astonishing astounding captivating
"""
_OPINION_PHRASES = re.compile(
    r"\b(?:i|we)\s+(?:think|believe|feel|wish|hope|love|hate|guess|doubt|prefer|must say)\b|\bin my (?:opinion|view)\b"
    r"|\b(?:a|the) must[- ](?:see|read|have|visit)\b|\b(?:everyone|everybody|anyone|nobody) (?:should|must|can|will|"
    r"would|loves?|agrees?|deserves?)\b|\b(?:truly|really|simply|by far|without a doubt) (?:the )?(?:one of|best|worst|"
    r"most|great\w*)\b|\bone of the (?:best|worst|greatest|finest|most \w+)\b|\b(?:is|are|was|were) (?:truly|simply|"
    r"really|so) \w+|\b(?:best|worst|greatest|finest) \w+ (?:ever|of all time)\b|\bno one (?:can|could|should)\b"
    r"|\bit (?:is|was) (?:a (?:pity|shame|pleasure|joy)|sad|clear|obvious) (?:that|to)\b|\bdeserves? (?:more|to be)\b"
)

_NUMBERS = frozenset(_NUMBER_WORDS.split())
_MONTH = frozenset(_MONTHS.split())
_DAY = frozenset(_DAYS.split())
_NEGATION = frozenset(_NEGATIONS.split())
_OPINION = frozenset(_OPINIONS.split())
LEXICON = "\n".join((_NUMBER_WORDS, _MONTHS, _DAYS, LISTED_OPPOSITES, _NEGATIONS, _OPINIONS, _OPINION_PHRASES.pattern))
"""Everything above and the opposites, for a digest."""

_PLAIN = """
    a an the this that these those he she it they we i you his her its their our my your in on at by for from with to of
    and or but if when while as after before during since until because although however moreover also then there here
    what which who where why how all some many most both each every no not such other another one two three yes
    according despite overall finally first second third additionally furthermore meanwhile instead today later
"""
_NO_NAMES = frozenset(_PLAIN.split())
_YEAR = re.compile(r"(?:1\d|20)\d\d\Z")
_NUMERAL = re.compile(r"\d[\d.,:/]*(?:st|nd|rd|th|s|%)?\Z", re.IGNORECASE)


def kind_of_value(word: str) -> str | None:
    """`year`, `number`, `month` or `day` for a word that is one, else None. Small number words count as numbers."""
    if _YEAR.match(word):
        return "year"
    key = word.casefold()
    if _NUMERAL.match(word) or (key in _NUMBERS and key not in ("one", "second", "first", "half")):
        return "number"
    if key in _MONTH and word[0].isupper():
        return "month"
    return "day" if key in _DAY and word[0].isupper() else None


def is_name(word: str) -> bool:
    """Whether a word is written as a name: a capital first, and not a word that sentences open with."""
    return word[:1].isupper() and word.casefold() not in _NO_NAMES and word.casefold() not in _NEGATION


def same_value(a: str, b: str) -> bool:
    """Whether two values are one in another writing: case, separators, a plural or possessive."""
    return _bare(a) == _bare(b) or _bare(a) in _bare(b).split() or _bare(b) in _bare(a).split()


def _bare(text: str) -> str:
    return re.sub(r"[,.'’\-]", "", text.casefold()).removesuffix("s")


def are_opposites(a: str, b: str) -> bool:
    """Whether two words are opposites of the list, or one is the other with a prefix that turns it round."""
    if a == b:
        return False
    short, long = sorted((a, b), key=len)
    turned = len(short) > 3 and any(long == prefix + short for prefix in ("un", "in", "im", "ir", "dis", "non"))
    return turned or b in OPPOSITES.get(a, ())


def is_negation(word: str) -> bool:
    """Whether a word negates: "not", "never", "isn't"."""
    return word in _NEGATION or word.endswith("n't")


def is_opinion(text: str) -> bool:
    """Whether a lower-cased word is one of opinion, or a lower-cased text holds a phrase of one."""
    return text in _OPINION or (" " in text and _OPINION_PHRASES.search(text) is not None)
