"""Appeals to an authority that has no name, by offsets: "a Nobel laureate", "a study by", "researchers found"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eirene.text.values.mention import Mention


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PEOPLE = _words(
    """
    expert experts researcher researchers scientist scientists scholar scholars academic academics economist
    economists professor professors physician physicians psychologist psychologists psychiatrist psychiatrists
    sociologist sociologists historian historians analyst analysts specialist specialists statistician
    statisticians criminologist criminologists biologist biologists neuroscientist neuroscientists philosopher
    philosophers investigators commentators pundits academics
    """
)
_WORKS = _words(
    """
    study studies survey surveys poll polls research  experiment experiments meta-analysis findings
    investigation
    """
)
_LOOSE = _words(
    """
    report reports paper papers analysis analyses review reviews evidence data statistics figures doctors doctor
    officials sources science census trial trials
    """
)
_ORGANISATIONS = _words("university universities institute academy laboratory foundation think-tank journal")
_LAUREATES = _words("laureate laureates nobel prize-winning award-winning")
_SAYING = _words(
    """
    find finds found show shows showed shown suggest suggests suggested say says said conclude concludes
    concluded confirm confirms confirmed reveal reveals revealed report reports reported prove proves proved
    proven demonstrate demonstrates demonstrated indicate indicates indicated agree agrees agreed warn warns
    warned estimate estimates estimated calculate calculated discover discovered establish established document
    documented state states stated believe believes claim claims claimed argue argues argued note notes noted
    observe observed determined
    """
)
_CITING = _words("by from at in published conducted carried released")
_ARTICLES = _words(
    """
    a an one the this another some several many most new recent latest major leading independent scientific
    numerous various multiple top renowned prominent respected
    """
)
_ENDING_IT = _words("that and which to for because should must")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_REACH = 5
"""Words to either side that are looked at."""

_STRICT_KEY, _LOOSE_KEY, _LAUREATE_KEY, _PLACE_KEY = "who:science", "who:any", "who:laureate", "who:place"


def authority_keys(words: frozenset[str]) -> frozenset[str]:
    """The keys that a text gives by the words that it has, in lower case."""
    keys = set()
    if words & (_PEOPLE | _WORKS):
        keys |= {_STRICT_KEY, _LOOSE_KEY}
    if words & _LOOSE:
        keys.add(_LOOSE_KEY)
    if words & _LAUREATES:
        keys.add(_LAUREATE_KEY)
    if words & _ORGANISATIONS:
        keys.add(_PLACE_KEY)
    return frozenset(keys)


def find_authorities(text: str) -> Iterator[Mention]:
    """The appeals to an unnamed authority, in order."""
    found = list(_WORD.finditer(text))
    words = [match.group().lower() for match in found]
    for n, word in enumerate(words):
        key = _key_of(word)
        span = _appeal(words, n) if key else None
        if span is not None and key:
            first, last = span
            yield Mention("authority", found[first].start(), found[last].end(), (frozenset([key]),), frozenset([key]))


def _key_of(word: str) -> str | None:
    if word in _PEOPLE or word in _WORKS:
        return _STRICT_KEY
    if word in _LOOSE:
        return _LOOSE_KEY
    if word in _LAUREATES:
        return _LAUREATE_KEY
    return _PLACE_KEY if word in _ORGANISATIONS else None


def _appeal(words: Sequence[str], n: int) -> tuple[int, int] | None:
    """First and last word of an appeal to the authority at a word, if it is one."""
    word, before, after = words[n], words[max(0, n - _REACH) : n], words[n + 1 : n + 1 + _REACH]
    for back in range(len(before) - 1):
        if before[back : back + 2] == ["according", "to"]:
            return n - len(before) + back, n
    if word in _ORGANISATIONS:
        return (n - 1, n) if before[-1:] == ["at"] or before[-2:] in (["at", "a"], ["at", "an"]) else None
    if word in _LAUREATES or (len(before) > 1 and before[-1] == "by" and before[-2] in _SAYING):
        return (n, n) if word in _LAUREATES else (n - 2, n)
    if _is_cited(word, before, after):
        return n, n + 1
    for ahead, other in enumerate(after[:4]):
        if other in _SAYING:
            return n, n + 1 + ahead
        if other in _PEOPLE or other in _ENDING_IT:
            break
    return None


def _is_cited(word: str, before: Sequence[str], after: Sequence[str]) -> bool:
    """ "a study by", "researchers at"."""
    if word in _PEOPLE:
        return after[:1] in (["at"], ["from"])
    return word in _WORKS and before[-1:] != [] and before[-1] in _ARTICLES and after[:1] != [] and after[0] in _CITING
