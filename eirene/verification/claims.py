"""Claims: which sentences of an answer say something that a given text could carry or contradict."""

from __future__ import annotations

import re

from eirene.text.words import stems

_LEAST = 2
"""Content words of a claim."""
_QUESTION = re.compile(r"[?？][\"'”’)\]*_]*\s*\Z")
_LEADS_IN = re.compile(r"[:：][\"'”’)\]*_]*\s*\Z")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]{1,80}\*\*:?\s*\Z|__[^_]{1,80}__:?\s*\Z)")
_TABLE = re.compile(r"\s*\|")
_SOURCE = (
    r"(?:passages?|contexts?|texts?|documents?|sources?|articles?|information|excerpts?|paragraphs?|data|snippets?)"
)
_GIVEN = r"(?:given\s+|provided\s+|above\s+|structured\s+|retrieved\s+){0,2}"
_NUMBERS = r"\d{1,3}(?:\s*(?:,|and|&|-|–)\s*\d{1,3}){0,4}"
_NOT_THERE = re.compile(
    rf"\b{_SOURCE}\b[^.]{{0,80}}?\b(?:do(?:es)?\s+not|don['’]t|doesn['’]t|is\s+not|are\s+not|no)\b[^.]{{0,40}}?"
    r"\b(?:say|state|mention|provide|contain|specif|give|tell|include|discuss|indicate|enough|sufficient|available)"
    rf"|\b(?:not|n['’]t|no)\b[^.]{{0,60}}?\b(?:in|from|by|based\s+on)\s+the\s+{_GIVEN}{_SOURCE}\b"
    r"|\b(?:it|they|this|these)\s+(?:do(?:es)?\s+not|don['’]t|doesn['’]t)\s+(?:\w+ly\s+)?(?:mention|specify|state"
    r"|(?:provide|give|contain|include)\s+(?:any\s+|an?\s+|the\s+|enough\s+)?(?:\w+\s+){0,2}"
    r"(?:information|instructions?|details?|answers?|guidance|steps))\b"
    r"|\bunable\s+to\s+(?:answer|find|determine)\b|\bcannot\s+(?:answer|be\s+(?:answered|determined))\b",
    re.IGNORECASE,
)
_WINDOW = 400
"""Characters of a sentence that are looked at for talk about the passages."""
_OPENING = re.compile(
    rf"\A\s*(?:based\s+on|according\s+to|as\s+(?:stated|mentioned|described|per)(?:\s+in)?|from|in)\s+(?:the\s+)?{_GIVEN}"
    rf"{_SOURCE}(?:\s+(?:provided|given|above|{_NUMBERS}))?\s*,\s*"
    rf"|\A\s*(?:the\s+{_GIVEN}{_SOURCE}|passages?\s+{_NUMBERS})\s+(?:also\s+)?"
    r"(?:states?|says?|suggests?|mentions?|notes?|indicates?|explains?|reports?)\s+that\s+",
    re.IGNORECASE,
)
_CITED = re.compile(
    r" ?[(\[] ?(?:(?:as )?(?:stated|mentioned|described|suggested|see|from|according to) )?(?:in )?(?:the )? ?"
    rf"{_SOURCE} {_NUMBERS} ?[)\]]",
    re.IGNORECASE,
)
_MARKER = re.compile(r"\A\s*(?:[-*•‣▪]\s+|\(?(?:\d{1,3}|[a-z])[.)]\s+|step\s+\d{1,3}\s*[:.]\s*)", re.IGNORECASE)


def claims_nothing(sentence: str) -> str | None:
    """Why a sentence is not judged: a question, a heading, a lead-in, talk about the passages; None for a claim."""
    text = sentence.strip()
    head, tail = text[:_WINDOW], text[-_WINDOW:]
    found = (
        (_QUESTION.search(tail), "a question"),
        (_HEADING.match(head), "a heading"),
        (_LEADS_IN.search(tail), "leads in what follows"),
        (_TABLE.match(head), "a table row"),
        (_NOT_THERE.search(head), "says what the passages do not hold"),
        (len(set(stems(_CITED.sub("", text)))) < _LEAST, "too short to claim anything"),
    )
    return next((why for is_so, why in found if is_so), None)


def claim_of(sentence: str) -> str:
    """What is compared with the passages: the sentence without list marker, emphasis, "(Passage 2)" and openings such
    as "Based on the passages," and "Passage 2 states that"."""
    text = _CITED.sub("", sentence.replace("**", "").replace("__", ""))
    text = _MARKER.sub("", text, count=1)
    text = _OPENING.sub("", text, count=1).strip()
    return text[:1].upper() + text[1:] if text else sentence.strip()
