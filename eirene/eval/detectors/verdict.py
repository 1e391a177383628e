"""Reads a judge's reply as a verdict of yes or no; the last one counts.

What can be read in two ways is not read at all: nor is a verdict that the reply denies in the same breath.

A verdict is *labelled* ("Verdict: yes") or, where a judge forgot the label, *bare*: the last sentence, or the first
one, says yes or no and nothing that speaks against it. "No" before a noun ("there is no support") is no verdict, a
verdict in quotation marks is someone else's, and other languages are not guessed.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from eirene.core.scores import Poll
from eirene.eval.detectors.reply_forms import VERDICTS
from eirene.models import reply_text
from eirene.models.replies import Reply
from eirene.models.structured import json_object
from eirene.text.sentences import split_sentences

_BOXED = re.compile(r"\\boxed\s*+\{\s*+(?:\\\w++\s*+\{\s*+)?(\w+)[\s.}$]*")
_QUOTES = str.maketrans("“”„«»‘’‚‹›", "\"\"\"\"\"'''''")
_MARKUP = re.compile(r"[*_`~]+|^[ \t]*#{1,6}[ \t]+", re.MULTILINE)

_LABEL = re.compile(
    r"(?P<quote>[\"'])?(?<!/)\b(?:(?:final|overall|my|the)\s+){0,3}"
    r"(?P<name>verdict|final\s+answer|judge?ment|decision|hallucinat(?:ions?|ed))\b(?P<key>[\"'])?"
    r"(?P<link>\s*(?:[:=|>→]|->|[-–—]{1,2}\s)+|\s+(?:is|remains|stays)\b\s*:?)",
    re.IGNORECASE,
)
_FIRM = frozenset({"verdict", "final answer"})
"""Labels that announce a verdict and nothing else: one that is followed by another word leaves no verdict standing."""

_VALUE = re.compile(r"[^\w]{0,16}\b(yes|no)\b", re.IGNORECASE)
# "No" is a verdict where the sentence or clause ends, or a new one begins; elsewhere it belongs to the next word.
_ALONE = re.compile(
    r"\s*(?:$|[.,;:!?()\[\]}|\"'/\n–—<\\-]|(?:because|since|as|there|the|it|this|that|all|every|each|i|and|but|or|with|"
    r"given|hallucinat\w*|unsupported)\b)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\.?\s*\d")  # "No. 3" counts something
_WORD = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_NEAR = 300  # characters of a line that are looked at on either side of a label
_SENTENCE_START = re.compile(r"[.!?]")
_LETTER = re.compile(r"\w")
_CONDITION = re.compile(r"\b(?:if|unless|whether|suppose|supposing|had|would|could|might|when)\b", re.IGNORECASE)
_DENIAL = re.compile(r"\b(?:not|never|cannot|neither|hardly)\b|n't\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:()]|\b(?:so|therefore|thus|hence|and|but)\b", re.IGNORECASE)

_RETRACTS = r"(?:actually|wait|correction|on reflection|rather|sorry|scratch that)"
_LEADS = (
    r"(?:so|therefore|thus|hence|overall|finally|conclusion|in (?:conclusion|summary|short|total)|to conclude|"
    r"to sum up|answer|(?:the|my) (?:final )?answer is|"
    r"(?:i|we)(?: would| must| will)? (?:say|answer|conclude)(?: that)?)"
)
_BARE = re.compile(
    rf"[^\w]*+(?:(?P<retracts>{_RETRACTS})\b[,:;.\s–—-]++|{_LEADS}\b[,:;\s–—-]++)*"
    r"[\"'(\[{<]*+(?P<value>yes|no)\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_TAIL = re.compile(rf"(?:[,;:–—]|\s-)\s*((?:{_LEADS})\b[,:;\s–—-]*[\"']?\b(?:yes|no)\b[^\w]*)\Z", re.IGNORECASE)
_WAVERS = re.compile(r"\b(?:wait|actually|hmm+|let me|hold on|maybe|perhaps)\b", re.IGNORECASE)

_FAULT = r"(?:hallucinat\w*|fabricat\w*|unsupported|invented|made[- ]up|false|incorrect|contradict\w*)"
_CLEAN = re.compile(
    rf"\b(?:no|not|without|free (?:of|from)|any|nothing|none|neither|never)\b[^.;,]{{0,40}}\b{_FAULT}\b"
    rf"|n't\b[^.;,]{{0,40}}\b{_FAULT}\b"
    r"|(?<!not )(?<!n't )(?<!not fully )(?<!not entirely )\b(?:(?:fully|entirely|all|well|everything is|it is)\s+)?"
    r"(?<!un)(?:supported|correct|accurate|consistent|faithful|grounded)\b",
    re.IGNORECASE,
)
_FAULTY = re.compile(
    rf"\b{_FAULT}\b|\b(?:not|n't|never|no)\b[^.;,]{{0,30}}\b(?:supported?|correct|accurate|consistent|faithful|grounded|"
    r"support|evidence|basis|backing)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _PlacedVerdict:
    """A verdict and where it stands; None where there is one that cannot be told."""

    at: int
    end: int
    value: bool | None


def read_verdict(reply: Reply) -> Poll:
    """The reply as a poll: `error` is True for yes, False for no, None with the cause where neither can be told."""
    if reply.is_cut_off:
        return Poll(error=None, text=reply.text, unread="the reply was cut off")
    if reply.is_filtered:
        return Poll(error=None, text=reply.text, unread="the provider's filter ended the reply")
    text = cleaned(_said_in_json(reply.text) or reply.text)
    if not text.strip():
        return Poll(error=None, text=reply.text, unread="nothing but thinking" if reply.text.strip() else "empty")
    value = _verdict(text)
    return Poll(error=value, text=reply.text, unread="no clear verdict of yes or no" if value is None else None)


def _said_in_json(text: str) -> str | None:
    """A reply in the form that judges are held to, as text: there, a verdict that its thinking denies is not read."""
    held = json_object(text) or {}
    verdict, thinking = held.get("verdict"), held.get("thinking")
    if len(held) != 2 or verdict not in VERDICTS or not isinstance(thinking, str):
        return None
    return f"{thinking.strip()}. Verdict: {verdict}"


def cleaned(text: str) -> str:
    """A reply without its thinking, markup and invisible characters; quotation marks and colons in one form."""
    text = reply_text.cleaned(unicodedata.normalize("NFKC", text), inline=True)
    return _MARKUP.sub("", _BOXED.sub(r"verdict: \1\n", text)).translate(_QUOTES)


def _verdict(text: str) -> bool | None:
    found = _found(text)
    if found is None or found.value is None or is_denied(text, found.at, found.end, value=found.value):
        return None
    return found.value


def _found(text: str) -> _PlacedVerdict | None:
    """The verdict of a reply, whatever else the reply says of the answer."""
    labelled = _last_labelled(text)
    sentences = _sentences(text)
    bare = _bare(text, sentences[-1]) if sentences else None
    if labelled is not None:
        if bare is not None and bare.at > labelled.at and bare.value != labelled.value:
            # "Verdict: yes ... Actually, no." takes it back; any other word against the verdict leaves it in doubt.
            return bare if _retracts(text[bare.at :]) else None
        return labelled
    if bare is not None:
        return bare
    return _first_word(text, sentences)


def _last_labelled(text: str) -> _PlacedVerdict | None:
    """The last verdict with a label; one that stands on its line in quotation marks only where there is no other."""
    quoted: _PlacedVerdict | None = None
    for label in reversed(list(_LABEL.finditer(text))):
        near = max(label.start() - _NEAR, 0)
        before = text[max(text.rfind("\n", near, label.start()) + 1, near) : label.start()]
        is_key = label["quote"] is not None and label["key"] is not None
        is_quoted = (label["quote"] is not None and not is_key) or before.lstrip().startswith(">")
        if is_quoted and (quoted is not None or before.strip()):  # within a sentence: the judged text's word
            continue
        value = _value_after(text, label.end(), before, is_key=is_key)
        is_firm = " ".join(label["name"].lower().split()) in _FIRM and not label["link"].strip().isalpha()
        said = _VALUE.match(text, label.end())
        if value is None and not is_firm and not said:
            continue
        if _CONDITION.search(_SENTENCE_START.split(before)[-1]):
            continue
        if not is_quoted:
            return _PlacedVerdict(label.start(), said.end() if said else label.end(), value)
        quoted = _PlacedVerdict(label.start(), said.end() if said else label.end(), value)
    return quoted


def _value_after(text: str, at: int, before: str, *, is_key: bool) -> bool | None:
    """What the label's value says, unless what stands before or after it in the line says otherwise."""
    found = _VALUE.match(text, at)
    if found is None or not _stands_alone(text, found.end(1), found[1]):
        return None
    if _DENIAL.search(_CLAUSE.split(before)[-1]) or _asks(text, found.end(1)):
        return None
    value = found[1].lower() == "yes"
    if is_key:  # the rest is another key's
        return value
    rest = text[found.start(1) : found.end() + _NEAR].partition("\n")[0]
    if any(_stands_alone(rest, w.end(), w[1]) and (w[1].lower() == "yes") != value for w in _WORD.finditer(rest)):
        return None
    return None if _speaks_against(rest, value) else value


