"""Opposites: pairs of English words that turn a statement round, listed by hand."""

from __future__ import annotations

LISTED_OPPOSITES = """
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
"""Pairs of words, each pair `a/b`."""


def _opposites() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for pair in LISTED_OPPOSITES.split():
        a, b = pair.split("/")
        found[a] = (*found.get(a, ()), b)
        found[b] = (*found.get(b, ()), a)
    return found


OPPOSITES = _opposites()
"""Each word with its opposites."""
