"""Edits of what is asserted, and how surely: negation, hedges made certain, reporting verbs, whole claims denied."""

from __future__ import annotations

import re

from recipes.verifier.edits.given import WORD, ClaimGiven, is_clause, same_case, words

_STRENGTHENED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(?:may|might|could) have(?= (?:been|\w+ed)\b)", ("definitely had", "certainly had")),
    (r"may|might|could|can", ("will", "will certainly", "must")),
    (r"should|would", ("will",)),
    (r"(?<!\w )some(?= of the| of these)", ("all", "every one")),
    (r"some|many|most|several|a few", ("all",)),
    (r"often|usually|sometimes|generally|typically|frequently|normally|commonly", ("always", "invariably")),
    (r"rarely|seldom|hardly ever", ("never",)),
    (r"probably|possibly|perhaps|reportedly|allegedly|apparently|presumably", ("certainly", "definitely")),
    (r"(?:about|around|roughly|approximately|nearly|almost|at least|up to)(?= (?:[$£€])?\d)", ("exactly",)),
    (r"suggests that|indicates that", ("proves that",)),
    (r"suggest that|indicate that", ("prove that",)),
    (r"suggested that|indicated that|believed that|suspected that", ("proved that",)),
    (r"believes that|thinks that|hopes that", ("knows that",)),
    (r"accused of|suspected of|charged with", ("convicted of",)),
    (r"plans to|wants to|hopes to|intends to", ("has decided to", "is certain to")),
    (r"planned to|wanted to|hoped to|tried to|attempted to", ("managed to",)),
    (r"one of the(?= (?:\w+est|most|first|last|main|few)\b)", ("the",)),
    (r"partly|partially|largely", ("entirely", "wholly")),
    (r"(?<=is )(?:thought|believed|said|expected|likely) to", ("certain to",)),
    (r"(?<=are )(?:thought|believed|said|expected|likely) to", ("certain to",)),
    (r"associated with|linked to|linked with", ("caused by",)),
)  # fmt: skip
_HEDGES = tuple((re.compile(rf"\b(?:{pattern})\b", re.I), strong) for pattern, strong in _STRENGTHENED)
_SURE = words("""
    always never all every certainly definitely must proves proved exactly convicted invariably
""")
_MODAL = words("""
    may might could can would should
""")


def hedge(given: ClaimGiven) -> str | None:
    """A hedge that the premise has too made certain: "may" to "will", "some" to "all"."""
    found = list(_HEDGES)
    given.rng.shuffle(found)
    for pattern, strong in found:

        def firm(match: re.Match[str], strong: tuple[str, ...] = strong) -> str | None:
            words = match.group().lower().split()
            held = _MODAL & given.words if words[0] in _MODAL else given.words
            if given.is_negative or (not held & set(words) and not (words[0] in _MODAL and held)):
                return None
            by = given.rng.choice(strong)
            after = given.claim[match.end() :].lstrip().lower()
            is_bare = words[0] in _MODAL and after.startswith(("not ", "n't", "only "))
            return None if is_bare or set(by.split()) & _SURE & given.words else same_case(by, match.group())

        edited = given.one_of(pattern, firm)
        if edited is not None:
            return edited
    return None


_LED_IN = re.compile(
    r"(?:\w+|In \w+|For \w+|As a result|On the other hand),|(?:But|And|So|Or|Yet|Then|Also|Call|Let)\b"
)
_SAID = (
    (re.compile(r"\b(?:said|stated|claimed|announced|confirmed|admitted|insisted|declared) that\b"), ("denied that",)),
    (re.compile(r"\b(?:said|confirmed|admitted|announced)(?= (?:he|she|they|it|the)\b)"), ("denied that",)),
    (re.compile(r"\b(?:says|claims|confirms|insists|argues)(?: that\b|(?= (?:he|she|they|it)\b))"), ("denies that",)),
    (re.compile(r"\bdenied(?= (?:\w+ing|that)\b)"), ("admitted",)),
    (re.compile(r"\b(?:agreed|promised|vowed|pledged|offered)(?= to\b)"), ("refused", "declined")),
    (re.compile(r"\b(?:refused|declined)(?= to\b)"), ("agreed",)),
    (re.compile(r"\bfailed to\b"), ("managed to",)),
    (re.compile(r"\bmanaged to\b"), ("failed to",)),
    (re.compile(r"\bcontinues to\b"), ("no longer wants to",)),
    (re.compile(r"\bcontinued to\b"), ("ceased to", "stopped trying to")),
)  # fmt: skip


