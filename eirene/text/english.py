"""English grammar by rule, with short word lists: finite verbs, statements, capitals within a sentence, torn ends.

Enough to tell whether "and" joins two statements ("it is cheap and everyone gains") or two words ("cheap and safe"),
and to work an argument into a sentence; far from a tagger. No data set is known to the rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from eirene.text.words import word_set, words_in

_SIDES = {name: side for side in ("for", "against") for name in word_set(f"sides {side}")}


_FINITE = word_set("english finite")
# Verbs that are hardly ever nouns: their plain and -s forms are the verb of a statement.
_VERBS = word_set("english verbs")
_NO_SUBJECT_BEFORE = words_in("to who which that a an the of for in with by and or not his her its their our no")
_QUESTION_WORDS = words_in("why what how when where who which whose because no yes not so and but or")
_LOWER = word_set("english lower")
_DETERMINERS = word_set("english determiners")
_LOWER_ENDING = re.compile(r"(?:tions?|ments?|ness|ity|ities|able|ible|ful|less|ous|ives?|ships?|[a-z]{3}ing|ly)$")
_NAMES_LIKE_WORDS = words_in("beijing sterling boeing italy sicily facebook reading nothing chongqing")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_TERMINAL = re.compile(r"[.!?…。！？؟۔।]['\"”’)\]»*_]*$")
_ENGLISH = word_set("english english")


def side_of(name: str | None) -> str:
    """`for` or `against` where a perspective's name has a word for it, else the empty string."""
    words = [w.lower() for w in _WORD.findall(name or "")]
    sides = {_SIDES[w] for w in words if w in _SIDES}
    return sides.pop() if len(sides) == 1 and len(words) <= 3 else ""


def is_english(text: str) -> bool:
    """Whether common English words make up at least an eighth of the first 400 words."""
    words = [w.lower() for w in _WORD.findall(text[:4000])][:400]
    return 8 * sum(w in _ENGLISH for w in words) >= max(len(words), 1)


