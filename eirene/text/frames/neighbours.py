"""Frames of a text's sentences, with what the sentence before or after makes of one: "The following is a myth."."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eirene.text.frames.frame_words import LABELS, OPEN, SAYING, TRUE
from eirene.text.frames.sentence import LONGEST, FrameKind, StatementFrame, frame_of
from eirene.text.polarity.marks import read_marks

_LIST_ITEM = re.compile(r"\s*(?:[-*•‣▪–]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s")
_POINTS_ON = re.compile(r"\b(?:following|next|below)\b|\b(?:this|here)\s+is\b|:\W*\Z", re.IGNORECASE)
_STATEMENT = r"(?:claim|statement|story|report|rumou?r|idea|belief|notion|assertion|account|article|allegation)s?"
_POINTS_BACK = re.compile(
    rf"\W*(?:(?:but|however|yet|in\s+fact|in\s+reality|actually)\b\W*)?(?:(?:this|that|it)['’]s\b"
    rf"|(?:(?:this|that|it|these|both)\b|(?:the|this|that|these)\s+(?:\w+\s+)?{_STATEMENT}\b)(?:\s+\w+)?\s+"
    r"(?:is|was|are|were|isn['’]t|wasn['’]t|has|have|had|turned|proved)\b|(?:verdict|rating|ruling|fact[ -]check)\s*:)",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"\b(?:that|wh(?:en|at|y|o|om|ose|ich|ere|ether)|how|if|to(?!\s+(?:be|have)\b))\s", re.IGNORECASE)
"""What an "It is a myth" may be about that stands behind it: "that ...", "to say ..."."""
_TAKEN_BACK = re.compile(
    rf"\b(?:retract|withdr[ae]w|den(?:y|ie)|debunk|refut|disprov)\w*\s+(?:this|that|the|its|these)\s+(?:\w+\s+)?{_STATEMENT}\b",
    re.IGNORECASE,
)
_ERROR = re.compile(r"\ban?\s+(?:\w+\s+)?(?:error|misprint|typo|misunderstanding)\b", re.IGNORECASE)
_YES, _NO = re.compile(r"\W*(?:yes|indeed|correct)\b", re.IGNORECASE), re.compile(r"\W*no\b\W", re.IGNORECASE)
_TURNS_BACK = re.compile(r"[,;]\s+(?=(?:but|yet)\s+(?:this|that)\b)", re.IGNORECASE)
_ASKED = {"question", "ask", "wonder"}
"""What leads to an answer as a rule: "Good question!", "Here is the answer to the question:"."""
_SHORT = 25
"""Words of a sentence that speaks of the one beside it."""


def frames_of(sentences: Sequence[str]) -> tuple[StatementFrame | None, ...]:
    """The frame of each of a text's sentences, in order; None for one that says what it says."""
    found: list[StatementFrame | None] = []
    lead: FrameKind | None = None
    for n, text in enumerate(sentences):
        is_item = _LIST_ITEM.match(text) is not None
        if not (lead and is_item):
            lead = _said_before(sentences[n - 1]) if n else None
        after = sentences[n + 1] if n + 1 < len(sentences) else ""
        around = lead or _said_after(after)
        own = None if around else _taken_back(text) or frame_of(text)
        found.append(StatementFrame(around, text) if around else _answered(own, text, after))
    return tuple(found)


def _said_before(text: str) -> FrameKind | None:
    """What a sentence says of the next one: "The following is a myth.", "Common misconceptions:"."""
    words = _words(text)
    if not 0 < len(words) <= _SHORT or not (_POINTS_ON.search(text) or len(words) <= 3):
        return None
    return _label(text, [word for word in words if word not in _ASKED])


def _said_after(text: str) -> FrameKind | None:
    """What a sentence says of the one before: "This is false.", "The paper later retracted this statement."."""
    words = _words(text)
    if not 0 < len(words) <= _SHORT:
        return None
    if _TAKEN_BACK.search(text):
        return "denied"
    pointer = _POINTS_BACK.match(text)
    if pointer is None or _GOES_ON.search(text, pointer.end()):
        return None
    return "open" if _ERROR.search(text) else _label(text, words)


def _taken_back(text: str) -> StatementFrame | None:
    """What is told in a sentence that ends in "..., but that is a myth"."""
    turn = _TURNS_BACK.search(text)
    if turn is None or not SAYING & set(_words(text[: turn.start()])):
        return None
    kind = _said_after(text[turn.end() :])
    return StatementFrame(kind, f"{text[: turn.start()]}.") if kind else None


def _label(text: str, words: Sequence[str]) -> FrameKind | None:
    denials = sum(mark.kind == "negation" for mark in read_marks(text).marks)
    if LABELS & set(words) or (len(words) <= 4 and words[-1] == "wrong"):
        return None if denials else "denied"
    if TRUE & set(words) and denials:
        return "denied"
    return "open" if OPEN & set(words) and not denials else None


def _words(text: str) -> list[str]:
    return [w.stem for w in read_marks(text).words if w.word[0].isalnum()] if len(text) <= LONGEST else []


def _answered(frame: StatementFrame | None, text: str, after: str) -> StatementFrame | None:
    """A question that the next sentence answers in a word."""
    if frame is None or frame.kind != "open" or not text.rstrip().endswith("?"):
        return frame
    if _YES.match(after):
        return StatementFrame("affirmed", frame.statement, frame.rest)
    return StatementFrame("denied", frame.statement, frame.rest) if _NO.match(after) else frame
