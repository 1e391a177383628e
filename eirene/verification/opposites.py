"""Opposites: whether a given sentence says another thing in the place of what a claim says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from difflib import SequenceMatcher
from itertools import combinations
from typing import NamedTuple

from eirene.text.english import AUXILIARIES
from eirene.text.fields import Field
from eirene.text.polarity import contradicts, sign_turns
from eirene.text.polarity.antonyms import are_opposites
from eirene.text.values.reading import value_index
from eirene.text.words import STOP_WORDS, listed_words, stem, stems, word_set

_STRETCH = 4
"""Words that stand in one another's place, at most."""
_JOINTS = re.compile(
    r"[;,]\s|(?<=\w{3})\.\s|\b(?:and|but|while|whilst|whereas|because|since(?!\s+\d)|although|though)\b", re.I
)
_LIGHT = frozenset(stem(word) if len(word) > 2 else word for word in STOP_WORDS - word_set("opposites telling"))
"""Words by which a clause says no more than another one."""
_COMPARES = re.compile(r"\b(?:less|more|\w+er)\s+than\b|\b(?:times|twice|half)\s+(?:as|the|that)\b", re.I)
_ENDS = re.compile(r"\b(?:before|after|since|until|till|by|to)(?=\s+[^\w\s]?\d)")
_ANSWERS = re.compile(r"\A\W*(?:yes|no)\b[.,!]\s+", re.I)
_PLAIN = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
_ARTICLE = re.compile(r"\b(?:the|an?)\s+(?!(?:is|was|and|or|to|of|in)\b)(?=\w)")
_OPENS = word_set("opposites opens")
"""Words that begin what may stand first or last."""
_BESIDE = _OPENS - {"by"}
_NOTS = frozenset(["not", "n't", "n’t", "no", "never"])
_LINKS = (AUXILIARIES | word_set("opposites links")) - {"cannot"}
"""What may stand between one who does something and what is done."""
_BASES = dict(pair.split("/") for pair in listed_words("english bases"))
_MUTUAL = frozenset(map(stem, listed_words("english mutual")))
"""What one does to another, or is to it, the other one does as well: "married", "borders"."""
_ONES = frozenset(["one", "ones"])
_DOES = frozenset(["", "by", "as"])
_BOTH_WAYS = frozenset(["with", "to", "from", "for", "be", "as"])
"""Places that two may change: "linked to", "mixed with"."""
_COPULAS = frozenset(["is", "are", "was", "were", "be", "been", "being"])
_TOLD = 3
"""Words of a clause of which it is asked whether they stand in another one."""
_UNTOLD = 2
"""Words for which a sentence may have an "it"."""
_REACH = 6
"""Words behind another one among which its "by" is looked for."""


def opposes(given: str, claim: str) -> bool:
    """Whether a given sentence says what is claimed with a "not" or an opposite too many or too few, or another figure:
    it has all other words of the claim, and tells no figure by another ("a third less than in May")."""
    has, own = set(stems(given)), set(stems(claim))
    is_other_figure = len(own - has) == 1 and _has_figure(own - has) and _has_figure(has - own)
    return (is_other_figure and not (_COMPARES.search(given) or is_bound(given, claim))) or _opposes(given, claim)


def is_bound(given: str, claim: str) -> bool:
    """Whether a given text has figures at which others end, and a claim has none such: 2003 is "until 2004"."""
    ends = {*_ENDS.findall(given.lower()), *({m.bound for m in value_index(given).mentions} - {"", "about"})}
    return not ends <= {*_ENDS.findall(claim.lower()), *(m.bound for m in value_index(claim).mentions)}


def exchanges(given: str, claim: str) -> bool:
    """Whether every value of a claim that a given text has not stands for another one there, of the same unit."""
    index = value_index(given)
    new = [m for m in value_index(claim).mentions if not (m.is_weak or index.holds(m))]
    units = {value.base for mention in index.mentions for value in mention.values}
    return bool(new) and all(any(value.base in units for value in mention.values) for mention in new)


def countered_by(claim: str, texts: Sequence[str]) -> tuple[int, bool] | None:
    """Which of some given sentences says another thing than a claim, and whether it surely does: not where the claim
    may yet hold. None where no sentence does, or another one agrees."""
    at = _crossed(claim, texts)
    if found := _done_by_another(claim, texts) if at is None else (at, True):
        return found
    own, turned = {*_weights(claim)}, [_opposes(text, claim) for text in texts]
    if True not in turned or any(own <= {*_weights(texts[n])} for n, turns in enumerate(turned) if not turns):
        return None
    return turned.index(True), True


