"""Refusals and denials: a reply that will not do the task, and a reason which says that there is no fault."""

from __future__ import annotations

import re

_MAX_WORDS = 80
_OPENS = re.compile(
    r"\W*(?:i(?:['’]m| am) (?:very )?sorry|sorry\b|i (?:can(?:no|['’])t|am unable|am not able|won['’]t|will not)\b|"
    r"as an ai\b|unfortunately, i (?:can|am)|i apologi[sz]e)",
    re.IGNORECASE,
)

_CANNOT = (
    r"(?:can(?:['’]t|not| not)|won['’]t|will not|(?:am |are |['’]m |['’]re )?(?:un|not )able to|(?:must )?decline to)"
)
_HELP = r"(?:help|assist|comply|fulfil{1,2}|answer|provide|accommodate|process|complete|respond|disclose)"
_MAKE = r"(?:give|offer|share|generate|create|write|produce|continue with|engage|participate|discuss|support|proceed)"
_OF_US = r"(?:help|assist|comply|fulfil{1,2}|provide|answer) (?:you|with|this|that|your|the|a)"
_REFUSES = re.compile(
    rf"\bi ?{_CANNOT} (?:\w+ly )?(?:{_HELP}|{_MAKE})\b(?! but\b| it\b)|\bwe ?{_CANNOT} (?:\w+ly )?{_OF_US}\b"
    rf"|(?:\A|\b(?:sorry|apologi[sz]e)\W{{1,3}}(?:but )?)i ?{_CANNOT}(?: do (?:that|so|this))?\W*\Z"
    r"|\bi (?:must |have to )?decline\W*\Z"
    r"|\b(?:ich kann|wir können|je ne peux pas|no puedo|non posso|não posso|ik kan)\b[^.]{0,60}"
    r"\b(?:nicht|aider|répondre|ayudar|responder|aiutar\w*|rispondere|ajudar|niet)\b"
    r"|я не могу (?:помочь|ответить|выполнить)|我(?:无法|不能)(?:提供|帮助|回答|协助|满足)"
    r"|お手伝い(?:でき|することはでき)ません|お答えできません|도와드릴 수 없",
    re.IGNORECASE,
)
_TURNS = re.compile(
    r"\b(?:however|but|instead|that said|here (?:is|are)|here['’]s|below|in general|generally)\b"
    r"(?!,? i(?:['’]\w+| can| could| would| am) (?:still |also )?(?:be )?(?:happy|glad|help|assist|try)\b)"
    r"(?:\W+\w+){6}",
    re.IGNORECASE,
)
_FIRST = re.compile(r"[^.!?\n。！？]{0,400}[.!?\n。！？]?")


def opens_as_refusal(text: str) -> bool:
    """Whether a short text begins as refusals do; so may an answer that apologises."""
    return len(text.split()) <= _MAX_WORDS and _OPENS.match(text) is not None


def is_refusal(text: str) -> bool:
    """Whether a text only refuses: it is short, and its first or second sentence cannot or will not do the task.

    "I cannot stress this enough" is no refusal, nor a text that goes on to answer ("I cannot give advice, but in
    general ..."). Knows ten languages; in another a refusal is taken for an answer.
    """
    if len(text.split()) > _MAX_WORDS:
        return False
    at = 0
    for _ in range(2):
        sentence = _FIRST.match(text, at)
        if sentence is None:
            return False
        refuses = _REFUSES.search(sentence.group().strip())
        if refuses is not None:
            begins = at + refuses.end()
            return _TURNS.search(text, begins) is None
        at = sentence.end()
    return False


_LONGEST = 200  # characters of a reason that may say no more than this
_THING = (
    r"(?:(?:the|this|that) )?(?:statement|sentence|claim|answer|passage|span|part|text|information|it|this|that|all)"
)
_NONE = re.compile(
    r"(?:(?:there|this|it|that)(?: is|'s) )?(?:no|not an?) (?:actual |real )?(?:error|mistake|problem|issue|fault|"
    r"hallucination|contradiction)(?: here| at all| found| in this)?"
    r"|nothing (?:is )?(?:wrong|missing|unsupported|to mend|to correct)(?: here)?"
    rf"|{_THING}(?: is|'s) (?:(?:fully|entirely|completely|in fact|actually|well|perfectly) )?"
    r"(?:correct|accurate|supported|fine|right|consistent|faithful|complete|sufficient)"
    r"(?: (?:by|in|with|to) (?:the |this |that )?(?:given )?(?:passages?|references?|texts?|context|sources?|"
    r"arguments?|question|answer)(?: \d{1,4})?| by \[\d{1,4}\])?"
)


def denies_fault(reason: str) -> bool:
    """Whether a reason as a whole says that there is no fault: "factual: the statement is correct."

    "The statement is correct, but the year is not" does not.
    """
    if len(reason) > _LONGEST:
        return False
    said = " ".join(reason.lower().replace("’", "'").split()).strip("*_`\"' .!:;-")
    return _NONE.fullmatch(said) is not None
