"""Clauses: cuts an answer's sentences into statements, and strips discourse markers and attributions off them.

Both by rules of English that know no data set: a sentence is cut where another statement begins, and what only says
*that* something is claimed ("Critics reply that", "On the other hand,") is left out of the text that an encoder reads.
Offsets point into the answer. A text in another language gives whole sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eirene.text.cancellation import check_cancelled
from eirene.text.english import (
    AUXILIARIES,
    CONTRACTED_SUBJECTS,
    SUBORDINATORS,
    finite_verb,
    is_third_person,
    looks_like_base,
)
from eirene.text.form import is_form
from eirene.text.remembered import remembered
from eirene.text.sentences import Sentence
from eirene.text.words import listed_words, word_set

MIN_CLAUSE_WORDS = 3
"""Least words of a clause."""

_WORD = re.compile(r"[^\W_][\w'’-]*")
# Strong joints open a statement whatever follows; weak ones may also join two words, as the words around them tell.
# Possessive quantifiers (no backtracking into runs of spaces) keep all patterns of this file linear in time.
_STRONG = re.compile(
    r"""(?:(?<!\s)\s++)?;\s++
      | (?:,|(?<!\s))\s++(?:as\s++well\s++as|and\s++also|and|but|or|while)\s++that\s++(?=\S)
      | ,\s++(?:whereas|although|though)\s++""",
    re.VERBOSE | re.IGNORECASE,
)
_WEAK = re.compile(r"(?:,|(?<!\s)\s++[-–—]{1,3}|(?<!\s))\s++(?:and|but|while|yet)\s++", re.IGNORECASE)

# A statement that opens with one of these refers back to the one before: neither could be judged alone.
_OBJECT_WORDS = "a an the their its his her our your my it them these those this that to for"
_LEANS_BACK = word_set("clauses backward words")
_INNER = SUBORDINATORS - {"if"}
_OBJECTS = frozenset(_OBJECT_WORDS.split())
_ADVERBS = frozenset(["also", "even", "still", "often", "yet", "too", "not"])
_CONDITIONS = frozenset(["if", "when", "because", "since", "unless", "although", "though"])

_REACH = 10
"""Within so many words of a statement stands its verb."""

_NEAR = 600
"""Characters on either side of a joint that are looked at."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence (`is_clause` False) or a clause of an answer.

    `sentence` counts from 0. `answer[start:end]` is the piece without surrounding white space and joining words; `text`
    is the same for the encoder, without an opening such as "Critics add that".
    """

    sentence: int
    start: int
    end: int
    text: str
    is_clause: bool


def units_of(answer: str, sentences: Sequence[Sentence]) -> tuple[Unit, ...]:
    """The units of an answer, sentence by sentence: the sentence itself, then its clauses if it has more than one.

    `sentences` are those of `split_sentences`; structure has no clauses. Each has exactly one unit that is no clause,
    with an empty text where it is white space alone.
    """
    units: list[Unit] = []
    for index, sentence in enumerate(sentences):
        check_cancelled()
        start, end = sentence.text_start, sentence.text_end
        units.append(Unit(index, start, end, core_text(answer[start:end]), False))
        spans = [] if is_form(answer[start:end]) else list(clause_spans(answer[start:end]))
        if len(spans) > 1:
            pieces = [(start + a, start + b) for a, b in spans]
            units.extend(Unit(index, a, b, core_text(answer[a:b]), True) for a, b in pieces)
    return tuple(units)


def core_text(text: str) -> str:
    """The text without its opening (see `opening_length`); never empty if `text` is not."""
    rest = text[opening_length(text) :].strip()
    return rest or text.strip()


@remembered(512, longest=4_000)
def clause_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Offsets of the clauses of one sentence without the joining words; one span where there is no cut.

    The first clause keeps the sentence's opening ("Supporters argue that ...").
    """
    parts = _cut(text, 0, len(text), _STRONG)
    return tuple(span for start, end in parts for span in _cut(text, start, end, _WEAK))