def _opposes(given: str, claim: str) -> bool:
    given = _ANSWERS.sub("", given)
    return any(_turns(part, claim) for part in dict.fromkeys([given, *_JOINTS.split(given)]))


def _turns(given: str, claim: str) -> bool:
    """Whether a claim is a stretch of a given text but for one "not" or one opposite."""
    turn = contradicts(given, claim)
    if turn is None or turn.kind not in ("negation", "opposite") or len(sign_turns(given, claim)) != 1:
        return False
    if turn.kind == "negation" and not {turn.old.lower(), turn.new.lower()} <= _NOTS | {""}:
        return False  # "unaware", "rather than" and "without" may say it in other words
    own, has, turned = _weights(claim), _weights(given), {*_weights(turn.old), *_weights(turn.new)}
    if turned and turned <= {*own} & {*has}:
        return False  # from the old mill to the new one, and to the new mill from the old one
    at = [n for n, word in enumerate(has) if word in own]
    if not at or {*own} - {*has} - turned or {*has[at[0] : at[-1]]} - {*own} - turned:
        return False  # says more, or of something else
    if not turned:  # "lead is heavier than iron", and so iron is not heavier than lead
        return len(own) == 1 or (has[at[0]], has[at[-1]]) != (own[-1], own[0])
    sides = []
    for words in (has, own):
        cut = next((n for n, word in enumerate(words) if word in turned), len(words))
        sides.append([{w for w in part if words.count(w) == 1} for part in (words[:cut], words[cut + 1 :])])
    (left, right), (before, behind) = sides
    return not (left & behind and right & before)  # the mill is above the weir, and this below it


class _Role(NamedTuple):
    """What is done or held in a clause, by whom, and the words on its other side and all words, as roots of words.

    `place`: "" who does it, "by" the same in a passive, "as" a name at a noun, "be" has it done; or a preposition.
    """

    root: str
    place: str
    who: frozenset[str]
    is_name: bool
    beyond: frozenset[str]
    clause: frozenset[str]

    def fits(self, other: _Role) -> bool:
        """Whether two may be the same one."""
        return self.who <= other.who or other.who <= self.who

    def is_like(self, other: _Role) -> bool:
        """Whether two have the same place in the same deed."""
        return self.root == other.root and (self.place == other.place or {self.place, other.place} <= _DOES)

    def trades(self, other: _Role, own: _Role, others: _Role) -> bool:
        """Whether two of a claim have changed their deeds, which given ones have (`own`, `others`)."""
        is_one_deed = self.root == other.root and {self.place, other.place} != {"to", "from"}
        is_traded = others.is_like(other) and others.fits(self) and own.fits(other) and not self.fits(other)
        return is_traded and not is_one_deed and "as" not in (self.place, other.place)

    def is_turned(self, given: _Role) -> bool:
        """Whether it gives what a given one gets ("sold to", "bought from"), or does what is done to that one."""
        if {self.place, given.place} == {"to", "from"}:
            return self.fits(given) and are_opposites(self.root, given.root)
        is_done = (self.root, self.place, given.place) == (given.root, "by", "be")
        return is_done and self.who <= given.who and self.beyond.isdisjoint(given.who)


def _done_by_another(claim: str, texts: Sequence[str]) -> tuple[int, bool] | None:
    """Which sentence says of another one what a claim says of somebody: "designed by Bow"; None where one agrees.

    Sure where two change places, or deeds. What they do to each other is the same both ways.
    """
    names = {word for text in (claim, *texts) for word in _PLAIN.findall(text)[1:] if word[0].isupper()}
    given = [(n, role) for n, text in enumerate(texts) for role in _roles(text, names)]
    said, shown = _roots(_PLAIN.findall(claim)), [_roots(_PLAIN.findall(text)) for text in texts]
    mine = [own for own in _roles(claim, names) if not any(own.is_like(r) and own.fits(r) for _, r in given)]
    for own in mine:
        is_directed = own.root not in _MUTUAL and own.place not in _MUTUAL | _BOTH_WAYS
        same = [(n, role) for n, role in given if role.is_like(own)]
        for n, role in same:
            if is_directed and role.who <= own.beyond and own.who <= role.beyond:
                return None if sign_turns(texts[n], claim) else (n, own.clause <= role.clause)
            traders = [other for other in mine if role.fits(other)]
            if any(own.trades(other, role, others) for other in traders for _, others in given):
                return n, said <= frozenset().union(*shown)
            is_told = len(own.clause - own.who - role.who - {own.root} - role.clause) <= _UNTOLD
            is_new = role.who.isdisjoint(said) and own.is_name and role.is_name
            is_turned = role.place == "by" and role.who <= own.beyond
            if is_told and (is_new or is_turned) and all(own.who.isdisjoint(shown[k]) for k, _ in same):
                return n, False
        if turned := [n for n, role in given if own.is_turned(role)]:
            return turned[0], False
    return None


