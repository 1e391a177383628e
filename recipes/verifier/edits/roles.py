"""Edits of who does what to whom: the two sides of a verb that is not symmetric, exchanged; and true passives."""

from __future__ import annotations

import re

from recipes.verifier.edits.given import ClaimGiven, words, words_in_order

_REGULAR = """
    acquired defeated killed replaced succeeded followed influenced directed produced founded created designed developed
    published released recorded launched hired fired sued accused criticised criticized praised arrested attacked
    invaded conquered colonised colonized annexed occupied ruled governed supported opposed appointed nominated elected
    endorsed joined trained taught raised adopted inspired preceded outperformed exceeded surpassed overtook funded
    sponsored helped saved rescued protected chased followed watched pulled pushed carried kissed hugged tackled kicked
    passed interviewed questioned examined treated visited invited introduced discovered invented commissioned hosted
    employed owned controlled contacted informed advised warned persuaded ordered bombed destroyed captured liberated
    caused prevented blocked rejected absorbed merged covered surrounded contains crosses borders approached greeted
"""
_SAME_PARTICIPLE = frozenset(_REGULAR.split()) - frozenset(["overtook", "contains", "crosses", "borders", "merged"])
_PLAIN = words("""
    bought beat sold paid led wrote gave told taught won shot hit married beats buys owns leads defeats follows
    replaces chases loves hates helps watches teaches supports criticises praises attacks kills employs holds pulls
    pushes carries chasing watching holding pulling pushing carrying following teaching helping feeding kicking
    hugging kissing petting walking throwing leading tackling interviewing chased loved hated overtook crosses
""") - frozenset(["married", "kissing", "hugging"])
_VERBS = "|".join(sorted(_SAME_PARTICIPLE | _PLAIN, key=len, reverse=True))
_N = r"[A-Z](?:[\w'’&-]|\.(?=\w)){0,30}+(?: (?:of |of the )?[A-Z](?:[\w'’&-]|\.(?=\w)){0,30}+){0,4}"
_A = rf"(?<!\w)(?P<a>(?:[Tt]he )?{_N})"
_B = rf"(?P<b>(?:the )?{_N})"
_ACTIVE = re.compile(rf"{_A} (?P<v>(?:has |had |have |later |also |then |once )?(?:{_VERBS})) {_B}")
_PASSIVE = re.compile(
    rf"{_A} (?P<v>(?:was|were|is|are|has been|had been) (?:{_VERBS}|bought|written|led|taught|beaten|shot|sold) by)"
    rf" {_B}"
)
_THAN = re.compile(rf"{_A} (?P<v>[^.;,?!:]{{3,60}}? than) {_B}(?=[.,;]|$| (?:in|on|at|by|did|does|was|is|has)\b)")
_FROM = re.compile(
    rf"\b(?P<u>from) (?P<a>(?:the )?{_N}|\d[\d,.]{{0,12}}\d%?) (?P<v>to) (?P<b>(?:the )?{_N}|\d[\d,.]{{0,12}}\d%?)"
)
_BEINGS = words_in_order("""
    man woman boy girl child children baby dog cat horse bird player team people men women boys girls dogs kids
    crowd mother father lady guy person teacher student police officer company government bank court king queen
    president minister doctor patient worker customer referee bull cow sheep rider driver soldier army toddler
""")
_BEING = rf"(?:[Aa]n?|[Tt]he|[Tt]wo|[Ss]ome|his|her|their) (?:[a-z]{{1,20}}+ ){{0,2}}(?:{'|'.join(_BEINGS)})"
_BETWEEN_BEINGS = re.compile(
    rf"(?<!\w)(?P<a>{_BEING}) (?P<v>(?:(?:is|are|was|were) )?(?:being )?(?:{_VERBS})(?: by| at)?)"
    rf" (?P<b>{_BEING})(?! \w{{1,20}}ing)\b"
)
_PLACED = re.compile(
    rf"{_A} (?P<v>(?:is|was|lies) (?:located )?(?:north|south|east|west|upstream|downstream|ahead|part"
    r"|the (?:capital|father|mother|son|daughter|author|owner|parent company|predecessor|successor)) of)"
    rf" {_B}"
)
_ALL = (_PASSIVE, _ACTIVE, _THAN, _FROM, _BETWEEN_BEINGS, _PLACED)
_NO_NAMES = re.compile(
    r"(?:Mr|Mrs|Ms|Dr|St|It|He|She|They|We|You|I|This|That|These|Those|There|In|On|At|But|And|Who|What|When|If|As|After|His|Her|Its|Their"
    r"|January|February|March|April|May|June|July|August|September|October|November|December)\b"
)


_ENDS = re.compile(
    r"$|[.,;:!]|[\"”]| (?:in|on|at|by|for|from|to|with|as|when|after|before|during|while|last|earlier|shortly|because"
    r"|via|than|some|a|an|the|who|which|until|since|over|into|under|did|does|was|is|has)\b"
)
_GOES_ON = re.compile(r",? (?:[A-Z\d]|and |who |which )|[-/]")
_BEFORE_A_PART = words("of from for and or in by with at between to on")


