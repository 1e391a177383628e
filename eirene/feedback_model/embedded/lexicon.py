"""Lexicon of the hallucination rules: values by type, opposites, negations, opinions. English only."""

from __future__ import annotations

import re

_NUMBER_WORDS = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion trillion dozen
    first second third fourth fifth sixth seventh eighth ninth tenth half twice thrice
"""
_MONTHS = "january february march april june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_OPPOSITES = """
    before/after above/below over/under north/south northern/southern east/west eastern/western left/right
    north-east/south-west increase/decrease increases/decreases increased/decreased increasing/decreasing
    rise/fall rises/falls rose/fell rising/falling grow/shrink grew/shrank growing/shrinking more/less most/least
    more/fewer high/low higher/lower highest/lowest large/small larger/smaller largest/smallest big/little
    bigger/smaller biggest/smallest long/short longer/shorter longest/shortest early/late earlier/later earliest/latest
    first/last old/new older/newer oldest/newest older/younger oldest/youngest old/young win/lose wins/loses won/lost
    winning/losing begin/end begins/ends began/ended start/end started/ended starts/ends start/stop starts/stops
    started/stopped open/close opens/closes opened/closed open/closed join/leave joins/leaves joined/left
    accept/reject accepts/rejects accepted/rejected allow/forbid allows/forbids allowed/forbidden allow/prevent
    allows/prevents allowed/prevented permit/prohibit permitted/prohibited support/oppose supports/opposes
    supported/opposed supporting/opposing approve/reject approved/rejected buy/sell buys/sells bought/sold
    born/died birth/death live/die lived/died male/female man/woman men/women father/mother son/daughter brother/sister
    husband/wife king/queen he/she his/her uncle/aunt always/never often/rarely usually/rarely all/none many/few
    everyone/nobody inside/outside internal/external into/out inner/outer up/down upper/lower top/bottom front/back
    with/without same/different similar/different success/failure succeeded/failed successful/unsuccessful
    public/private rural/urban domestic/foreign hot/cold warm/cool wet/dry light/dark heavy/light fast/slow
    faster/slower quickly/slowly easy/difficult strong/weak stronger/weaker rich/poor safe/dangerous positive/negative
    positively/negatively major/minor maximum/minimum majority/minority include/exclude includes/excludes
    included/excluded including/excluding gain/lose gained/lost add/remove adds/removes added/removed create/destroy
    creates/destroys created/destroyed built/demolished construct/demolish constructed/demolished import/export
    imports/exports imported/exported arrive/depart arrived/departed enter/exit entered/left give/take gave/took
    given/taken hire/fire hired/fired love/hate loved/hated praise/criticise praised/criticised praised/criticized
    attack/defend attacked/defended victory/defeat defeated/lost ally/enemy friend/enemy ancestor/descendant
    teacher/student parent/child employer/employee host/guest present/absent permanent/temporary ancient/modern
    simple/complex active/passive formal/informal legal/illegal possible/impossible known/unknown able/unable
    popular/unpopular likely/unlikely related/unrelated common/rare visible/invisible dependent/independent
    agree/disagree agreed/disagreed appear/disappear appeared/disappeared connect/disconnect connected/disconnected
    protect/harm protects/harms protected/harmed help/hinder helps/hinders helped/hindered cause/prevent
    causes/prevents caused/prevented improve/worsen improves/worsens improved/worsened expand/shrink expanded/shrunk
    expand/contract expanded/contracted attract/repel attracts/repels precede/follow precedes/follows preceded/followed
    lead/follow led/followed lend/borrow lent/borrowed push/pull pushed/pulled send/receive sends/receives sent/received
    raise/lower raised/lowered raises/lowers confirm/deny confirmed/denied confirms/denies remember/forget
    winner/loser leader/follower founder/member northward/southward upstream/downstream onshore/offshore
    beginning/end opening/closing both/neither either/neither can/cannot
"""
_NEGATIONS = "not never no none nobody nothing neither nor cannot without n't"
_OPINIONS = """
    amazing amazingly awesome awful beautiful beautifully brilliant brilliantly boring breathtaking charming delightful
    disappointing disappointingly dreadful dull elegant enchanting exciting extraordinary fabulous fantastic fascinating
    gorgeous horrible impressive incredible incredibly iconic inspiring lovely magnificent marvellous marvelous
    masterpiece mediocre memorable mesmerizing mesmerising overrated pathetic perfect perfectly remarkable remarkably
    ridiculous sadly spectacular splendid stunning superb terrible terribly thrilling tragic tragically underrated
    unforgettable unfortunately fortunately luckily wonderful wonderfully worthless
    arguably undoubtedly unquestionably hopefully thankfully regrettably astonishing astounding captivating
