"""Edits that turn a word into its opposite: directions, degrees, comparisons, kin, outcomes."""

from __future__ import annotations

import re

from recipes.verifier.edits.given import WORD, ClaimGiven, same_case, words

_PAIRS = """
    north/south northern/southern northeast/southwest northwest/southeast east/west eastern/western upper/lower
    above/below inside/outside indoors/outdoors front/rear top/bottom horizontal/vertical left-hand/right-hand
    increase/decrease increases/decreases increased/decreased increasing/decreasing rise/fall rose/fell rising/falling
    grew/shrank growing/shrinking gained/lost growth/decline accelerate/slow raise/lower raised/lowered raises/lowers
    improved/worsened improves/worsens improve/worsen improvement/deterioration strengthened/weakened
    strengthen/weaken expand/shrink expanded/shrank higher/lower highest/lowest larger/smaller largest/smallest
    bigger/smaller biggest/smallest older/younger oldest/youngest longer/shorter longest/shortest taller/shorter
    tallest/shortest faster/slower fastest/slowest earlier/later earliest/latest heavier/lighter stronger/weaker
    strongest/weakest warmer/colder hotter/cooler richer/poorer richest/poorest cheaper/dearer wider/narrower
    deeper/shallower better/worse best/worst safer/riskier easier/harder closer/farther nearest/farthest more/less
    more/fewer most/least majority/minority before/after during/before until/after since/before
    first/last initially/finally begin/end began/ended beginning/end start/finish started/finished opened/closed
    opening/closing opens/closes arrive/depart arrived/departed arrival/departure joined/left entered/left win/lose
    won/lost wins/loses winning/losing victory/defeat winner/loser success/failure successful/unsuccessful
    succeeded/failed successfully/unsuccessfully passed/failed accepted/rejected accept/reject approved/rejected
    approve/reject allowed/forbidden allow/forbid allows/forbids permitted/prohibited legal/illegal lawful/unlawful
    guilty/innocent convicted/acquitted possible/impossible able/unable likely/unlikely common/rare frequent/rare
    usual/unusual popular/unpopular important/unimportant necessary/unnecessary known/unknown certain/uncertain
    clear/unclear happy/unhappy fair/unfair safe/unsafe safe/dangerous healthy/unhealthy married/unmarried alive/dead
    male/female males/females man/woman men/women boy/girl boys/girls brother/sister brothers/sisters father/mother
    husband/wife son/daughter sons/daughters uncle/aunt king/queen he/she buy/sell bought/sold buys/sells
    buying/selling buyer/seller lend/borrow lent/borrowed import/export imports/exports imported/exported
    employer/employee teacher/pupil predecessor/successor ancestor/descendant summer/winter spring/autumn
    morning/evening day/night daytime/night-time hot/cold warm/cold wet/dry black/white light/dark young/old tall/short
    rich/poor strong/weak fast/slow quickly/slowly high/low large/small big/small long/short wide/narrow deep/shallow
    heavy/light full/empty hard/easy difficult/easy early/late positive/negative positively/negatively
    advantage/disadvantage advantages/disadvantages benefit/harm benefits/harms beneficial/harmful strength/weakness
    strengths/weaknesses supports/opposes supported/opposed support/oppose agree/disagree agrees/disagrees
    agreed/disagreed same/different similar/different public/private domestic/foreign national/international
    temporary/permanent temporarily/permanently voluntary/compulsory optional/mandatory major/minor senior/junior
    natural/artificial rural/urban ancient/modern active/inactive accurate/inaccurate complete/incomplete
    reliable/unreliable effective/ineffective dependent/independent visible/invisible included/excluded
    includes/excludes include/exclude including/excluding present/absent attack/defence liberal/conservative
    left-wing/right-wing military/civilian always/never everyone/nobody everything/nothing sitting/standing
    asleep/awake sleeping/awake laughing/crying smiling/frowning together/separately alone/together with/without
    encourage/discourage encourages/discourages protect/endanger protects/endangers promote/hinder prevent/cause
    prevents/causes prevented/caused optimistic/pessimistic love/hate loves/hates likes/dislikes remember/forget
    remembered/forgot push/pull pushed/pulled ascending/descending upstream/downstream forwards/backwards
    clockwise/anticlockwise inhaled/exhaled hired/fired hire/fire employed/unemployed profit/loss profits/losses
    surplus/deficit asset/liability assets/liabilities debit/credit
"""
_ONE_WAY = words("""
    left lost end fall rose lower hard light cold with before after old poor short fire fired credit cause caused
    causes narrow slow minor spring day first present late close start long high fair like hate national military
    support latest finally harder
""")
"""Words with other senses, which are put in but not exchanged themselves, save where they are looked at below."""
_BACK_TOO = words("""
    before after first cold old short poor day long high late lower lost caused causes latest
""")