class Decapitalizer:
    """Lower-cases a statement's first letter for the middle of a sentence, unless its first word may be a name.

    A word that `texts` have in lower case is no name.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)
        self._seen: frozenset[str] | None = None

    def lowered(self, text: str) -> str | None:
        """`text` for the middle of a sentence; None where its first word may be a name."""
        found = _WORD.search(text)
        if found is None or found.start() > 0 or not text[0].isupper():
            return text
        words = _WORD.findall(text)
        if words[0] in ("I", "I'm", "I’m", "I've", "I’ve", "I'd", "I’d") or any(c.isupper() for c in words[0][1:]):
            return text
        if _is_title(words) or (words[0].lower() not in _DETERMINERS and words[1:] and words[1][:2].istitle()):
            return None  # a headline, or a name of two words
        return text[0].lower() + text[1:] if self._is_common(words[0]) else None

    def _is_common(self, word: str) -> bool:
        lower = word.lower()
        stem = re.split(r"['’-]", lower)[0]
        if lower in _NAMES_LIKE_WORDS:
            return False
        forms = {lower, stem}
        return bool(forms & _LOWER or _LOWER_ENDING.search(stem) or forms & self._small_words())

    def _small_words(self) -> frozenset[str]:
        if self._seen is None:
            self._seen = frozenset(w for text in self._texts for w in _WORD.findall(text) if w[0].islower())
        return self._seen


def _is_title(words: list[str]) -> bool:
    long = [w for w in words if len(w) > 3]
    return len(long) > 2 and 3 * sum(w[0].isupper() for w in long) >= 2 * len(long)


def is_statement(text: str) -> bool:
    """Whether a text reads well after "that": one sentence, no question, with a subject and a finite verb."""
    words = [w.lower().replace("’", "'") for w in _WORD.findall(text)]
    if len(words) < 3 or words[0] in _QUESTION_WORDS or words[0] in _FINITE or _is_verb(words[0]):
        return False
    body = _TERMINAL.sub("", text.strip())
    if re.search(r"[.!?…:]\s|[?]", body) or text.rstrip("\"'”’)").endswith("?"):
        return False
    return any(
        (word in _FINITE and before not in ("to", "who", "which"))
        or (_is_verb(word) and before not in _NO_SUBJECT_BEFORE and not before.endswith("'s"))
        for before, word in pairwise(words)
    )


def _is_verb(word: str) -> bool:
    return (
        word in _VERBS
        or any(word.endswith(s) and word[: -len(s)] in _VERBS for s in ("s", "es"))
        or (word.endswith("ies") and word[:-3] + "y" in _VERBS)
    )


def as_sentence(argument: str) -> str:
    """An argument as a sentence of its own: white space collapsed, a capital letter first, a full stop last."""
    text = " ".join(argument.split()).lstrip(":;,.-–— ") or " ".join(argument.split())
    if not _TERMINAL.search(text):
        text = text.rstrip(":;,-–— ") + ("。" if text[-1:] > "\u2e7f" and text[-1:] < "\uac00" else ".")
    first = text[:1].upper()
    return first + text[1:] if len(first) == 1 else text


AUXILIARIES = word_set("english auxiliaries")
# Verbs of statements about public questions; regular forms follow from the base form.
_BASE_FORMS = word_set("english base forms")
_IRREGULAR = word_set("english irregular")
_NOT_BEFORE_A_VERB = word_set("english not before a verb")
_PRONOUNS = word_set("english pronouns")
SUBORDINATORS = word_set("english subordinators")

CONTRACTED_SUBJECTS = frozenset(["it's", "there's", "we're", "you're", "we've", "it'll", "we'll"])
"""Auxiliaries contracted with their subject."""
_ADJECTIVE = re.compile(r"(?:al|ive|ous|ic|ary|ful|less|ible|able|ish|est)$")


def third_person(base: str) -> str:
    """The third-person form of a verb in its base form, by rule."""
    if base.endswith(("s", "sh", "ch", "x", "z", "o")):
        return base + "es"
    if base.endswith("y") and base[-2:-1] not in tuple("aeiou"):
        return base[:-1] + "ies"
    return base + "s"


_THIRD_PERSON = frozenset(third_person(base) for base in _BASE_FORMS)


def finite_verb(words: Sequence[str]) -> int | None:
    """Index of the first word (lower case) that reads like a finite verb, or None."""
    for index, word in enumerate(words):
        if word in AUXILIARIES:
            return index
        if index and _is_verb_here(words[index - 1], word, has_next=index + 1 < len(words)):
            return index
    return None


def is_third_person(word: str) -> bool:
    """Whether the word (lower case) can be a verb in its third-person form."""
    return word in _THIRD_PERSON


def looks_like_base(word: str) -> bool:
    """Whether the word can be a verb in its base or third-person form."""
    return word in _BASE_FORMS or word in _THIRD_PERSON


def _is_verb_here(previous: str, word: str, *, has_next: bool) -> bool:
    if previous in _NOT_BEFORE_A_VERB and previous not in _PRONOUNS:
        return False
    if word in _IRREGULAR:
        return True
    if word in _BASE_FORMS:
        return has_next and (
            previous in _PRONOUNS or (previous.endswith("s") and not previous.endswith(("ss", "us", "is")))
        )
    if word in _THIRD_PERSON:
        return has_next and not _ADJECTIVE.search(previous)
    return False


_ENDLESS = re.compile(
    r"\b(?:the|an?|and|or|nor|because|although|whereas|unless|my|our|your|their|every|than|whose)[.…!]*\s*\Z"
    r"|\b(?:of|from|with|into|between)\s*\Z|,\s*\Z",
    re.IGNORECASE,
)


def is_torn(sentence: str) -> bool:
    """Whether an English sentence ends with a word that goes on, whatever is before it."""
    return _ENDLESS.search(sentence) is not None