def _stands_alone(text: str, end: int, word: str) -> bool:
    if word.lower() == "yes":
        return True
    return _ALONE.match(text, end) is not None and _NUMBER.match(text, end) is None


def _asks(text: str, end: int) -> bool:
    return text[end : end + _NEAR].lstrip("\"')").startswith("?")


def _speaks_against(rest: str, value: bool) -> bool:
    clean, faulty = _says(rest)
    return (clean and not faulty) if value else (faulty and not clean)


def _says(text: str) -> tuple[bool, bool]:
    """Whether a text says that all is well, and whether it says that something is wrong."""
    clean = _CLEAN.search(text) is not None
    return clean, _FAULTY.search(_CLEAN.sub(" ", text) if clean else text) is not None


def _sentences(text: str) -> list[tuple[int, int]]:
    """Offsets of the sentences that have a word in them."""
    return [(s.start, s.end) for s in split_sentences(text) if _LETTER.search(text, s.start, s.end)]


def _bare(text: str, span: tuple[int, int]) -> _PlacedVerdict | None:
    """The verdict of a sentence that begins with one ("Therefore, no.") or ends in one (", so: no")."""
    sentence = text[span[0] : span[1]]
    if sentence.lstrip().startswith("("):  # an aside
        return None
    tail = _TAIL.search(sentence)
    found = _BARE.fullmatch(sentence) or (tail and _BARE.fullmatch(tail[1]))
    if not found or not _stands_alone(found.string, found.end("value"), found["value"]):
        return None
    if _answers_another_question(text[: span[0]]):
        return None
    words = [w for w in _WORD.finditer(sentence) if _stands_alone(sentence, w.end(), w[1])]
    value = found["value"].lower() == "yes"
    clean, faulty = _says(found["value"] + found["rest"])
    is_plain = _LETTER.search(found["rest"]) is None
    agrees = (is_plain and not _asks(found.string, found.end("value"))) or (
        faulty and not clean if value else clean and not faulty
    )
    is_one = len({w[1].lower() for w in words}) == 1
    return _PlacedVerdict(span[0], span[1], value if is_one and agrees else None)


def _retracts(text: str) -> bool:
    found = _BARE.match(text)
    return found is not None and found["retracts"] is not None


def _answers_another_question(before: str) -> bool:
    """Whether the sentence before is a question, and not that of a hallucination in plain words."""
    asked = before.rstrip().rpartition("\n")[2]
    if not asked.endswith("?"):
        return False
    return not re.search(r"hallucinat", asked, re.IGNORECASE) or _DENIAL.search(asked) is not None


def _first_word(text: str, sentences: list[tuple[int, int]]) -> _PlacedVerdict | None:
    """A verdict that stands first, before the reasons, where no other yes or no stands by itself."""
    alone = [w for w in _WORD.finditer(text) if _stands_alone(text, w.end(), w[1])]
    if not sentences or len(alone) != 1 or _WAVERS.search(text, *sentences[0]):
        return None
    return _bare(text, sentences[0])


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

_DENIALS_CLEAN = re.compile(
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
_DENIALS_FAULTY = re.compile(
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
    said = [(_is_clean(s), _DENIALS_FAULTY.search(s) is not None) for s in (*before, *after)]
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
    return any(_OF_A_PART.match(text, found.end()) is None for found in _DENIALS_CLEAN.finditer(text))
