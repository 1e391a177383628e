"""Whether a judge's reply says of the whole answer the opposite of its verdict: "Verdict: yes. So: no hallucination."

Such a verdict is unread: nobody can tell which of the two was meant. The sentence right before the verdict counts, with
which the thinking ends, and all that stands after it. Only plain statements about the answer or all of its claims do;
what is said of one claim on the way, under a condition or as a question is part of the thinking.
"""

from __future__ import annotations

import re

from eirene.text.sentences import split_sentences

_BEFORE, _AFTER = 400, 4000  # characters before and after a verdict that are looked at
_SENTENCES = 40
_SHORT = tuple(
    (re.compile(pattern), full)
    for pattern, full in ((r"[’‘]", "'"), (r"\bcan(?:'t|not)\b", "can not"), (r"n't\b", " not"), (r"\s+", " "))
)
_ASIDE = re.compile(r"(?<!: )\"[^\"\n]{0,300}\"|\([^()\n]{0,300}\)")
_THINKS = re.compile(
    r"\?|\b(?:if|unless|whether|suppose|supposing|had|would|could(?! not find)|might|may|should|when|without|"
    r"at first|not (?:true|the case|so|say|clear|sure|certain)|means?)\b"
)
_TURNS = re.compile(r"\b(?:but|however|although|though|yet|while|except|apart|besides|other|else|rest|most)\b")

_FAULTS = r"(?:hallucinat\w{1,6}|fabricat\w{1,6}|unsupported|invented|made[- ]up|not (?:\w{1,12} )?supported)"
_THE_ANSWER = r"the (?:whole |entire |given )?(?:answer|response|reply)"
_ANSWER = rf"(?:{_THE_ANSWER}|\A(?:(?:so|therefore|thus|hence),? )?it)"  # "claim 1: it is ..." is about a claim
_THROUGHOUT = r"(?=\W{0,4}(?:\Z|[.;,!])| (?:throughout|overall|by the|to the|with the|with all)\b)"
_HELD = r"(?:(?:contain|ha|include|show|make)s?|(?:does|did|do) (?:contain|have|include|show|make))"
_SO = r"(?:therefore |thus |hence |indeed |clearly |also |still )?"
_ALL_WELL = r"(?:supported|faithful|consistent|accurate|correct|grounded|free (?:of|from) (?:any )?hallucinat\w{1,6})"
_KIND = r"(?:[a-z]{1,16} ){0,2}"

_CLEAN = re.compile(
    rf"\b{_ANSWER} {_SO}{_HELD} no {_KIND}hallucinat\w{{1,6}}"
    rf"|\b{_ANSWER} (?:does|did) not {_SO}(?:(?:contain|have|include|show|make) (?:a |any ){_KIND})?"
    r"hallucinat\w{1,6}\b"
    rf"|\bthere (?:is|are|was|were) {_SO}(?:no|not (?:a|any)) {_KIND}hallucinat\w{{1,6}}"
    r"|\bno hallucinat\w{1,6} (?:is |was |were |are )?(?:there|found|present|detected|here)\b"
    rf"|\b{_ANSWER} is {_SO}(?:no|not a) hallucinat\w{{1,6}}"
    r"|\A\W{0,8}(?:(?:so|therefore|thus|hence),? )?(?:the )?(?:answer )?(?:is|:)? ?no hallucinat\w{1,6}\W{0,8}\Z"
    rf"|\b{_THE_ANSWER} is {_SO}(?:(?:fully|entirely|completely|wholly|well) )?{_ALL_WELL}{_THROUGHOUT}"
    rf"|\bi (?:(?:can|could|did) not find any|found no) {_KIND}{_FAULTS}|\A\W{{0,8}}no {_KIND}{_FAULTS}"
    rf"|\b(?:all|every|each)(?: of the| the| of its| its)?(?: (?:claim|statement|sentence)s?)? (?:is|are) {_SO}"
    rf"(?:(?:fully|entirely|well) )?{_ALL_WELL}\b"
    rf"|\b(?:no|none of the|not one of the) (?:claims?|statements?) (?:is|are) {_SO}(?:an? )?{_FAULTS}"
)
_FAULTY = re.compile(
    rf"\b{_ANSWER} {_SO}{_HELD} (?!no\b|not\b){_KIND}hallucinat\w{{1,6}}"
    rf"|\bthere (?:is|are) {_SO}(?:an?|one|two|three|some|several|at least one) {_KIND}hallucinat\w{{1,6}}"
    rf"|\b{_ANSWER} {_SO}is {_SO}(?:an? )?hallucinat(?:ion|ed)\b"
    rf"|\b{_THE_ANSWER} is {_SO}(?:(?:entirely|completely|plainly) )?"
    rf"(?:false|wrong|incorrect|inaccurate|not {_ALL_WELL})\b"
    rf"|\b{_ANSWER} {_SO}(?:contradicts|fabricates|hallucinates|invents)\b"
    rf"|\b(?:at least )?(?:an?|one|two|three|some|several|the \w{{3,8}}) (?:of the )?(?:claim|statement|sentence)s? "
    rf"(?:is|are) {_SO}(?:an? )?{_FAULTS}"
    rf"|\b(?:claim|statement|sentence)s? \d{{1,3}} (?:is|are) {_SO}(?:an? )?{_FAULTS}"
)
_OF_A_PART = re.compile(
    r" (?:in|within|as to|for) (?:(?:the|this|that) )?(?:first|second|third|last|other|next|"
    r"\w{1,12} (?:claim|sentence)|claim|sentence|statement|part|rest)\b"
)


def is_denied(text: str, start: int, end: int, *, value: bool) -> bool:
    """Whether what stands around a verdict (at `start` to `end`, True for a hallucination) says the opposite of it."""
    before = _stated(text[max(0, start - _BEFORE) : start])[-1:]
    after = _stated(text[end : end + _AFTER])
    if any(_TURNS.search(said) for said in before):
        before = []
    said = [(_is_clean(s), _FAULTY.search(s) is not None) for s in (*before, *after)]
    clean, faulty = any(c for c, _ in said), any(f for _, f in said)
    return (clean and not faulty) if value else (faulty and not clean)


def _stated(text: str) -> list[str]:
    """The sentences of a text as they are compared; empty where one is no plain statement."""
    found = [text[s.start : s.end] for s in split_sentences(text)[-_SENTENCES:]]
    return ["" if _THINKS.search(plain) else plain for plain in map(_plain, found) if re.search(r"\w", plain)]


def _plain(text: str) -> str:
    text = _ASIDE.sub(" ", text.lower())
    for pattern, full in _SHORT:
        text = pattern.sub(full, text)
    return text


def _is_clean(text: str) -> bool:
    """Whether a statement says that all is well, of all of the answer."""
    return any(_OF_A_PART.match(text, found.end()) is None for found in _CLEAN.finditer(text))
