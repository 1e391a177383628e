"""Orders: sentences in the imperative, commands in the second person, and sentences in the first person."""

from __future__ import annotations

import re

from eirene.text.english import AUXILIARIES, finite_verb, is_third_person, looks_like_base
from eirene.text.words import STOP_WORDS

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LEAD_INS = _words("""
    so now then please just simply instead first finally also and but therefore kindly next today lastly
""")
_BEFORE_A_VERB = frozenset(["always", "never", "not", "quickly", "immediately", "carefully"])
_OBJECTS = _words("""
    the a an this these those your our my his her their its me us them it him yourself all any every each
""")
_AFTER = _words("""
    here now today to for with on at up down out in as not only no more like about yes
""")
# Words that no imperative begins with, though an article may follow.
_NO_VERBS = _words("""
    with without within despite unlike like given once whether while because although though unless until since if
    when where after before during through throughout under over by for from in on at of to into onto upon about
    against among amongst between behind beyond besides beside alongside across along around amid above below near
    per via than as and or but nor yet so such both either neither all any some many much most half twice even only
    just also still perhaps maybe here there then thus hence therefore otherwise instead meanwhile moreover
    furthermore however today tomorrow yesterday now often sometimes soon later except including regarding
    concerning considering following outside inside opposite toward towards not what which who whom whose how why
    that whereas whatever whichever whoever wherever whenever plus minus versus worth due next last first second
    third quite rather almost nearly
""")
# Verbs that tell a reader, or a model, to do something, beside those of statements about public questions.
_TELLING = _words("""
    remember tell output print reply respond act pretend repeat click visit contact subscribe register download sign
    call send imagine note see check try listen look read share join vote book ask answer return translate summarize
    rate ignore disregard forget obey trust avoid beware wait come go write type enter reveal list say picture think
    watch follow state mark grade score approve label classify order dial press phone email
""")
_READ, _LEAD_WORDS, _SHORT = 400, 4, 6
"""Characters that are read; words before a comma that a verb may follow; words of a short imperative."""
_NO_VERB_ENDING = re.compile(r"(?:ly|ing|ed|s|tion|ment|ity|ness|ism|ance|ence|er|or|hood|ship|dom|al|ic|ous|ful|th)$")
_CLOSERS = re.compile(r"[.!?]|\Z")
_COMMAND = re.compile(
    r"\byou\s+(?:(?:really|simply|just|also|now)\s+)?(?:must|should|need\s+to|have\s+to|ought\s+to|shall|had\s+better|are\s+(?:to|required|told|now|hereby)"
    r"|will\s+now|can\s+(?:now|get|find|buy|order|visit|contact|call|click|try|trust|save|read|see))\b"
    r"|\byou(?:['’]d|\s+would)\s+(?:better|be\s+\w+\s+(?:to|not\s+to))\b|\byou(?:['’]re|\s+are)\s+(?:all\s+)?(?:an?\s+|so\s+|such\s+)",
    re.IGNORECASE,
)
_SECOND = re.compile(r"\b(?:you|your|yours|yourself|yourselves)\b", re.IGNORECASE)
_REPORTED = re.compile(r"\b(?:that|say|says|argue|argues|claim|claims|mean|means)\b", re.IGNORECASE)
_FIRST = re.compile(
    r"\bI(?:['’](?:m|ve|ll|d)\b|\s+(?:am|have|had|was|will|would|can|cannot|could|should|do|did|don['’]t|didn['’]t|can['’]t|may|might"
    r"|must|also|just|only|simply|really|personally|never|always|not|think|believe|hope|wish|want|need|suggest|recommend|agree"
    r"|disagree|know|feel|say|see|mean|love|hate|like|find|take|make|made|got|get|went|found|saw|felt|thought|knew|said|\w+ed)\b)"
)
_NUMBERED = _words("""
    type class phase part stage level grade group chapter volume section article title war
""")


def is_order(text: str) -> bool:
    """Whether a sentence tells its reader to do something, in the imperative; by rule, so now and then wrong."""
    raw = _WORD.findall(text[:_READ])
    if raw[1:2] == ["A"]:  # "Group A streptococci"
        return False
    words = [w.lower().replace("’", "'") for w in raw]
    opening, comma, rest = text[:_READ].partition(",")
    if comma and len(opening.split()) <= _LEAD_WORDS:
        following = [w.lower() for w in _WORD.findall(rest)]
        if (
            following[1:2]
            and following[1] in _OBJECTS | _AFTER
            and _is_verb(following[0])
            and _is_imperative(following)
        ):
            return True
    return _is_imperative(words)


def _is_imperative(words: list[str]) -> bool:
    is_polite = False
    while words and words[0] in _LEAD_INS:
        is_polite = is_polite or words[0] in ("please", "kindly")
        words = words[1:]
    if len(words) > 2 and (words[0] == "don't" or words[:2] == ["do", "not"]):
        return words[1 if words[0] == "don't" else 2] not in STOP_WORDS
    while words and words[0] in _BEFORE_A_VERB:
        words = words[1:]
    if not words or not _may_be_base(words[0]):
        return False
    return is_polite or _has_no_subject(words)


def _has_no_subject(words: list[str]) -> bool:
    """Whether the sentence begins with the verb, and no noun that could be one ("Support is growing")."""
    following = words[1] if len(words) > 1 else ""
    is_known = _is_verb(words[0])
    if following in _OBJECTS:
        return is_known or _NO_VERB_ENDING.search(words[0]) is None
    if following in AUXILIARIES or not is_known or finite_verb(words) is not None or is_third_person(words[-1]):
        return False
    return following in _AFTER or (len(words) <= _SHORT and following not in _NO_VERBS | STOP_WORDS)


def _is_verb(word: str) -> bool:
    return word in _TELLING or (looks_like_base(word) and not is_third_person(word))


def _may_be_base(word: str) -> bool:
    return word not in _NO_VERBS and word not in STOP_WORDS and word not in AUXILIARIES and "'" not in word


def command(text: str) -> tuple[int, int] | None:
    """Where a text tells "you" what to do or what you are; None where it does not."""
    found = _COMMAND.search(text)
    return found.span() if found and not _REPORTED.search(text, 0, found.start()) else None


def addresses_reader(text: str) -> bool:
    """Whether a sentence has a "you" that is its own, and not what somebody says."""
    found = _SECOND.search(text)
    return found is not None and _REPORTED.search(text, 0, found.start()) is None


def first_person(text: str) -> tuple[int, int] | None:
    """Where a text says "I" with a verb, outside quotation marks; no "World War I was"."""
    for found in _FIRST.finditer(text):
        before = text[: found.start()]
        if before.count('"') % 2 or before.count("“") > before.count("”"):
            continue
        words = _WORD.findall(before[-40:])
        last = words[-1] if words and before.endswith(" ") else ""
        if not (last.lower() in _NUMBERED or (last[:1].isupper() and len(words) > 1)):
            return found.span()
    return None
