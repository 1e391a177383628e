"""Abbreviations and ordinals of other languages than English: full stops inside sentences ("am 3. Mai", "Sra. Gil").

`sentencex` knows some for some languages. Here are those that lead into a name or a number and are no word by
themselves, and the words that stand before an ordinal, by the language's code.
"""

from __future__ import annotations

import re
from types import MappingProxyType

_SCANDINAVIAN = "hr fr dr prof sct st nr kl tlf jf jfr ca bl.a f.eks t.ex vedr ang adr afd avd gt maks pga"
_LISTS = {
    "de": """hr hrn fr frl dr prof st nr str abs bd bzw ca vgl evtl ggf inkl exkl sog tel ing dipl geb gest hl kap abb
        aufl hrsg jh hg zzgl z.b d.h u.a""",
    "da": _SCANDINAVIAN,
    "no": _SCANDINAVIAN,
    "sv": _SCANDINAVIAN,
    "cs": """bc dr ing mgr mudr judr phdr rndr paeddr prof doc sv č čp ul nám tř str např tzv tzn tj resp cca tel mj obr
        hl""",
    "sk": "bc dr ing mgr mudr judr phdr rndr prof doc sv č ul nám str napr tzv tzn tj resp cca tel",
    "fi": "hra rva nti dr prof tri esim mm ns nk nro os puh s ts v vrt klo st ent huom",
    "pl": """św ul al pl os dr hab prof mgr inż np m.in tzw tj tzn nr ur zm godz tel str zob por gen płk kpt mjr ks bp
        abp kard wg p""",
    "tr": "doç av sn yrd öğr gör cad sok mah apt bkz örn hz alb org dr prof no st",
    "hu": "id ifj özv dr prof u sz kb ún szt krt vö ford szerk tel gr br st pl",
    "es": """sr sra srta dr dra prof d dña lic ing arq av avda núm nro pág págs aprox tel art cap ed ej ee sta sto excmo
        gral""",
    "it": """sig sigg sig.ra sig.na dott dott.ssa dr prof prof.ssa ing avv arch geom rag on mons s art artt pag pagg cap
        n nn es tel fig cfr ca gen col spett egr gent""",
    "pt": """sr sra srs dr dra prof profa d eng arq av r n núm pág págs art cap tel aprox exmo exma sto sta s gen cel pe
        ex""",
    "nl": """dhr mevr mw mej dr drs prof mr ing ir bijv bv blz pag nr nrs st ca tel art afb fig jhr ds resp incl excl
        evt""",
    "fr": "m mm mme mmes mlle dr pr me st ste av bd n p pp chap fig env cf ex tél éd",
    "ro": "dl dna d-na dr prof nr str bd ex cca jud sf pag lit alin",
}
ABBREVIATIONS = MappingProxyType({code: frozenset(words.split()) for code, words in _LISTS.items()})
"""Abbreviations that lead into a name or a number, by the language's code, lower case, without the last full stop."""

# Where nouns and names have capitals too, it takes one of these before a number for an ordinal.
_GERMAN = (
    r"(?:a[mn]|[dD](?:er|ie|as|em|en|es)|[iI]m|[vV]o[mn]|[zZ]u[mr]|[bB]eim|[sS]eit|[uU]nd|jede\w{0,2}"
    r"|(?:ein|sein|ihr)e[mnrs]?)"
)
_BEFORE_ORDINAL = {"de": _GERMAN, "da": r"(?:[dD]e[nt]?|og)", "no": r"(?:[dD]e[nt]?|og)", "cs": r"(?:[vV]e?|[dD]ne|a)"}
_NUMBER = r"(?:\d{1,3}|[IVXL]{1,7})\.\s+\Z"
_AFTER_ITS_WORD = {code: re.compile(rf"(?<!\w){words}\s+{_NUMBER}") for code, words in _BEFORE_ORDINAL.items()}
_ORDINAL = re.compile(r"(?<![\w.,])(?:\d{1,4}|[IVXL]{1,7})\.\s+\Z")
_VERB_LAST = frozenset(["tr"])
"""Languages whose sentences end in their verb: a number there is an ordinal."""
_NUMBERED = re.compile(r"(?:\d|(?<![^\W\d_])[IVXL]{1,7})\.\s*\Z")
_ALONE = re.compile(rf"\W*{_NUMBER}")
_SHORT = re.compile(r"(?<![^\W\d_])[^\W\d_]{1,3}\.\s+\Z")
_LAST_WORD = re.compile(r"(?<![\w.])((?:[^\W\d_]{1,6}[.-])?[^\W\d_]{1,6})\.\s*\Z")

_EVERY = frozenset[str]().union(*ABBREVIATIONS.values())


def may_go_on(before: str) -> bool:
    """Whether a sentence may go on in some language after what `before` ends with: a number or an abbreviation."""
    word = _LAST_WORD.search(before)
    return _NUMBERED.search(before) is not None or (word is not None and word[1].lower() in _EVERY)


def goes_on_abroad(before: str, following: str, code: str) -> bool:
    """Whether a sentence in the language `code` goes on after the full stop and the space that `before` ends with.

    `before` begins with the sentence, or with a window of it; `following` is the character after it. A number before a
    small letter is an ordinal, before a capital one where its language tells: "Es kamen 3. Dann regnete es." ends.
    A word of up to three letters before a small one is an abbreviation.
    """
    if _ORDINAL.search(before) and (following.islower() or following.isdecimal() or code in _VERB_LAST):
        return True
    tells = _AFTER_ITS_WORD.get(code)
    if (tells is not None and tells.search(before)) or _ALONE.fullmatch(before):
        return True
    if following.islower() and _SHORT.search(before):
        return True
    word = _LAST_WORD.search(before)
    return word is not None and word[1].lower() in ABBREVIATIONS.get(code, ())