def _roles(text: str, names: Set[str]) -> Iterator[_Role]:
    """The words of a text beside which somebody stands as their subject, or behind their "by", "than" or "was"."""
    for words in filter(None, map(_PLAIN.findall, _JOINTS.split(text))):
        for at, word in enumerate(words):
            for place, first, step in _doers(words, at) if word.islower() and word not in STOP_WORDS | _ONES else ():
                who = _called(words, first, step)
                if not who or (place in ("", "as") and words[at + 1 : at + 2] in (["with"], ["and"])):
                    continue
                behind = next((k for k in range(at + 2, len(words)) if words[k] in _OPENS - {"to"}), len(words))
                beyond = words[at + 1 : behind] if step < 0 else words[:at]
                beyond = [word for word in words if word not in who] if place in _BESIDE else beyond
                is_name = place in _DOES and who[0][0].isupper() and (len(who) > 1 or who[0] in names)
                yield _Role(_root(word), place, _roots(who), is_name, _roots(beyond), _roots(words))


def _doers(words: Sequence[str], at: int) -> Iterator[tuple[str, int, int]]:
    """The places in which somebody stands beside a word, where they begin, and in which direction they go on."""
    first = at
    while first and (words[first - 1].lower() in _LINKS or words[first - 1].endswith("ly")):
        first -= 1
    links = [word for word in words[first:at] if not word.endswith("ly")]
    near = range(at + 1, min(at + _REACH, len(words) - 1))
    is_compared = words[at].endswith("er") or words[at] in ("worse", "better") or links[-1:] == ["more"]
    behind = next((k + 1 for k in near if words[k] == ("than" if is_compared else "by")), None)
    is_passive = bool(links) and links[-1] in _COPULAS and not words[at].endswith("ing")
    is_done = words[at] in _BASES or words[at].endswith(("ed", "en"))
    is_object = not _COPULAS.intersection(links) and not {"the", "a", "an"}.isdisjoint(links)
    if is_passive or (is_done and behind == at + 2) or (is_compared and behind is not None):
        if behind is not None:
            yield "by", behind + (words[behind] in ("the", "a", "an")), 1
        elif is_done and is_passive:
            yield "be", first - 1, -1
    elif not is_object and (who := _called(words, first - 1, -1)):
        is_named, is_helped = who[0][0].isupper(), not AUXILIARIES.isdisjoint(links)
        agrees = words[at].endswith("s") != who[0].endswith("s") or (is_named and not words[at].endswith("ing"))
        is_verb = is_done or is_helped or (agrees and AUXILIARIES.isdisjoint(words[at + 1 : at + 2]))
        if is_verb or is_named:
            yield "" if is_verb else "as", first - 1, -1
    else:
        yield from [("", k + 1, 1) for k in near if words[k] in _COPULAS and words[k + 1][0].isupper()][:1]
    if is_done and (is_passive or {"from", "to"} <= {words[k] for k in near[1:]}):
        yield from ((words[k], k + 1 + (words[k + 1] in ("the", "a", "an")), 1) for k in near if words[k] in _BESIDE)


def _called(words: Sequence[str], at: int, step: int) -> Sequence[str]:
    """The name that begins at a place, or ends there, else the one word."""
    run: list[str] = []
    for word in words[at::step] if at >= 0 else ():
        if word.lower() in STOP_WORDS or (run and step < 0 and word.islower()):
            break
        run.append(word)
    if not run or not run[0][0].isalpha():
        return ()
    return [word for word in run if word[0].isupper()] if run[0][0].isupper() else run if step > 0 else run[:1]


def _root(word: str) -> str:
    return stem(_BASES.get(word.lower(), word.lower().replace(".", "").removesuffix("'s").removesuffix("’s")))


def _roots(words: Iterable[str]) -> frozenset[str]:
    return frozenset(_root(word) for word in words if word.lower() not in STOP_WORDS)


