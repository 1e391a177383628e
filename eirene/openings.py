"""Recognises how a sentence opens before it says anything: who says it, and how it follows from the last one."""

from __future__ import annotations

import re

_MARKER = r"""(?:(?:[-*+•‣▪–—]|\(?(?:\d{1,3}|[A-Za-z])[.)]|\#{1,6}|>+)\s+)*"""

# Verbs and nouns of saying. `say` covers says, said, saying: endings are added below.
_SAY_VERBS = [
    "add admit advance allege answer argue assert believe caution claim complain concede conclude contend counter",
    "    declare emphasi[sz]e explain fear feel hold insist maintain mention note object observe point\\ out posit propose protest reason",
    "    rejoin remark remind reply respond retort say state stress submit suggest think underline urge warn worry write report show",
    "    find",
]
_VERBS = "|".join(v.replace("\\ ", r"\s+") for line in _SAY_VERBS for v in re.findall(r"(?:\\ |\S)+", line))
_IRREGULAR = r"said|held|thought|felt|found|wrote|written|shown|replied|replies|worries|worried|says|denied|denies"
_SAYING = rf"(?:(?:{_VERBS})(?:e?s|e?d|ing)?|pointed\s+out|points\s+out|pointing\s+out|{_IRREGULAR})"
_NOUN = r"""(?:advantage|answer|argument|assertion|belief|benefit|case|claim|concern|complaint|consideration|contention|criticism|danger|
    disadvantage|downside|drawback|fact|fear|idea|issue|justification|objection|opinion|perspective|point|position|problem|proposition|
    question|reason|rebuttal|reply|response|risk|side|thought|truth|upside|view|viewpoint|worry)s?"""
_WORDS = r"(?:[^\s,;:.!?]+\s+)"

_DISCOURSE = r"""(?:
    on\s+(?:the\s+)?(?:one|other|contrary|flip|opposite)(?:\s+(?:hand|side|view))? | on\s+the\s+contrary | by\s+contrast | in\s+contrast
  | in\s+(?:addition|favou?r|response|reply|particular|fact|short|general|summary|conclusion|the\s+first\s+place)
  | (?:first|second|third|fourth|fifth|last)(?:ly)?(?:\s+of\s+all)? | final(?:ly)? | next | then | also | too | again | besides | further
  | furthermore | moreover | additionally | likewise | similarly | equally | however | conversely | nevertheless | nonetheless | still
  | yet | instead | meanwhile | alternatively | rather | indeed | thus | hence | therefore | consequently | as\s+a\s+result | accordingly
  | for\s+(?:example|instance|one(?:\s+thing)?|another) | what\s+is\s+more | what's\s+more | even\s+so | at\s+the\s+same\s+time
  | that\s+said | of\s+course | to\s+begin\s+with | to\s+sum\s+up | overall | and | but | so | while | whereas | although | though
  )"""

_ATTRIBUTION = re.compile(
    rf"""
      (?:{_WORDS}){{0,7}}?(?:{_SAYING})(?:\s+(?:also|too|here|again|against\s+(?:it|this)|in\s+(?:favou?r|reply|response|turn)))?\s*,?\s+that\s+
    | (?:{_WORDS}){{0,5}}?{_NOUN}(?:\s+(?!that\b|is\b|was\b)[^\s,;:.!?]+){{0,5}}?\s+(?:is|was|are|being|remains|would\s+be)\s+(?:simply\s+|also\s+)?that\s+
    | (?:{_WORDS}){{0,6}}?{_NOUN}(?:\s+[^\s,;:.!?]+){{0,4}}?\s*:\s+
    | (?:those|people|many|some|critics|they|others|supporters|opponents|advocates|proponents)\s+(?:{_WORDS}){{0,4}}?(?:{_SAYING})\s+(?=(?:it|this|they|we|there|the)\b)
    | according\s+to\s+(?:{_WORDS}){{0,5}}?[^\s,;:.!?]+\s*,\s+
    | (?:that|how)\s+(?=\S+\s+\S+\s+\S+)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CONNECTIVE = re.compile(
    rf"{_DISCOURSE}(?:\s*,\s*|\s+(?=(?:they|it|there|some|others|critics|supporters)\b))", re.VERBOSE | re.IGNORECASE
)
_LEADING = re.compile(_MARKER, re.VERBOSE)


def opening_length(text: str) -> int:
    """How many characters of `text` open it without saying anything: 0 for a plain statement.

    List markers, discourse markers ("Moreover,") and attributions (someone, a verb of saying, "that"; a noun such as
    "objection", "is that") are taken off in turn, as often as they come. Something is always left to say.
    """
    at = _LEADING.match(text)
    length = at.end() if at else 0
    for _ in range(4):
        found = _CONNECTIVE.match(text, length) or _ATTRIBUTION.match(text, length)
        if found is None or not text[found.end() :].strip(" .!?;,"):
            return length
        length = found.end()
    return length
