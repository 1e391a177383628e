"""Edits that keep what a claim says: a verifier must not learn that a claim which was edited is false."""

from __future__ import annotations

import re

from recipes.verifier.edits.figures import MONTHS, NUMBER_WORDS
from recipes.verifier.edits.given import ClaimGiven, is_clause, same_case, words

_OPENINGS = (
    "According to the text, {}",
    "According to the passage, {}",
    "Therefore, {}",
    "In short, {}",
    "In other words, {}",
    "As stated, {}",
    "In fact, {}",
    "Overall, {}",
    "As the source says, {}",
    "To sum up, {}",
    "Based on what is given, {}",
    "Notably, {}",
)


def opened(given: ClaimGiven) -> str | None:
    """The claim behind an opening that adds nothing. Used on false claims as well, so that it tells nothing."""
    text = given.claim.strip()
    if text[-1:] == "?" or text[:1].islower() or not is_clause(given):
        return None
    return given.rng.choice(_OPENINGS).format(given.lowered())


_SAME_WORDS = """
    about/around approximately/about roughly/approximately movie/film movies/films purchase/buy purchased/bought
    bought/purchased began/started started/began starts/begins begins/starts  
    kids/children assist/help assisted/helped assists/helps obtain/get obtained/got received/got quickly/rapidly
    rapidly/quickly often/frequently frequently/often usually/normally however/nevertheless
    also/additionally nearly/almost almost/nearly perhaps/possibly possibly/perhaps
    cannot/can't film/movie films/movies shows/demonstrates showed/demonstrated sufficient/enough numerous/many
    lawyer/attorney physician/doctor physicians/doctors autumn/fall attempted/tried
    tried/attempted attempt/try utilise/use utilises/uses required/needed requires/needs needs/requires
    important/significant     sofa/couch couch/sofa speaks/talks speaking/talking talking/speaking shouting/yelling
    happy/glad outdoors/outside
"""
_SYNONYMS = {
    one: other.replace("-", " ")
    for one, other in (pair.split("/") for pair in _SAME_WORDS.split())
    if one
    not in ("outside", "because", "although", "also", "started", "got", "sick", "ill", "town", "wedding", "about")
}
_SYNONYM = re.compile(rf"\b(?:{'|'.join(sorted(_SYNONYMS, key=len, reverse=True))})\b")


def synonym(given: ClaimGiven) -> str | None:
    """A word for one that means the same."""

    def other(match: re.Match[str]) -> str | None:
        article = given.claim[: match.start()].rstrip().rsplit(" ", 1)[-1].lower() in ("a", "an")
        by = _SYNONYMS[match.group()]
        return None if article and (by[0] in "aeiou") != (match.group()[0] in "aeiou") else by

    return given.one_of(_SYNONYM, other)


_SMALL = re.compile(
    r"(?<![\w.,:/$£€-])(?P<n>[2-9]|1[0-2])(?= [a-z]{3,})(?! (?:am|pm|a\.m|p\.m|percent|million|billion))"
)
_WORDED = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?= [a-z]{3})"
    r"(?! (?:million|billion|thousand|hundred|of|and))"
)
_PERCENT = re.compile(r"(?<=\d)(?: percent| per cent|%)(?![\w-])")
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])(?!\.\d)")
_MILLIONS = re.compile(r"(?<![\w.,])(?P<n>\d{1,3}) (?P<scale>thousand|million|billion)(?! \w*illion)\b")
_SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_OVER = re.compile(r"\b(?:more than|over)(?= [$£€]?\d)")
_UNDER = re.compile(r"\b(?:fewer than|less than|under)(?= [$£€]?\d)")


def figure(given: ClaimGiven) -> str | None:
    """A figure written otherwise: "2" as "two", "5%" as "5 percent", "2 million" as "2,000,000"."""
    ways = [
        (_SMALL, lambda m: NUMBER_WORDS[int(m.group("n"))]),
        (_WORDED, lambda m: str(NUMBER_WORDS.index(m.group()))),
        (_PERCENT, lambda m: given.rng.choice([x for x in ("%", " percent", " per cent") if x != m.group()])),
        (_GROUPED, lambda m: m.group().replace(",", "")),
        (_MILLIONS, lambda m: f"{int(m.group('n')) * _SCALES[m.group('scale')]:,}"),
        (_OVER, lambda m: "over" if m.group() == "more than" else "more than"),
        (_UNDER, lambda m: "under" if m.group() != "under" else "less than"),
    ]
    given.rng.shuffle(ways)
    return next((edited for pattern, way in ways if (edited := given.one_of(pattern, way)) is not None), None)