"""
_OPINION_PHRASES = re.compile(
    r"\b(?:i|we)\s+(?:think|believe|feel|wish|hope|love|hate|guess|doubt|prefer|must say)\b|\bin my (?:opinion|view)\b"
    r"|\b(?:a|the) must[- ](?:see|read|have|visit)\b|\b(?:everyone|everybody|anyone|nobody) (?:should|must|can|will|"
    r"would|loves?|agrees?|deserves?)\b|\b(?:truly|really|simply|by far|without a doubt) (?:the )?(?:one of|best|worst|"
    r"most|great\w*)\b|\bone of the (?:best|worst|greatest|finest|most \w+)\b|\b(?:is|are|was|were) (?:truly|simply|"
    r"really|so) \w+|\b(?:best|worst|greatest|finest) \w+ (?:ever|of all time)\b|\bno one (?:can|could|should)\b"
    r"|\bit (?:is|was) (?:a (?:pity|shame|pleasure|joy)|sad|clear|obvious) (?:that|to)\b|\bdeserves? (?:more|to be)\b"
)

_NUMBERS = frozenset(_NUMBER_WORDS.split())
_MONTH = frozenset(_MONTHS.split())
_DAY = frozenset(_DAYS.split())
_NEGATION = frozenset(_NEGATIONS.split())
_OPINION = frozenset(_OPINIONS.split())
LEXICON = "\n".join((_NUMBER_WORDS, _MONTHS, _DAYS, _OPPOSITES, _NEGATIONS, _OPINIONS, _OPINION_PHRASES.pattern))
"""Everything above, for a digest."""

_PLAIN = """
    a an the this that these those he she it they we i you his her its their our my your in on at by for from with to of
    and or but if when while as after before during since until because although however moreover also then there here
    what which who where why how all some many most both each every no not such other another one two three yes
    according despite overall finally first second third additionally furthermore meanwhile instead today later
"""
_NO_NAMES = frozenset(_PLAIN.split())
_YEAR = re.compile(r"(?:1\d|20)\d\d\Z")
_NUMERAL = re.compile(r"\d[\d.,:/]*(?:st|nd|rd|th|s|%)?\Z", re.IGNORECASE)


def _opposites() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for pair in _OPPOSITES.split():
        a, b = pair.split("/")
        found[a] = (*found.get(a, ()), b)
        found[b] = (*found.get(b, ()), a)
    return found


OPPOSITES = _opposites()
"""Each word with its opposites."""


def kind_of_value(word: str) -> str | None:
    """`year`, `number`, `month` or `day` for a word that is one, else None. Small number words count as numbers."""
    if _YEAR.match(word):
        return "year"
    key = word.casefold()
    if _NUMERAL.match(word) or (key in _NUMBERS and key not in ("one", "second", "first", "half")):
        return "number"
    if key in _MONTH and word[0].isupper():
        return "month"
    return "day" if key in _DAY and word[0].isupper() else None


def is_name(word: str) -> bool:
    """Whether a word is written as a name: a capital first, and not a word that sentences open with."""
    return word[:1].isupper() and word.casefold() not in _NO_NAMES and word.casefold() not in _NEGATION


def same_value(a: str, b: str) -> bool:
    """Whether two values are one in another writing: case, separators, a plural or possessive."""
    return _bare(a) == _bare(b) or _bare(a) in _bare(b).split() or _bare(b) in _bare(a).split()


def _bare(text: str) -> str:
    return re.sub(r"[,.'’\-]", "", text.casefold()).removesuffix("s")


def are_opposites(a: str, b: str) -> bool:
    """Whether two words are opposites of the list, or one is the other with a prefix that turns it round."""
    if a == b:
        return False
    short, long = sorted((a, b), key=len)
    turned = len(short) > 3 and any(long == prefix + short for prefix in ("un", "in", "im", "ir", "dis", "non"))
    return turned or b in OPPOSITES.get(a, ())


def is_negation(word: str) -> bool:
    """Whether a word negates: "not", "never", "isn't"."""
    return word in _NEGATION or word.endswith("n't")


def is_opinion(text: str) -> bool:
    """Whether a lower-cased word is one of opinion, or a lower-cased text holds a phrase of one."""
    return text in _OPINION or (" " in text and _OPINION_PHRASES.search(text) is not None)