def _crossed(claim: str, texts: Sequence[str]) -> int | None:
    """Which sentence has a claim's subject with another value than the claim, whose value another subject has.

    "The hall was built by Lind", where the hall was built by Rowe, and the station by Lind; "Order 7 went on May 9"
    is said of order 8; "ploughs in the south" of the north. Each clause of a claim is read beside each two given
    clauses that are built alike. One with words of both is crossed, unless it says more than they do, or another one
    has all of its words.
    """
    given = [(n, clause) for n, text in enumerate(texts) for clause in (_stems(text), *_clauses(text))]
    parts = [frozenset(clause) for clause in _clauses(claim)]
    whole = frozenset().union(*parts) - _LIGHT
    for (n, one), (m, other) in combinations(given, 2):
        if n == m and _is_shuffled(parts, one, other):
            return n
        if not whole <= {*(_stems(texts[n]) if n == m else one), *other}:
            continue
        places = _places(one, other, whole, is_one=n == m)
        elsewhere = [frozenset(clause) for k, clause in given if k not in (n, m) or clause != _stems(texts[k])]
        turned = {word for a, b in places if len(a) == len(b) == 1 and are_opposites(*a, *b) for word in a | b}
        light = _LIGHT - turned  # "off", beside "on", tells
        places = [two for two in places if all(own - light for own in two)]  # "it" is no other one
        for clause in () if len(places) < 2 else parts if n == m else [frozenset().union(*parts)]:
            part = clause - light
            said = [(not part.isdisjoint(a), not part.isdisjoint(b)) for a, b in places]
            is_mixed = {(True, False), (False, True)} <= {*said} and (True, True) not in said
            if is_mixed and not any(part <= own for own in elsewhere):
                return n if said[0][0] else m
    return None


def _is_shuffled(parts: Sequence[Set[str]], one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether both of a claim's two clauses have words of each of two given ones, and together just theirs."""
    first, second = frozenset(one) - _LIGHT, frozenset(other) - _LIGHT
    mine, is_theirs = [part - _LIGHT for part in parts], (first - second, second - first)
    if len(mine) != 2 or mine[0] | mine[1] != first | second or min(len(first), len(second)) < _TOLD:
        return False
    is_mixed = all(not part.isdisjoint(own) for part in mine for own in is_theirs)
    return is_mixed and mine[0] & mine[1] <= first & second


def _places(one: list[str], other: list[str], whole: Set[str], *, is_one: bool) -> list[tuple[Set[str], Set[str]]]:
    """The words of two clauses that stand in each other's place; none where they are not built alike, or what they
    share is not claimed. One of two clauses of one sentence (`is_one`) may leave out what the other has.
    """
    one, other = one[::-1], other[::-1]  # what both have may stand before
    shared, found = frozenset(one) & frozenset(other), list[tuple[Set[str], Set[str]]]()
    old_keys, new_keys = (["in" if is_one and word in _OPENS else word for word in words] for words in (one, other))
    for tag, a, b, c, d in SequenceMatcher(None, old_keys, new_keys, autojunk=False).get_opcodes():
        stretch = (min if is_one and (b, d) == (len(one), len(other)) else max)(b - a, d - c)
        if tag != "equal" and (stretch > _STRETCH or (tag != "replace" and not is_one)):
            return []
        old, new = [frozenset([word]) for word in one[a:b]], [frozenset([word]) for word in other[c:d]]
        if tag == "replace" and len(old) != len(new):
            old, new = [frozenset().union(*old)], [frozenset().union(*new)]
        found[:0] = [(x - shared, y - shared) for x, y in zip(old, new, strict=True)][::-1] if tag == "replace" else []
    is_told = all(not (whole.isdisjoint(a) or whole.isdisjoint(b)) for a, b in found)
    return found if (shared - _LIGHT <= whole if shared - _LIGHT else is_one and is_told) else []


def _clauses(text: str) -> list[list[str]]:
    return [words for part in _JOINTS.split(text) if (words := _stems(part))]


def _weights(text: str) -> list[str]:
    """The stems of a text's words of weight."""
    return [word for word in _stems(text) if word not in _LIGHT and word not in AUXILIARIES and word not in _NOTS]


def _stems(text: str) -> list[str]:
    return [_root(word) if len(word) > 2 else word for word in _PLAIN.findall(_ARTICLE.sub("", text.lower()))]


def denies(field: Field, claim: str) -> bool:
    """Whether a field has another value than a claim that speaks of its key."""
    own, value = set(stems(claim)), set(stems(field.value))
    return bool(value) and not own.isdisjoint(stems(field.key)) and own.isdisjoint(value)


def _has_figure(words: Iterable[str]) -> bool:
    return any(character.isdigit() for word in words for character in word)