def _table() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for pair in _PAIRS.split():
        one, other = pair.split("/")
        found.setdefault(one, []).append(other)
        found.setdefault(other, []).append(one)
    blocked = (_ONE_WAY - _BACK_TOO) | words("with he she light since until during together")
    return {word: tuple(others) for word, others in found.items() if word not in blocked}


OPPOSITES = _table()
_NUMBERED = re.compile(
    r"\b(?P<word>more than|less than|fewer than|at least|at most|over|under)(?= (?:[$£€]\s?)?\d)(?! \d{1,3}s)", re.I
)
_COMPARED = {
    "more than": "less than",
    "less than": "more than",
    "fewer than": "more than",
    "at least": "less than",
    "at most": "more than",
    "over": "under",
    "under": "over",
}
_SIDED = re.compile(
    r"\b(?:(?<=the )(?P<one>left|right)(?= (?:of|side|hand|wing|bank|foot|arm|leg|eye|ear|knee|half|lane|end)\b"
    r"|[.,;]|$)"
    r"|(?<=to the )(?P<two>left|right)\b|(?<=his |her )(?P<three>left|right)(?= (?:hand|foot|arm|leg|eye|ear|knee))"
    r"|(?<=turn |side )(?P<four>left|right)\b)",
    re.I,
)
_PAST = re.compile(r"\b(?P<word>up|down)(?= (?:by \d|from \d|[$£€]?\d))", re.I)
_BEARS = 0.6
"""Share of the claim's other longer words that stand in the premise where the word itself does not."""


def opposite(given: ClaimGiven) -> str | None:
    """A word of the premise, or of a claim that keeps close to the premise, turned into its opposite."""
    if given.is_negative:
        return None
    close = _keeps_close(given)

    def turned(match: re.Match[str]) -> str | None:
        word = match.group().lower()
        choices = OPPOSITES.get(word)
        if choices is None or not (close or word in given.words):
            return None
        before, after = given.claim[: match.start()].rstrip().lower(), given.claim[match.end() :].lower()
        if _is_other_sense(word, before, after) or _is_in_a_name(match, before):
            return None
        return same_case(given.rng.choice(choices), match.group())

    return given.one_of(WORD, turned)


def _keeps_close(given: ClaimGiven) -> bool:
    long = [word for word in given.claim_words if len(word) > 3]
    return bool(long) and sum(word in given.words for word in long) >= _BEARS * len(long)


def _is_other_sense(word: str, before: str, after: str) -> bool:
    last = before.rsplit(" ", 1)[-1]
    if word in ("more", "most", "less", "least"):
        return last in ("at", "once", "any", "no", "the", "nothing") or after.startswith((" than", " of", " or less"))
    if word in ("first", "last"):
        return last not in ("the", "his", "her", "their", "its") or after.startswith((" and", " name", " lady"))
    if word in ("before", "after"):
        return (
            last in ("shortly", "soon", "ever", "named", "look", "looking", "year", "years", "day") and word == "after"
        )
    if word in ("long", "short", "high", "old", "day", "lower", "late", "poor"):
        return last in ("years", "year", "as", "so", "how", "not", "months", "days") or after.startswith(
            (" school", " as", " court", " story", " stories", " film", " schools", " term", " run")
        )
    return last in ("not", "no", "never", "n't") or last.endswith("n't")


def _is_in_a_name(match: re.Match[str], before: str) -> bool:
    """Capitals inside a sentence; directions may stand there ("North Korea")."""
    return (
        match.group()[0].isupper() and bool(before) and match.group().lower() not in ("north", "south", "east", "west")
    )


_WITH_UP = words(
    "make makes made making picked pick set sets take takes took speed put and build built up add adds added"
)


def direction(given: ClaimGiven) -> str | None:
    """Left for right, up for down."""

    def turned(match: re.Match[str]) -> str | None:
        word = match.group().lower()
        if given.claim[: match.start()].rstrip().rsplit(" ", 1)[-1].lower() in _WITH_UP:
            return None
        return {"left": "right", "right": "left", "up": "down", "down": "up"}[word] if word in given.words else None

    return given.one_of(_SIDED, turned) or given.one_of(_PAST, turned)


def bound(given: ClaimGiven) -> str | None:
    """A bound before a number turned round: "more than 5", "less than 5"."""

    def turned(match: re.Match[str]) -> str | None:
        if match.start() and match.group()[0].isupper():
            return None  # a name: "Under 21"
        return same_case(_COMPARED[match.group().lower()], match.group())

    return given.one_of(_NUMBERED, turned)