def report(given: ClaimGiven) -> str | None:
    """A reporting verb turned round: "said that" to "denied that", "agreed to" to "refused to"."""
    for pattern, others in _SAID:
        edited = given.one_of(pattern, lambda _, others=others: given.rng.choice(others))  # type: ignore[misc]
        if edited is not None:
            return edited
    return None


_DENIALS = (
    "It is not true that {}",
    "It is false that {}",
    "It is not the case that {}",
    "It is untrue that {}",
    "Some have falsely claimed that {}",
    "It was wrongly reported that {}",
    "There is no truth in the claim that {}",
    "The text denies that {}",
    "The passage contradicts the view that {}",
)
_AFFIRMATIONS = (
    "It is true that {}",
    "It is the case that {}",
    "It is correct that {}",
    "It was rightly reported that {}",
    "There is truth in the claim that {}",
    "The text states that {}",
    "The passage bears out the view that {}",
    "It is not false that {}",
)


def denied(given: ClaimGiven) -> str | None:
    """The whole claim denied: "It is not true that ..."."""
    return given.rng.choice(_DENIALS).format(given.lowered()) if _is_whole(given) else None


def affirmed(given: ClaimGiven) -> str | None:
    """The whole claim affirmed, in the same forms as it is denied in."""
    return given.rng.choice(_AFFIRMATIONS).format(given.lowered()) if _is_whole(given) else None


def _is_whole(given: ClaimGiven) -> bool:
    """Whether the claim is one sentence that something can be said about."""
    body = given.claim.strip()
    return (
        4 <= len(given.claim_words) <= 40
        and ". " not in body
        and body[-1:] not in "?:!"
        and not _LED_IN.match(body)
        and is_clause(given)
    )


_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|will|would|can|could|should|must|has been|have been|had been|does|did)\b"
)
_HAVE = re.compile(r"\b(?:has|have|had)(?= (?:\w+ed|been|made|become|won|taken|given|seen|left|lost|found|held)\b)")
_NEGATED = re.compile(
    r"\b(?P<verb>is|are|was|were|will|would|can|could|should|must|has|have|had|does|did|do)"
    r"(?: (?:not|never)|n['’]t)\b|\bcannot\b|\bno longer\b|\bcan['’]t\b|\bwon['’]t\b"
)
_SCOPED = words("""
    some many most several few may might if whether either or often usually sometimes at-least who which that where
    when because while although though as whose unless only more less neither nor no not never nobody nothing none
    without unlikely rarely hardly cannot all every each any anyone someone
""")


def negation_in(given: ClaimGiven) -> str | None:
    """ "not" after the verb of a plain claim."""
    match = _AUXILIARY.search(given.claim) or _HAVE.search(given.claim)
    if match is None or given.claim.rstrip().endswith("?"):
        return None
    before = [w.group().lower() for w in WORD.finditer(given.claim[: match.start()])]
    after = given.claim[match.end() :].lower()
    if not before or before[0] in ("there",) or _SCOPED & set(before) or ". " in given.claim[: match.start()]:
        return None
    if after.startswith((" not", "n't", "n’t", "'t", "’t", " no ", " never", " only", " some", " also", " still")):
        return None
    words = match.group().split()
    return given.replaced(match.start(), match.end(), " ".join([words[0], "not", *words[1:]]))


def negation_out(given: ClaimGiven) -> str | None:
    """ "not" or "never" taken out after a verb."""
    if len(_NEGATED.findall(given.claim)) != 1:
        return None

    def plainly(match: re.Match[str]) -> str | None:
        text = match.group().lower()
        after = given.claim[match.end() :].lstrip().lower()
        if after.startswith(("only", "any", "yet", "either", "until", "necessarily", "just")) or given.says(
            ("any", "anyone", "anything", "either", "nor", "without", "until", "yet", "much", "anymore")
        ):
            return None
        if text == "no longer":
            return "still"
        by = "can" if text.startswith("can") else "will" if text.startswith("won") else str(match.group("verb"))
        return same_case(by, match.group())

    return given.one_of(_NEGATED, plainly)