def roles(given: ClaimGiven) -> str | None:
    """The two sides of a verb, comparison or "from ... to ..." exchanged, where both are named in the premise."""
    patterns = list(_ALL)
    given.rng.shuffle(patterns)
    for pattern in patterns:
        edited = given.one_of(pattern, lambda match: _exchanged(given, match))
        if edited is not None:
            return edited
    return None


def _exchanged(given: ClaimGiven, match: re.Match[str]) -> str | None:
    a, b = match.group("a"), match.group("b")
    if not _are_alike(a, b) or (match.re is not _BETWEEN_BEINGS and not _stand_in(given, a, b)):
        return None
    if " and " in match.group("v") or _NO_NAMES.match(a) or _NO_NAMES.match(b):
        return None
    if not _is_whole(given, match) or (match.re is _THAN and match.start() > 0):
        return None
    start = match.start("a") - match.start()
    held = match.group()[:start]
    opens = match.start() == 0 or given.claim[: match.start()].endswith(". ")
    first, second = _inside(b, opens=opens), _inside(a, opens=False)
    verb = match.group("v")
    if match.re is _BETWEEN_BEINGS:
        verb = _agreeing(verb, first)
    return f"{held}{first} {verb} {second}"


def _is_whole(given: ClaimGiven, match: re.Match[str]) -> bool:
    """Whether neither name is a part of a longer phrase."""
    before = given.claim[: match.start("a")].rstrip().rsplit(" ", 1)[-1]
    after = given.claim[match.end() :]
    if before.lower() in _BEFORE_A_PART or before[:1].isupper():
        return False
    return match.re is _BETWEEN_BEINGS or (_ENDS.match(after) is not None and not _GOES_ON.match(after))


def _inside(side: str, *, opens: bool) -> str:
    """The noun phrase with its article as it stands at, or not at, the start of a sentence."""
    word, space, rest = side.partition(" ")
    if word.lower() not in ("the", "a", "an", "two", "some", "his", "her", "their"):
        return side
    return (word.capitalize() if opens else word.lower()) + space + rest


def _agreeing(verb: str, subject: str) -> str:
    many = subject.split(maxsplit=1)[0].lower() in ("two", "some") or subject.rsplit(maxsplit=1)[-1] in (
        "children",
        "people",
        "men",
        "women",
    )
    many = many or subject.endswith("s") or subject.endswith("police")
    first, space, rest = verb.partition(" ")
    return {"is": "are", "was": "were"}.get(first, first) + space + rest if many else (
        {"are": "is", "were": "was"}.get(first, first) + space + rest
    )  # fmt: skip


def _are_alike(a: str, b: str) -> bool:
    """Both figures, or both words; no word of one in the other."""
    if a[0].isdigit() != b[0].isdigit():
        return False
    one, other = set(a.lower().split()), set(b.lower().split())
    return not (one & other) - {"the", "of", "a", "an", "two", "his", "her", "their", "some"}


def _stand_in(given: ClaimGiven, a: str, b: str) -> bool:
    return all(side.removeprefix("The ").removeprefix("the ").split()[-1] in given.premise for side in (a, b))


_IRREGULAR = {
    "bought": "bought",
    "wrote": "written",
    "led": "led",
    "taught": "taught",
    "beat": "beaten",
    "shot": "shot",
}
_BACK = {participle: past for past, participle in _IRREGULAR.items()}
_PAST = re.compile(
    rf"^(?P<a>(?:The )?{_N}) (?P<v>{'|'.join(sorted(_SAME_PARTICIPLE | frozenset(_IRREGULAR)))}) {_B}"
    r"(?=[.,]| in \d| on \d|$)"
)
_WAS = re.compile(
    rf"^(?P<a>(?:The )?{_N}) (?P<be>was|were) (?P<v>{'|'.join(sorted(_SAME_PARTICIPLE | frozenset(_BACK)))}) by {_B}"
    r"(?=[.,]| in \d| on \d|$)"
)


def passive(given: ClaimGiven) -> str | None:
    """The same said the other way: "Acme bought Beta", "Beta was bought by Acme"."""

    def turned(match: re.Match[str]) -> str | None:
        a, v, b = match.group("a"), match.group("v"), match.group("b")
        rest = given.claim[match.end() :]
        if _NO_NAMES.match(a) or _NO_NAMES.match(b) or "," in rest or " and " in rest or _GOES_ON.match(rest):
            return None
        be = "were" if b.endswith("s") else "was"
        a, b = _inside(a, opens=False), _inside(b, opens=True)
        return f"{b} {be} {_IRREGULAR.get(v, v)} by {a}" if match.re is _PAST else f"{b} {_BACK.get(v, v)} {a}"

    return given.one_of(_PAST, turned) or given.one_of(_WAS, turned)
