"""Recognises how a sentence opens before it says anything: who says it, and how it follows from the last one."""

from __future__ import annotations

import re

from eirene.text.english import AUXILIARIES, is_third_person

# No run of spaces or letters is ever given back: what follows one could not begin inside of it, and trying would take
# time by the square of the run.
_LIST_MARKER = re.compile(r"(?:(?:[-*+•‣▪–—]|\(?(?:\d{1,3}|[A-Za-z])[.)]|#{1,6}|>++)\s++)*")

# Verbs of saying in their base form: endings are added below, irregular forms stand by themselves.
_SAYING_WORDS = """
    add advance allege answer argue assert believe caution claim complain concede conclude contend counter declare
    emphasise emphasize explain fear feel find hold insist maintain mention note object observe posit propose
    protest reason rejoin remark remind report respond retort say show state stress submit suggest think underline
    urge warn write said held thought felt found wrote written shown reply replies replied worry worries worried
    admit admits admitted
"""
_SAYING = rf"(?:(?:{'|'.join(_SAYING_WORDS.split())})(?:e?s|e?d|ing)?|point(?:s|ed|ing)?\s++out)"
_NOUN_WORDS = """
    advantage answer argument assertion belief benefit case claim concern complaint consideration contention
    criticism danger disadvantage downside drawback fact fear idea issue justification objection opinion perspective
    point position problem proposition question reason rebuttal reply response risk side thought truth upside view
    viewpoint worry
"""
_NOUN = rf"(?:{'|'.join(_NOUN_WORDS.split())})s?"
_PEOPLE = (
    "advocates|critics|defenders|many|opponents|others|people|proponents|sceptics|skeptics|some|supporters|they|those"
)
_WORD = r"(?:[^\s,;:.!?]++\s++)"
# "..., in their eyes, is that"
_ASIDE = r"\s++(?:in(?!\s++wh)|to|for|from|according\s++to|so)(?:\s++[^\s,;:.!?]++){1,5}"

# What joins a sentence to the one before it. A comma follows, or someone who goes on to speak.
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
    {_WORD}{{0,7}}?{_SAYING}(?:\s++(?:also|too|here|again|(?:against|in|for)\s++\S++))?(?:\s*+,)?\s++that\s++
  | {_WORD}{{0,5}}?{_NOUN}(?:\s++(?!(?:that|is|was|are)\b)[^\s,;:.!?]++){{0,5}}?(?:\s*+,{_ASIDE},)?
      \s++(?:is|was|are|being|remains|would\s++be)\s++(?:simply\s++|also\s++)?that\s++
  | {_WORD}{{0,6}}?{_NOUN}(?:\s++[^\s,;:.!?]++){{0,4}}?\s*+:\s++
  | (?:{_PEOPLE})\s++{_WORD}{{0,4}}?{_SAYING}\s++(?=(?:it|this|they|we|there|the)\b)
  | according\s++to\s++{_WORD}{{0,5}}?[^\s,;:.!?]++\s*+,\s++
  | (?:(?:and|but|as\s++well\s++as)\s++)?(?:that|(?-i:how))\s++(?=\S++\s++\S)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# "There is no reason to believe that it harms" says the opposite of "it harms": nothing is taken off.
_DENIES = re.compile(
    r"\b(?:no|not|never|nobody|none|nothing|neither|nor|cannot|hardly|without|doubt|false|wrong|untrue|myth|fail\w*|refus\w*)\b|n['’]t\b",
    re.IGNORECASE,
)

_THAT = re.compile(r"that\s++\Z", re.IGNORECASE)
_VERB = re.compile(r"(?:(?:also|alone|too|still|even|in\s++turn|[a-z]+ly)\s++)?([a-z]+(?:['’]t)?)\b", re.IGNORECASE)


def opening_length(text: str) -> int:
    """How many characters of `text` open it without saying anything: 0 for a plain statement.

    List markers, discourse markers ("Moreover,") and attributions (someone, a verb of saying, "that"; a noun such as
    "objection", "is that") are taken off in turn, as often as they come. Something is always left to say, and an
    attribution that denies what follows stays. So does a "That" which is no joint: "That is why rents rise."
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
    """Where an opening ends: before its "that" where this is no joint but begins what is said.

    So it does before an auxiliary ("Critics say that is unfair"), and at the beginning of a sentence ("That law
    failed."). Of a list's item ("- That rents rise.") only a verb right after it tells: "- That costs a lot."
    """
    that = _THAT.search(found.group())
    if that is None:
        return found.end()
    verb = _VERB.match(text, found.end())
    word = verb[1].lower().replace("’", "'") if verb else ""
    is_capital = that.group()[0] == "T"
    begins = word in AUXILIARIES or (is_capital and (found.start() == 0 or is_third_person(word)))
    return found.start() + that.start() if begins else found.end()