_NAMES = "|".join(MONTHS)
_MONTH_FIRST = re.compile(rf"\b(?P<month>{_NAMES}) (?P<day>\d{{1,2}})(?![\w-])(?P<rest>, \d{{4}})?")
_DAY_FIRST = re.compile(rf"(?<![\d-])(?P<day>\d{{1,2}}) (?P<month>{_NAMES})(?P<rest> \d{{4}})?\b(?!,? \d)")


def day(given: ClaimGiven) -> str | None:
    """A date in the other order: "May 20, 1946", "20 May 1946"."""

    def later(match: re.Match[str]) -> str:
        return f"{match.group('day')} {match.group('month')}{(match.group('rest') or '').replace(',', '')}"

    def sooner(match: re.Match[str]) -> str:
        year = match.group("rest")
        return f"{match.group('month')} {match.group('day')}" + (f",{year}" if year else "")

    return given.one_of(_MONTH_FIRST, later) or given.one_of(_DAY_FIRST, sooner)


_LONG = re.compile(r"\b(?P<verb>is|are|was|were|does|did|do|has|have|had|would|could|should) not\b(?! (?:only|to)\b)")
_SHORT = re.compile(
    r"\b(?P<verb>is|are|was|were|does|did|do|has|have|had|would|could|should)n['’]t\b|\b(?:can['’]t|won['’]t)", re.I
)


def contraction(given: ClaimGiven) -> str | None:
    """ "is not" as "isn't", and back."""

    def full(match: re.Match[str]) -> str:
        verb = match.group("verb")
        return f"{verb} not" if verb else "cannot" if match.group()[0] in "cC" else "will not"

    return given.one_of(_LONG, lambda m: m.group("verb") + "n't") or given.one_of(
        _SHORT, lambda m: same_case(full(m), m.group())
    )


_NOT_UN = {
    "possible": "impossible", "legal": "illegal", "able": "unable", "known": "unknown", "common": "uncommon",
    "usual": "unusual", "important": "unimportant", "successful": "unsuccessful", "visible": "invisible",
    "necessary": "unnecessary", "popular": "unpopular", "married": "unmarried", "finished": "unfinished",
    "true": "untrue", "healthy": "unhealthy", "certain": "uncertain", "familiar": "unfamiliar", "alive": "dead",
    "present": "absent", "harmless": "harmful", "safe": "unsafe", "accurate": "inaccurate", "complete": "incomplete",
    "awake": "asleep", "outdoors": "indoors", "outside": "inside", "indoors": "outdoors", "inside": "outside",
}  # fmt: skip
_IS_SO = re.compile(rf"\b(?P<verb>is|are|was|were) (?P<word>{'|'.join(_NOT_UN)})\b(?! (?:for|as|and|or)\b)")


def twice_negated(given: ClaimGiven) -> str | None:
    """ "is possible" as "is not impossible": a "not" that turns nothing."""
    if given.says(("not", "no", "never", "as", "so", "how", "best", "most")):
        return None
    return given.one_of(_IS_SO, lambda m: f"{m.group('verb')} not {_NOT_UN[m.group('word')]}")


_DATED = re.compile(
    rf",? (?:in|on|since) (?:(?:early|late|mid) )?(?:(?:{_NAMES}) ?)?(?:\d{{1,2}},? ?)?(?:\d{{4}})?(?=[.]?$)"
)
_DATED_FIRST = re.compile(rf"^(?:In|On) (?:(?:{_NAMES}) ?)?(?:\d{{1,2}},? ?)?(?:\d{{4}})?, (?=[A-Za-z])")
_HOLDING = words("""
    not no never only all every each first last most least none nobody nothing neither nor without few if unless
    when between largest smallest best worst oldest youngest highest lowest since from until n't more less than
""")


def undated(given: ClaimGiven) -> str | None:
    """A plain statement without its date, which it entails."""
    if given.says(_HOLDING) or "n't" in given.claim or len(given.claim_words) < 6:
        return None
    first = _DATED_FIRST.match(given.claim)
    if first is not None and any(c.isdigit() for c in first.group()):
        rest = given.claim[first.end() :]
        return rest[0].upper() + rest[1:]
    return given.one_of(_DATED, lambda m: "" if any(c.isdigit() for c in m.group()) else None)