def _cut(text: str, start: int, end: int, joints: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The pieces of text[start:end] between those joints that stand between two statements."""
    for joint in joints.finditer(text, start, end):
        left = text[max(start, joint.start() - _NEAR) : joint.start()]
        before, after = _words(core_text(left)), _words(text[joint.end() : min(end, joint.end() + _NEAR)])
        if min(len(before), len(after)) < MIN_CLAUSE_WORDS:
            continue
        if joints is _WEAK and not (_ends_statement(before, left) and _starts_statement(after)):
            continue
        # In "but that does not mean ..." the joint has the subject.
        if after[0] in AUXILIARIES and after[0] not in CONTRACTED_SUBJECTS:
            continue
        yield start, joint.start()
        start = joint.end()
    yield start, end


def _words(text: str) -> list[str]:
    return [match.group().lower().replace("’", "'") for match in _WORD.finditer(text)]


def _ends_statement(words: list[str], text: str) -> bool:
    """Whether the words before "and" are a statement, not half of a pair ("both a") or of a condition ("if a")."""
    if "," not in text and words[0] in SUBORDINATORS:
        return False
    if {"between", "both", "either"} & set(words[-4:]):
        return False
    # In "... if the separation of church" only what follows "if" can be the statement before "and".
    inner = max((n for n, word in enumerate(words) if word in _CONDITIONS), default=-1)
    return finite_verb(words[inner + 1 :]) is not None


def _starts_statement(words: list[str]) -> bool:
    """Whether the words after "and" begin with a subject and its verb."""
    if words[0] in _LEANS_BACK:
        return False
    while words and (words[0] in _ADVERBS or words[0].endswith("ly")):
        words = words[1:]
    if words and words[0] in CONTRACTED_SUBJECTS:
        return True
    verb = finite_verb(words[:_REACH])
    if not verb:  # none, or a verb without a subject: "and helps to ..."
        return False
    if any(word in _INNER for word in words[:verb]):
        return False
    return not (looks_like_base(words[0]) and not words[0].endswith("s") and words[1] in _OBJECTS)


_LIST_MARKER = re.compile(r"(?:(?:[-*+•‣▪–—]|\(?(?:\d{1,3}|[A-Za-z])[.)]|#{1,6}|>++)\s++)*")

# Verbs of saying: base forms, to which endings are added below, and irregular forms.
_SAYING = rf"(?:(?:{'|'.join(listed_words('clauses saying words'))})(?:e?s|e?d|ing)?|point(?:s|ed|ing)?\s++out)"
_NOUN = rf"(?:{'|'.join(listed_words('clauses noun words'))})s?"
_PEOPLE = "|".join(listed_words("clauses people"))
_DISCOURSE_WORD = r"(?:[^\s,;:.!?]++\s++)"
# "..., in their eyes, is that"
_ASIDE = r"\s++(?:in(?!\s++wh)|to|for|from|according\s++to|so)(?:\s++[^\s,;:.!?]++){1,5}"

# Discourse markers. A comma follows, or a person who says something.
_DISCOURSE = r"""(?:
    on\s++(?:the\s++)?(?:one|other|contrary|flip|opposite)(?:\s++(?:hand|side|view))? | (?:by|in)\s++contrast
  | in\s++(?:addition|favou?r|response|reply|particular|fact|short|general|summary|conclusion|the\s++first\s++place)
  | (?:first|second|third|fourth|fifth|last)(?:ly)?(?:\s++of\s++all)? | final(?:ly)? | next | then | also | too | again
  | besides | further | furthermore | moreover | additionally | likewise | similarly | equally | however | conversely
  | nevertheless | nonetheless | still | yet | instead | meanwhile | alternatively | rather | indeed | thus | hence
  | therefore | consequently | as\s++a\s++result | accordingly | for\s++(?:example|instance|one(?:\s++thing)?|another)
  | what(?:\s++i|['’])s\s++more | even\s++so | at\s++the\s++same\s++time | that\s++said | of\s++course
  | to\s++begin\s++with | to\s++sum\s++up | overall | and | but | so | while | whereas | although | though
  )"""
_CONNECTIVE = re.compile(
    rf"{_DISCOURSE}(?:\s*+,\s*+|\s++(?=(?:{_PEOPLE}|it|there)\b))",
    re.VERBOSE | re.IGNORECASE,
)

# In this order: "Critics also reply that", "A further objection to this is that", "The main point in favour:",
# "They say it ...", "According to this view,", and a "that" which an earlier clause's attribution governs.
_ATTRIBUTION = re.compile(
    rf"""
    {_DISCOURSE_WORD}{{0,7}}?{_SAYING}(?:\s++(?:also|too|here|again|(?:against|in|for)\s++\S++))?(?:\s*+,)?\s++that\s++
  | {_DISCOURSE_WORD}{{0,5}}?{_NOUN}(?:\s++(?!(?:that|is|was|are)\b)[^\s,;:.!?]++){{0,5}}?(?:\s*+,{_ASIDE},)?
      \s++(?:is|was|are|being|remains|would\s++be)\s++(?:simply\s++|also\s++)?that\s++
  | {_DISCOURSE_WORD}{{0,6}}?{_NOUN}(?:\s++[^\s,;:.!?]++){{0,4}}?\s*+:\s++
  | (?:{_PEOPLE})\s++{_DISCOURSE_WORD}{{0,4}}?{_SAYING}\s++(?=(?:it|this|they|we|there|the)\b)
  | according\s++to\s++{_DISCOURSE_WORD}{{0,5}}?[^\s,;:.!?]++\s*+,\s++
  | (?:(?:and|but|as\s++well\s++as)\s++)?(?:that|(?-i:how))\s++(?=\S++\s++\S)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# "There is no reason to believe that it harms" is the opposite of "it harms": nothing is stripped.
_DENIES = re.compile(
    r"\b(?:no|not|never|nobody|none|nothing|neither|nor|cannot|hardly|without|doubt|false|wrong|untrue|myth|fail\w*|refus\w*)\b|n['’]t\b",
    re.IGNORECASE,
)

_THAT = re.compile(r"that\s++\Z", re.IGNORECASE)
_VERB = re.compile(r"(?:(?:also|alone|too|still|even|in\s++turn|[a-z]+ly)\s++)?([a-z]+(?:['’]t)?)\b", re.IGNORECASE)


@remembered(1024, longest=4_000)
def opening_length(text: str) -> int:
    """The length of the opening of `text` that a statement does not need: 0 for a plain statement.

    That is a list marker, then discourse markers ("Moreover,") and attributions (someone, a verb of saying, "that"; a
    noun such as "objection", "is that"), up to four. Something is always left, and an attribution that denies what
    follows stays. So does a "That" which is a subject: "That is why rents rise."
    """
    marker = _LIST_MARKER.match(text)
    length = marker.end() if marker else 0
    for _ in range(4):
        found = _CONNECTIVE.match(text, length) or _ATTRIBUTION.match(text, length)
        if found is None or _DENIES.search(found.group()) or not text[found.end() : found.end() + 200].strip(" .!?;,"):
            return length
        length = _end(found, text)
    return length


def _end(found: re.Match[str], text: str) -> int:
    """Where an opening ends: before its "that" where this is the subject of the statement.

    It is one before an auxiliary ("Critics say that is unfair"), and at the beginning of a sentence ("That law
    failed."); in a list item ("- That rents rise.") only before a verb: "- That costs a lot."
    """
    that = _THAT.search(found.group())
    if that is None:
        return found.end()
    verb = _VERB.match(text, found.end())
    word = verb[1].lower().replace("’", "'") if verb else ""
    is_capital = that.group()[0] == "T"
    begins = word in AUXILIARIES or (is_capital and (found.start() == 0 or is_third_person(word)))
    return found.start() + that.start() if begins else found.end()
